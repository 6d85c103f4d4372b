import { type Argument, type Command, Help, type Option } from 'commander';
import { exampleLines, examples } from './examples.ts';
import { unknownCommand, withMeantOption } from './suggest.ts';

/** The groups of commands in the top help, in its order. A test compares them with the visible commands. */
export const commandGroups: Readonly<Record<string, readonly string[]>> = {
  Start: ['run', 'race', 'acp', 'providers', 'sessions', 'approvals'],
  Work: ['processes', 'templates', 'worktrees', 'races', 'teams', 'diff', 'review', 'queue'],
  Look: ['events', 'search', 'usage', 'top', 'status'],
  Automate: ['mcp', 'hooks', 'budgets', 'tokens'],
  Operate: [
    'serve',
    'stop',
    'service',
    'fleet',
    'db',
    'config',
    'doctor',
    'diagnostics',
    'metrics',
    'completion',
    'licenses',
    'upgrade',
    'version',
  ],
};

/** The layout of the help of every command. Set before commands are added, because they inherit it. */
export const helpStyle = {
  // Aliases, such as former names of commands, work but are not shown.
  subcommandTerm: (command: Command) =>
    [command.name(), ...command.registeredArguments.map((one) => placeholder(one))].join(' '),
  optionDescription: (one: Option) =>
    described(one.description, one.argChoices, isShown(one) ? one.defaultValue : undefined),
  argumentDescription: (one: Argument) =>
    described(one.description, one.argChoices, one.defaultValue),
  commandUsage: (command: Command) => `${pathOf(command)} ${command.usage()}`,
  formatHelp: (command: Command, help: Help) =>
    command.parent
      ? `${Help.prototype.formatHelp.call(help, command, help)}\nGlobal options: cadre --help\n`
      : topHelp(command, help),
};

/** A description with the choices and the default in parentheses. */
function described(text: string, choices: readonly string[] = [], value?: unknown): string {
  const facts = [
    choices.length > 0 ? `choices: ${choices.join(', ')}` : [],
    typeof value === 'string' || typeof value === 'number' ? `default: ${value}` : [],
  ].flat();
  return facts.length === 0 ? text : `${text} (${facts.join('; ')})`;
}

/** Whether an option takes a value, so that its default says something: `--no-wait` does not. */
function isShown({ required, optional }: Option): boolean {
  return required || optional;
}

/** The help of the program: its commands in groups, one line each, and the global options. */
function topHelp(program: Command, help: Help): string {
  const about = new Map(
    help.visibleCommands(program).map((one) => [one.name(), one.description()] as const),
  );
  const groups = Object.entries(commandGroups).map(
    ([title, names]) =>
      [title, names.flatMap((name) => (about.has(name) ? [[name, about.get(name)]] : []))] as const,
  );
  const options = help
    .visibleOptions(program)
    .map((one) => [help.optionTerm(one), help.optionDescription(one)]);
  const section = (title: string, rows: readonly (readonly string[])[]) => {
    const width = Math.max(...rows.map(([term = '']) => term.length));
    return [
      title,
      ...rows.map(([term = '', text = '']) => help.formatItem(term, width, text, help)),
    ];
  };
  const width = Math.max(...[...about.keys()].map((name) => name.length));
  return [
    `${program.description()}.`,
    '',
    'Usage: cadre [options] [command]      Without a command, open the screen.',
    '',
    ...groups.flatMap(([title, rows]) =>
      section(
        title,
        rows.map(([name = '', text = '']) => [name.padEnd(width), text]),
      ),
    ),
    '',
    ...section('Options', options),
    '',
    'Help for a command: cadre help COMMAND',
    '',
  ].join('\n');
}

interface HelpOutput {
  /** Whether help and errors are JSON. */
  isJson: boolean;
  /** Reports a wrong use of the command with this path. */
  reportUsage(text: string, path: string): void;
  /** Why the program without a command opens no screen. */
  noScreen: string;
  /** The names of groups by their singular. */
  singulars: Readonly<Record<string, string>>;
  /** Writes to stdout. */
  write(text: string): void;
}

/** Adds what all commands have: examples in their help, `help a b`, and an error for unknown commands. */
export function completeHelp(command: Command, output: HelpOutput): void {
  const path = pathOf(command);
  const { commands } = command;
  let isReported = false;
  command.configureOutput({
    outputError: (text) => output.reportUsage(withMeantOption(text, command), path),
    // A group without a command prints its help, in parts. The program itself says why there is no screen.
    ...((output.isJson || !command.parent) && {
      writeErr() {
        if (!isReported)
          output.reportUsage(command.parent ? 'no command given' : output.noScreen, path);
        isReported = true;
      },
    }),
  });
  if (command.parent) command.addHelpText('after', () => exampleLines(pathBelow(command)));
  addUsualAliases(commands);
  for (const [singular, name] of Object.entries(output.singulars))
    commands.find((one) => one.name() === name && one.commands.length > 0)?.alias(singular);
  for (const one of commands) completeHelp(one, output);
  if (commands.length === 0) return;
  command.on('command:*', (words: readonly string[]) => {
    throw unknownCommand(namesAbove(command), words);
  });
  command
    .helpCommand(false)
    .command('help')
    .argument('[command...]', 'Command to show help for, such as sessions send')
    .description('Show help for a command')
    .addHelpText('after', () => exampleLines('help'))
    .action((words: readonly string[]) => {
      const found = findCommand(command, words);
      if (output.isJson) output.write(`${JSON.stringify(helpDocument(found), null, 2)}\n`);
      else found.outputHelp();
    });
}

function helpDocument(command: Command) {
  const help = command.createHelp();
  return {
    command: pathOf(command),
    description: help.commandDescription(command),
    usage: help.commandUsage(command),
    arguments: help.visibleArguments(command).map((one) => ({
      name: one.name(),
      required: one.required,
      variadic: one.variadic,
      choices: one.argChoices ?? null,
      description: one.description,
    })),
    options: help.visibleOptions(command).map((one) => ({
      flags: one.flags,
      choices: one.argChoices ?? null,
      default: (isShown(one) ? (one.defaultValue as unknown) : undefined) ?? null,
      description: one.description,
    })),
    commands: help
      .visibleCommands(command)
      .map((one) => ({ name: one.name(), description: one.description() })),
    examples: (examples[pathBelow(command)] ?? []).map(([line, description]) => ({
      command: `cadre ${line}`,
      description,
    })),
  };
}

/** Other verbs for a command, in the order in which commands claim them. Only those that no other command has are added. */
const usualAliases: readonly (readonly [name: string, aliases: readonly string[]])[] = [
  ['list', ['ls']],
  ['show', ['get', 'view']],
  ['create', ['new']],
  ['add', ['create', 'new']],
  ['set', ['create']],
  ['delete', ['rm', 'remove']],
  ['remove', ['rm', 'delete']],
  ['revoke', ['rm', 'delete', 'remove']],
  ['cleanup', ['rm', 'delete', 'remove']],
];

function addUsualAliases(siblings: readonly Command[]): void {
  const taken = new Set(siblings.flatMap((one) => [one.name(), ...one.aliases()]));
  for (const [name, aliases] of usualAliases) {
    const command = siblings.find((one) => one.name() === name);
    for (const alias of aliases.filter((one) => command && !taken.has(one))) {
      command?.alias(alias);
      taken.add(alias);
    }
  }
}

function findCommand(from: Command, words: readonly string[]): Command {
  const [word, ...rest] = words;
  if (word === undefined) return from;
  const next = from.commands.find((one) => one.name() === word || one.aliases().includes(word));
  if (!next) throw unknownCommand(namesAbove(from), words);
  return next.commands.length > 0 ? findCommand(next, rest) : next;
}

function pathOf(command: Command): string {
  return [...(command.parent ? [pathOf(command.parent)] : []), command.name()].join(' ');
}

function namesAbove(command: Command): string[] {
  return pathOf(command).split(' ').slice(1);
}

/** The key of a command in `examples`. */
function pathBelow(command: Command): string {
  return namesAbove(command).join(' ');
}

function placeholder(argument: Command['registeredArguments'][number]): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}
