/** One command of a script, parsed. {@link commands} defines the syntax of each. */
export type Command =
  | { name: 'say' | 'think' | 'fail' | 'late' | 'title' | 'notice'; text: string }
  | { name: 'tool'; title: string; output: string | undefined }
  | { name: 'ask'; title: string }
  | { name: 'ask-all'; titles: string[] }
  | { name: 'edit'; path: string; text: string }
  | { name: 'plan' | 'commands' | 'question'; entries: string[] }
  | { name: 'usage'; used: number; size: number }
  | { name: 'wait' | 'spawn' | 'limit'; ms: number }
  | { name: 'repeat'; count: number; ms: number; text: string }
  | { name: 'flood'; count: number; bytes: number }
  | { name: 'longline'; bytes: number }
  | { name: 'env'; variable: string }
  | { name: 'crash'; code: number }
  | { name: 'image' | 'history' | 'pid' | 'cwd' | 'mode' }
  | { name: 'ignore-cancel' | 'garbage' | 'silent' };

export type CommandName = Command['name'];

/** The command with that name, and its arguments. */
export type CommandNamed<Name extends CommandName> = Command & { name: Name };

/** The syntax of one command. `parse` returns undefined for arguments that do not fit. */
interface Syntax<Arguments> {
  readonly usage: string;
  readonly parse: (args: string) => Arguments | undefined;
}

type Commands = {
  readonly [Name in CommandName]: Syntax<Omit<CommandNamed<Name>, 'name'>>;
};

const required = undefined;

/** Every command, in the order in which the greeting lists them. */
export const commands: Commands = {
  say: { usage: 'say TEXT', parse: text },
  think: { usage: 'think TEXT', parse: text },
  tool: { usage: 'tool TITLE => OUTPUT', parse: titleAndOutput },
  ask: {
    usage: 'ask TITLE, or ask run: COMMAND',
    parse: (args) => (args ? { title: args } : undefined),
  },
  'ask-all': { usage: 'ask-all TITLE | TITLE', parse: titles },
  edit: { usage: 'edit PATH => TEXT', parse: pathAndText },
  question: { usage: 'question TEXT | OPTION | OPTION', parse: entries },
  plan: { usage: 'plan A | B | C', parse: entries },
  title: { usage: 'title TEXT', parse: text },
  notice: { usage: 'notice TEXT', parse: text },
  commands: { usage: 'commands NAME | NAME', parse: entries },
  usage: { usage: 'usage USED SIZE', parse: numbers({ used: required, size: required }) },
  wait: { usage: 'wait MS', parse: numbers({ ms: required }) },
  repeat: { usage: 'repeat N MS TEXT', parse: paceAndText },
  flood: { usage: 'flood N [BYTES]', parse: numbers({ count: required, bytes: 64 }) },
  longline: { usage: 'longline BYTES', parse: numbers({ bytes: required }) },
  image: { usage: 'image', parse: nothing },
  history: { usage: 'history', parse: nothing },
  env: {
    usage: 'env NAME',
    parse: (args) => (/^\S+$/u.test(args) ? { variable: args } : undefined),
  },
  pid: { usage: 'pid', parse: nothing },
  cwd: { usage: 'cwd', parse: nothing },
  mode: { usage: 'mode', parse: nothing },
  late: { usage: 'late TEXT', parse: text },
  silent: { usage: 'silent', parse: nothing },
  'ignore-cancel': { usage: 'ignore-cancel', parse: nothing },
  fail: { usage: 'fail MESSAGE', parse: text },
  limit: { usage: 'limit MS', parse: numbers({ ms: required }) },
  crash: { usage: 'crash [CODE]', parse: numbers({ code: 1 }) },
  garbage: { usage: 'garbage', parse: nothing },
  spawn: { usage: 'spawn MS', parse: numbers({ ms: required }) },
};

function text(args: string) {
  return args ? { text: args } : undefined;
}

function nothing(args: string) {
  return args ? undefined : {};
}

function titleAndOutput(args: string) {
  const [title = '', ...rest] = args.split('=>');
  const output = rest.join('=>').trim() || undefined;
  return title.trim() ? { title: title.trim(), output } : undefined;
}

function pathAndText(args: string) {
  const found = titleAndOutput(args);
  return found && args.includes('=>') ? { path: found.title, text: found.output ?? '' } : undefined;
}

function titles(args: string) {
  const found = entries(args)?.entries ?? [];
  return found.length > 1 ? { titles: found } : undefined;
}

function entries(args: string) {
  const found = args.split('|').map((entry) => entry.trim());
  return found.every(Boolean) ? { entries: found } : undefined;
}

function paceAndText(args: string) {
  const [, pace = '', rest = ''] = /^(\S+\s+\S+)\s+(.+)$/su.exec(args) ?? [];
  const parsed = numbers({ count: required, ms: required })(pace);
  return parsed && { ...parsed, text: rest };
}

/** Returns a parser of whole numbers into `fields`, in their order; a missing number takes the default of its field. */
function numbers<Field extends string>(fields: Record<Field, number | undefined>) {
  const entries = Object.entries<number | undefined>(fields);
  return (args: string) => {
    const words = args.split(/\s+/u).filter(Boolean);
    const values = entries.map(([field, fallback], index) => {
      const word = words[index];
      return [field, word === undefined ? fallback : wholeNumber(word)] as const;
    });
    const fits = words.length <= values.length && values.every(([, value]) => value !== undefined);
    return fits ? (Object.fromEntries(values) as Record<Field, number>) : undefined;
  };
}

function wholeNumber(word: string) {
  // Above the longest delay of a timer, Node warns and does not wait at all.
  const longestDelayMs = 2 ** 31 - 1;
  return /^\d+$/u.test(word) && Number(word) <= longestDelayMs ? Number(word) : undefined;
}

/**
 * Parses a prompt as a script. Returns its commands in order. Never throws: a part that is not a command is
 * prose and is skipped, so a script also works inside a longer message. For a prompt without any command the
 * list is empty, and the agent introduces itself instead.
 *
 * ```text
 * prompt  = part { ( newline | ";" ) part }
 * part    = command | prose                  blanks around a part do not count
 * command = NAME [ blanks ARGUMENTS ]        NAME in lower case, as in the table `commands`
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

/** The reply to a prompt without commands: it says what the agent is and what it can do. */
export function greeting(prompt: string): string {
  return [
    `Hello! I am cadre's demo agent. I have no model, so I can only repeat${echo(prompt)}`,
    'I can run a script, with one command per line or commands separated by ";". For example:',
    '  think about it; tool read README.md => 12 lines; say Done.',
    'My commands are:',
    ...Object.values(commands).map(({ usage }) => `  ${usage}`),
  ].join('\n');
}

function echo(prompt: string): string {
  const words = prompt.split(/\s+/u).filter(Boolean);
  if (words.length === 0) return ' what you write.';
  const shown = words.slice(0, 8).join(' ').slice(0, 200);
  return `: "${shown}${words.length > 8 ? ' ...' : ''}"`;
}
