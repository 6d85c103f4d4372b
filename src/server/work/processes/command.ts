import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { invalidError } from '../../../api/errors.ts';
import { findProgram } from '../../../core/lib/find-program.ts';

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

/** The characters that need a shell if they stand outside quotes. */
const OPERATORS = /[|&;<>()$`*?[\]{}~#!\n]/;

/**
 * Splits a command into words, for a server without a shell: at whitespace that is neither quoted nor escaped. Throws
 * `invalid` for a character that needs a shell, for a quote that is not closed, and for a command without a program.
 */
export function splitWords(command: string): [string, ...string[]] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < command.length; at++) {
    const character = command.charAt(at);
    if (character === "'" || character === '"') {
      const [text, end] = quoted(command, at);
      word = (word ?? '') + text;
      at = end;
    } else if (character === '\\') {
      at++;
      if (at === command.length)
        throw invalidError('command: the command ends with a backslash that escapes nothing');
      word = (word ?? '') + command.charAt(at);
    } else if (OPERATORS.test(character)) {
      throw invalidError(
        `command: "${character}" requires a shell, but processes.allow_shell is off: quote the character, or run a program instead`,
      );
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (word !== undefined) words.push(word);
  const [program, ...rest] = words;
  if (program === undefined || program === '')
    throw invalidError('command: the command does not name a program');
  return [program, ...rest];
}

/** Returns the text between the quote at `start` and its closing quote, and the position of that. */
function quoted(command: string, start: number): [text: string, end: number] {
  const quote = command.charAt(start);
  let text = '';
  for (let at = start + 1; at < command.length; at++) {
    const character = command.charAt(at);
    if (character === quote) return [text, at];
    const escapes = quote === '"' && character === '\\' && /["\\$`]/.test(command.charAt(at + 1));
    if (escapes) at++;
    text += command.charAt(at);
  }
  throw invalidError(`command: the quote ${quote} at position ${start + 1} is not closed`);
}
