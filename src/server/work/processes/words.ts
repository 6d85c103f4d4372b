import { invalidError } from '../../../api/errors.ts';

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
