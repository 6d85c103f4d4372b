// The folders of src that handle files which an agent or a repository can write. In these folders the lint rule
// `cadre/foreign-files` (scripts/lint/plugin.js) forbids every function that opens a file by its path, and prints the
// reason: such a file is opened by src/lib/foreign-file.ts.

export const because =
  'an agent or a repository can put a FIFO, a device or a link there, which blocks or misleads whoever opens it: read it with readForeignFile or openForeignFile of src/lib/foreign-file.ts';

/** Folders, or files, of src. */
export const rooms = [
  'gateway',
  'http',
  'mcp',
  'processes',
  'providers',
  'recovery',
  'retention',
  'sessions',
  'teams',
  'worktrees',
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
  'processes/log-file': {
    may: ['open'],
    because:
      'it makes its files exclusively (wx), which follows no link and opens nothing that is there',
  },
  'sessions/blobs': {
    may: ['open'],
    because: 'it opens a directory to sync it, with O_DIRECTORY, which refuses everything else',
  },
};
