import type { Command } from 'commander';
import { exampleLines } from './examples.ts';
import { unknownCommand } from './suggest.ts';

/** How the help of every command looks. Set before commands are added, because they inherit it. */
export const helpStyle = {
  showGlobalOptions: true,
  // Aliases are old names of commands: they work, and no help shows them.
  subcommandTerm: (command: Command) =>
    [
      command.name(),
      command.options.length > 0 ? '[options]' : '',
      ...command.registeredArguments.map((one) => placeholder(one)),
    ]
      .filter(Boolean)
      .join(' '),
  commandUsage: (command: Command) => `${pathOf(command)} ${command.usage()}`,
};

/** Adds what all commands have: examples in their help, `help a b`, and an error for unknown commands. */
export function completeHelp(
  command: Command,
  reportUsage: (text: string, path: string) => void,
): void {
  const path = pathOf(command);
  const { commands } = command;
  command.configureOutput({ outputError: (text) => reportUsage(text, path) });
  if (command.parent) command.addHelpText('after', () => exampleLines(pathBelow(command)));
  for (const one of commands) completeHelp(one, reportUsage);
  if (commands.length === 0) return;
  command.on('command:*', (words: readonly string[]) => {
    throw unknownCommand(namesAbove(command), words);
  });
  command
    .helpCommand(false)
    .command('help')
    .argument('[command...]', 'Command, such as sessions send')
    .description('Show help for a command')
    .addHelpText('after', () => exampleLines('help'))
    .action((words: readonly string[]) => findCommand(command, words).outputHelp());
}

/** The command with this path below another. Throws `usage` for one that does not exist. */
function findCommand(from: Command, words: readonly string[]): Command {
  const [word, ...rest] = words;
  if (word === undefined) return from;
  const next = from.commands.find((one) => one.name() === word || one.aliases().includes(word));
  if (!next) throw unknownCommand(namesAbove(from), words);
  return next.commands.length > 0 ? findCommand(next, rest) : next;
}

/** `cadre sessions list`. */
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
