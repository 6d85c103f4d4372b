/** A program of the user that works in a directory. */
export type VisitProgram = 'shell' | 'editor';

/**
 * Runs a program of the user in a directory that the server with this address has named, until the user leaves it. Throws an
 * AppError if the server is on another machine, the directory is missing, or the program fails.
 */
export type Visit = (
  program: VisitProgram,
  where: { directory: string; url: string },
) => Promise<void>;
