import { Argument, Command, Option } from 'commander';
import type { GlobalOptions } from './context.ts';
import {
  clientAction,
  type CommandContext,
  localAction,
  type LocalContext,
  type CommandIo,
} from './command-io.ts';

/** Adds a command to the one above it. */
export type Register = (parent: Command, io: CommandIo) => void;

/** A command, as its help describes it. */
export interface CommandEntry {
  name: string;
  /** An old name, which help and completion do not show. */
  alias?: string;
  /** Whether help and completion leave the command out. */
  hidden?: boolean;
  description: string;
  /** The arguments and options. A parameter that needs only its line of help is that line. */
  parameters?: readonly (string | Parameter)[];
  /** A text after the help. */
  help?: string;
  /** The commands below this one. */
  commands?: readonly Register[];
}

/** An argument or an option. */
export interface Parameter {
  /** The flags in commander's notation and the description, two spaces apart: `--limit <n>  Maximum number of rows`. */
  line: string;
  choices?: readonly string[] | null;
  /** Reads the value; `before` is the value of an earlier use of the option. */
  parse?(this: void, text: string, before: unknown): unknown;
  default?: unknown;
  /** The value of an option that is given without one. */
  preset?: string;
  required?: boolean;
  /** The option that cannot be combined with this one. */
  conflicts?: string;
}

export function command(
  entry: CommandEntry & {
    action?: (io: CommandIo) => (...args: never[]) => void | Promise<void>;
  },
): Register {
  return (parent, io) => {
    const made = parent
      .command(entry.name, { hidden: entry.hidden === true })
      .description(entry.description);
    if (entry.alias !== undefined) made.alias(entry.alias);
    addParameters(made, entry.parameters ?? []);
    if (entry.help !== undefined) made.addHelpText('after', entry.help);
    if (entry.action) made.action(entry.action(io) as (...args: unknown[]) => Promise<void>);
    for (const register of entry.commands ?? []) register(made, io);
  };
}

/** A command that works without a server. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander passes what the command declares
export function localCommand<Arguments extends unknown[], Options extends GlobalOptions>(
  entry: CommandEntry & {
    run: (context: LocalContext<Options>, ...args: Arguments) => void | Promise<void>;
  },
): Register {
  return command({ ...entry, action: (io) => localAction(io, entry.run) });
}

/** A command of a client of the server. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander passes what the command declares
export function clientCommand<Arguments extends unknown[]>(
  entry: CommandEntry & {
    run: (context: CommandContext, ...args: Arguments) => Promise<void>;
  },
): Register {
  return command({ ...entry, action: (io) => clientAction(io, entry.run) });
}

/** A group of commands, such as `sessions`. */
export function commandGroup(
  name: string,
  description: string,
  commands: readonly Register[],
): Register {
  return command({ name, description, commands });
}

/** A hidden command of the program that does the same as one of a group: `cadre ps` for `cadre processes list`. */
export function shortcut(name: string, group: Register, of: string): Register {
  return (program, io) => {
    const holder = new Command();
    group(holder, io);
    const found = holder.commands[0]?.commands.find((one) => one.name() === of);
    if (!found)
      throw new Error(`the shortcut ${name} refers to the command ${of}, which does not exist`);
    program.addCommand(found.name(name).copyInheritedSettings(program), { hidden: true });
  };
}

export function addParameters(to: Command, parameters: readonly (string | Parameter)[]): void {
  for (const parameter of parameters) {
    const one = declared(parameter);
    if (one instanceof Option) to.addOption(one);
    else to.addArgument(one);
  }
}

/** Returns a parameter as commander declares it. */
export function declared(parameter: string | Parameter): Argument | Option {
  const { line, choices, parse, ...more } =
    typeof parameter === 'string' ? { line: parameter } : parameter;
  const [flags = '', description] = line.split('  ');
  const one = flags.startsWith('-')
    ? new Option(flags, description)
        .makeOptionMandatory(more.required === true)
        .conflicts(more.conflicts ?? [])
        .preset(more.preset)
    : new Argument(flags, description);
  if (choices) one.choices(choices);
  if (parse) one.argParser(parse);
  return more.default === undefined ? one : one.default(more.default);
}

/** The line of an argument that may be left out. */
export function optional(line: string): string {
  return line.replace(/^<(.*?)>/, '[$1]');
}

/** Reads the value of an option that can be repeated. */
export function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** An option that can be repeated: its value is the list of all values. */
export function repeatable(line: string): Parameter {
  return { line, parse: repeated, default: [] };
}
