import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { invalidError } from '../../../api/errors.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { splitWords } from './words.ts';

/** The limit of Linux for one argument of a program, in bytes (MAX_ARG_STRLEN without the NUL at its end). */
const MAX_ARGUMENT_BYTES = 131_071;

/**
 * Throws `invalid` for a command that the system could not start: an empty one, one with a NUL character, or one longer
 * than 131,071 bytes. Without a shell, the limit is for each word, and a command that needs a shell is refused too.
 */
export function assertCommand(command: string, allowShell: boolean): void {
  if (command.includes('\0')) throw invalidError('the command contains a NUL character');
  if (command.trim() === '') throw invalidError('the command is empty');
  const longest = allowShell
    ? Buffer.byteLength(command)
    : Math.max(...splitWords(command).map((word) => Buffer.byteLength(word)));
  if (longest <= MAX_ARGUMENT_BYTES) return;
  throw invalidError(
    allowShell
      ? `command: the command is too long (${longest} bytes, and the maximum is ${MAX_ARGUMENT_BYTES} bytes): write the command to a script, and run the script`
      : `command: an argument is too long (${longest} bytes, and the maximum is ${MAX_ARGUMENT_BYTES} bytes): pass the argument in a file`,
  );
}

/** Throws `invalid` if a command that runs without a shell names a program that does not exist. */
export async function assertProgram(
  command: string,
  cwd: string,
  searchPath: string | undefined,
): Promise<void> {
  const [program] = splitWords(command);
  const file = program.includes('/') ? path.resolve(cwd, program) : program;
  const isThere = program.includes('/')
    ? await isExecutable(file)
    : findProgram(program, searchPath) !== null;
  if (isThere) return;
  throw invalidError(
    program.includes('/')
      ? `command: ${file} is not an executable file`
      : `command: there is no program "${program}" on the PATH of the server`,
  );
}

/** Returns why a process could not be started, with the name of what is missing. */
export async function startFailure(thrown: unknown, cwd: string): Promise<string> {
  const isThere = await fs.access(cwd).then(
    () => true,
    () => false,
  );
  // If the directory is missing, the system reports ENOENT for the program.
  if (!isThere) return `the working directory ${cwd} no longer exists`;
  const { message, cause } = thrown as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** Whether a file that an agent names is a program. The system may take long to say so. */
async function isExecutable(file: string): Promise<boolean> {
  try {
    await fs.access(file, constants.X_OK);
    return (await fs.stat(file)).isFile();
  } catch {
    return false;
  }
}
