import { commands, type Command, type CommandName, type Rule } from './commands.ts';

/**
 * Reads a prompt as a script, in the order of its commands. Never throws: whatever is not a command is
 * prose, and prose is skipped, so a script also works inside a message that someone wrapped around it.
 * No command at all gives an empty list, and the agent introduces itself instead.
 *
 * ```text
 * prompt  = part { ( newline | ";" ) part }
 * part    = command | prose                  blanks around a part do not count
 * command = NAME [ blanks ARGUMENTS ]        NAME in lower case, as in the table in commands.ts
 * ```
 *
 * - `\;` is a semicolon that separates nothing. Nothing else is ever escaped.
 * - A part whose arguments do not fit its command (`wait for me`, `pid please`) is prose, too.
 * - TEXT, TITLE and MESSAGE reach to the end of the part; numbers are decimal digits.
 * - `tool TITLE => OUTPUT` is cut at its first `=>`, `plan A | B` at every `|`.
 */
export function parseScript(prompt: string): Command[] {
  return prompt.split(separator).flatMap((part) => parsePart(part.replaceAll('\\;', ';').trim()));
}

const separator = /\r\n|[\r\n]|(?<!\\);/u;

function parsePart(part: string): Command[] {
  const [, name = '', args = ''] = /^(\S+)\s*(.*)$/su.exec(part) ?? [];
  if (!isCommandName(name)) return [];
  const rule: Rule<object> = commands[name];
  const parsed = rule.parse(args);
  // The table ties each name to its arguments; looking one up by a variable loses that.
  return parsed ? [{ name, ...parsed } as Command] : [];
}

function isCommandName(word: string): word is CommandName {
  // Own names only: `constructor` is a word that people write.
  return Object.hasOwn(commands, word);
}
