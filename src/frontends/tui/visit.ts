/** A program of the user that works in a directory. */
export type VisitProgram = 'shell' | 'editor';

interface VisitLocation {
  directory: string;
  /** The address of the server that has named the directory. */
  url: string;
}

/**
 * Checks a visit of a directory, and resolves with the function that runs the program until the user leaves it. Only that
 * function uses the terminal. Throws an AppError if the server is on another machine, or the directory is missing.
 */
export type Visit = (
  program: VisitProgram,
  location: VisitLocation,
) => Promise<() => Promise<void>>;

/** Runs a program in a directory, on the terminal of the screen. Throws an AppError. */
export type LentVisit = (program: VisitProgram, location: VisitLocation) => Promise<void>;
