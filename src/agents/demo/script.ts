import { commands, type Command, type CommandName, type Syntax } from './commands.ts';

/**
 * Parses a prompt as a script. Returns its commands in order. Never throws: a part that is not a command is
 * prose and is skipped, so a script also works inside a longer message. For a prompt without any command the
 * list is empty, and the agent introduces itself instead.
 *
 * ```text
 * prompt  = part { ( newline | ";" ) part }
 * part    = command | prose                  blanks around a part do not count
 * command = NAME [ blanks ARGUMENTS ]        NAME in lower case, as in the table in commands.ts
 * ```
 *
 * - `\;` is a literal semicolon; in the command of `ask run: COMMAND` and in the TEXT of `edit`, `\n` is a line break.
 *   There are no other escapes.
 * - A part whose arguments do not fit its command (`wait for me`, `pid please`) is prose, too.
 * - TEXT, TITLE and MESSAGE reach to the end of the part; numbers are decimal digits.
 * - `tool TITLE => OUTPUT` and `edit PATH => TEXT` are split at their first `=>`, `plan A | B` and `ask-all A | B` at
 *   every `|`.
 */
export function parseScript(prompt: string): Command[] {
  return prompt.split(separator).flatMap((part) => parsePart(part.replaceAll('\\;', ';').trim()));
}

const separator = /\r\n|[\r\n]|(?<!\\);/u;

function parsePart(part: string): Command[] {
  const [, name = '', args = ''] = /^(\S+)\s*(.*)$/su.exec(part) ?? [];
  if (!isCommandName(name)) return [];
  const syntax: Syntax<object> = commands[name];
  const parsed = syntax.parse(args);
  // The type of the table binds each name to its arguments; a lookup by a variable loses that.
  return parsed ? [{ name, ...parsed } as Command] : [];
}

function isCommandName(word: string): word is CommandName {
  // `in` would also find inherited names: `constructor` is a word that people write.
  return Object.hasOwn(commands, word);
}
