// The rooms of src that meet files which an agent or a repository can write, as data. The lint rule
// `cadre/foreign-files` (scripts/lint/plugin.js) keeps every way to open a file by its path out of them, and prints
// the reason: such a file is read by src/lib/foreign-file.ts.

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

/** What begins with `read` or `open` and cannot wait: directories and links are not opened as files. */
export const harmless = [
  'opendir',
  'opendirSync',
  'readdir',
  'readdirSync',
  'readlink',
  'readlinkSync',
];

/** The files of those rooms that may call something all the same, what, and why that is safe. */
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
