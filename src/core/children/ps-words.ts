// What `ps` is asked, by the server and by its keeper.

/**
 * One -o a column: after its "=", `ps` of macOS takes the rest of the word as the heading. The command comes last, because
 * it has spaces.
 */
export const COLUMNS = ['pid=', 'ppid=', 'pgid=', 'state=', 'lstart='].flatMap((name) => [
  '-o',
  name,
]);
export const COMMAND = ['-ww', '-o', 'command='];
/** Adds the environment to the command. For this alone the programs of Linux and macOS have different words. */
export const ENVIRONMENT = process.platform === 'linux' ? 'e' : '-E';
export const ALL = '-A';

/** How often all is read again because a process became another program between two looks. */
export const MAX_LOOKS = 5;
