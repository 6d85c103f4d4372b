import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { findProgram } from '../lib/find-program.ts';
import { splitWords } from './words.ts';

/** Linux takes so many bytes in one argument of a program (MAX_ARG_STRLEN, without the zero at its end). */
const MAX_ARGUMENT_BYTES = 131_071;

/**
 * Throws `invalid` for a command that the system could not start: an empty one, one with a NUL character, one longer
 * than 131,071 bytes; without a shell, also one that needs a shell, and each of its words is held to that length.
 */
export function assertCommand(command: string, allowShell: boolean): void {
  if (command.includes('\0')) throw new AppError('invalid', 'command holds a NUL character');
  if (command.trim() === '') throw new AppError('invalid', 'command is empty');
  const longest = allowShell
    ? Buffer.byteLength(command)
    : Math.max(...splitWords(command).map((word) => Buffer.byteLength(word)));
  if (longest <= MAX_ARGUMENT_BYTES) return;
  const [what, way] = allowShell
    ? ['it has', 'put it into a file and run that']
    : ['a word of it has', 'hand it over in a file'];
  throw new AppError(
    'invalid',
    `command: ${what} ${longest} bytes, and at most ${MAX_ARGUMENT_BYTES} can be started: ${way}`,
  );
}

/** Throws `invalid` where a command that runs without a shell names a program that is not there. */
export function assertProgram(command: string, cwd: string, searchPath: string | undefined): void {
  const [program] = splitWords(command);
  const named = program.includes('/') ? path.resolve(cwd, program) : program;
  if (findProgram(named, searchPath) !== null) return;
  throw new AppError(
    'invalid',
    program.includes('/')
      ? `command: ${named} is no program that can be run`
      : `command: there is no program "${program}" on the PATH of the server`,
  );
}

/** Why a process could not be started, in words that name what is missing. */
export function whyNotStarted(error: unknown, cwd: string): string {
  // The system says ENOENT of the program, whatever is missing.
  if (!fs.existsSync(cwd)) return `its directory ${cwd} does not exist any more`;
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
