// The folders of src that handle files which an agent or a repository can write. In these folders the lint rule
// `cadre/foreign-files` (scripts/lint/plugin.js) forbids every function that opens a file by its path, and prints the
// reason: such a file is opened by src/core/lib/foreign-file.ts.

export const because =
  'an agent or a repository can put a FIFO, a device or a link there, which blocks or misleads whoever opens it: read it with readForeignFile or openForeignFile of src/core/lib/foreign-file.ts';

/** Folders, or files, of src; `agents/*` has the files of that folder, and none of its folders. */
export const rooms = [
  'agents/*',
  'agents/acp',
  'agents/claude',
  'agents/codex',
  'server/conversations/approvals',
  'server/conversations/inbox',
  'server/conversations/sessions',
  'server/http',
  'server/teams',
  'server/upkeep/recovery',
  'server/upkeep/retention',
  'server/work/git',
  'server/work/merge',
  'server/work/processes',
  'server/work/worktrees',
];

/** Functions whose names begin with `read` or `open`, but which cannot block: they open no file. */
export const harmless = [
  'opendir',
  'opendirSync',
  'readdir',
  'readdirSync',
  'readlink',
  'readlinkSync',
];

/** Files of those folders that may call a forbidden function, and why that is safe. */
export const exceptions = {
  'server/work/processes/log-file': {
    may: ['open'],
    because:
      'it makes its files exclusively (wx), which follows no link and opens nothing that is there',
  },
  'server/conversations/sessions/blobs': {
    may: ['open'],
    because: 'it opens a directory to sync it, with O_DIRECTORY, which refuses everything else',
  },
};

export const blocking =
  'it blocks the server for as long as the system takes, which a network mount or a chain of links makes long: use node:fs/promises';

/**
 * Folders, or files, of src that run in the server. In these the same rule forbids the synchronous functions of node:fs. The
 * store and the configuration are not among them: they read and write the files of cadre alone, at once by intention.
 */
export const served = [
  'agents/*',
  'agents/acp',
  'agents/claude',
  'agents/codex',
  'core/access',
  'core/children',
  'core/events',
  'core/lib',
  'fleet',
  'frontends/service',
  'server',
];

/** Files of those folders that may call synchronous functions, and why nothing of an agent or repository is waited for. */
export const synchronous = {
  'core/children/detached':
    'it opens a log of its own in the data directory, in a command that starts a server',
  'core/children/open-again': 'it opens a descriptor of this process once more',
  'core/children/procfs': 'it reads /proc, which is in memory, and has to see one state of it',
  'fleet/key-files': 'it writes a key of its own once, in a command',
  'server/hooks/signature':
    'it reads the secret that the configuration names, where the configuration is read',
  'core/lib/find-program':
    'it looks along PATH, which is of the user; names of agents are looked up by their callers',
  'core/lib/foreign-file':
    'readSmallFile reads the token and the configuration; what is foreign is read asynchronously',
  'core/lib/make-directory': 'it makes directories of its own in the data directory',
  'core/lib/own-log': 'it turns the log of the server over, at its start',
  'core/lib/replace-file':
    'it writes files of its own in the data directory, which have to be there when it returns',
  'core/lib/self': 'it reads the files that the program consists of, at its start',
  'server/work/processes/log-file': 'it makes its own directory once',
  'server/upkeep/retention/budget': 'it asks for the room of the data directory',
  'server/conversations/approvals/rules/requested-action':
    'a rule decides at once; the paths of a request are counted where they are read (agents/budget)',
  'server/runtime/search': 'it looks for the index in the data directory, at the start',
  'server/runtime/try-agents': 'it makes a directory of its own, in a command',
  'server/conversations/search/index-file': 'it looks at files of its own in the data directory',
  'frontends/service/start': 'it resolves the program and its Node, in a command',
  'server/work/worktrees/worktree-recovery':
    'it looks for worktrees of the data directory in the transaction of the start, before anything is served',
  'server/work/git/git-context': 'it clears directories of its own, at the start',
};
