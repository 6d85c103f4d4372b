// The folders of src that handle files which an agent or a repository can write. In these folders the lint rule
// `cadre/foreign-files` (scripts/lint/plugin.js) forbids every function that opens a file by its path, and prints the
// reason: such a file is opened by src/core/lib/foreign-file.ts.

export const because =
  'an agent or a repository can create a FIFO, a device or a link at this path, which blocks or misleads the reader: use readForeignFile or openForeignFile of src/core/lib/foreign-file.ts';

/** Folders, or files, of src; `agents/*` has the files of that folder, and none of its folders. */
export const folders = [
  'agents/*',
  'agents/acp',
  'agents/claude',
  'agents/codex',
  'server/conversations/approvals',
  'server/conversations/inbox',
  'server/conversations/sessions',
  'server/http',
  'server/teams',
  'server/maintenance/recovery',
  'server/maintenance/retention',
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
      'it creates its files exclusively (wx), which follows no link and opens no existing file',
  },
  'server/conversations/sessions/blobs': {
    may: ['open'],
    because: 'it opens a directory to sync it, with O_DIRECTORY, which refuses other files',
  },
};

export const blocking =
  'it blocks the server during the system call, which can be slow on a network mount or with a chain of links: use node:fs/promises';

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
    'it opens a log of cadre in the data directory, in a command that starts a server',
  'core/children/descriptors': 'it reopens or closes descriptors of this process',
  'core/children/procfs': 'it reads /proc, which is in memory, and needs a consistent state',
  'fleet/keys': 'it writes a key of cadre once, in a command',
  'server/hooks/signature':
    'it reads the secret file of the configuration when the configuration is read',
  'core/lib/find-program':
    'it searches PATH, which the user controls; callers check the names of agents',
  'core/lib/foreign-file':
    'readSmallFile reads the token and the configuration; untrusted files are read asynchronously',
  'core/lib/make-directory': 'it creates directories of cadre in the data directory',
  'core/lib/own-log': 'it rotates the log of the server at the start',
  'core/lib/prompt-history':
    'clients alone call it: it keeps the prompts of a person in the data directory',
  'core/lib/replace-file':
    'it writes files of its own in the data directory, which have to be there when it returns',
  'core/lib/self': 'it reads the files that the program consists of, at its start',
  'server/work/processes/log-file': 'it makes its own directory once',
  'server/maintenance/retention/budget': 'it reads how much space the data directory takes',
  'server/runtime/search': 'it looks for the index in the data directory, at the start',
  'server/runtime/try-agents': 'it makes a directory of its own, in a command',
  'server/conversations/search/index-file': 'it looks at files of its own in the data directory',
  'frontends/service/start': 'it resolves the program and its Node, in a command',
  'server/work/worktrees/worktree-recovery':
    'it checks worktrees of the data directory in the transaction of the start, before the server accepts requests',
  'server/work/git/git-context': 'it clears directories of cadre at the start',
};
