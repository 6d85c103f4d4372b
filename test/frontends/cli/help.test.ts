import { Command } from 'commander';
import { beforeAll, expect, test } from 'vitest';
import { exampleLines, examples } from '../../../src/frontends/cli/examples.ts';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { commandGroups } from '../../../src/frontends/cli/help.ts';
import { createProgram } from '../../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';

let program: Command;
beforeAll(async () => {
  program = await createProgram({} as CommandIo, commands);
});

test('Each command has an example, and each example parses as that command.', () => {
  const all = commandsIn(program);
  const shown = [...all].filter(([path]) => !path.endsWith(' help')).map(([path]) => path);
  expect(Object.keys(examples).toSorted()).toEqual(shown.toSorted());
  let parsed = '';
  for (const [path, command] of all) command.action(() => void (parsed = path));
  for (const [path, lines] of Object.entries(examples)) {
    expect(lines).not.toEqual([]);
    for (const [line] of lines) {
      parsed = '';
      program.parse(wordsOf(line), { from: 'user' });
      expect([line, parsed]).toEqual([line, path]);
    }
  }
});

test('The help of a command shows its own options and examples, and one line for the global options.', () => {
  for (const [path, command] of commandsIn(program)) {
    const help = helpOf(command);
    expect(help).toContain('\nGlobal options: cadre --help\n');
    expect(help).not.toContain('--data-dir <directory> ');
    expect(help).toContain(exampleLines(path.replace(/.* help$/, 'help')));
  }
});

test('Each description starts with a capital letter and has no full stop.', () => {
  for (const command of everyCommand(program)) {
    const texts = [command, ...command.registeredArguments, ...command.options].map((one) =>
      one instanceof Command ? one.description() : one.description,
    );
    for (const text of texts) expect(text).toMatch(/^[A-Z].*[^.]$/s);
  }
});

test('The help never shows the old names of commands, which still work.', () => {
  const old = [...commandsIn(program).values()].flatMap((one) => one.aliases());
  expect(old).toEqual(expect.arrayContaining(['get', 'view']));
  const released =
    'processes get, processes kill, queue drop, review drop, worktrees get, teams view';
  const usual =
    'sessions ls, processes ps, processes ls, queue rm, review rm, tokens rm, tokens delete, teams rm, ' +
    'worktrees rm, approvals rules rm, sessions new, approvals get, budgets create';
  for (const path of [...released.split(', '), ...usual.split(', ')]) {
    const found = path
      .split(' ')
      .reduce<Command | undefined>(
        (above, word) =>
          above?.commands.find((one) => one.name() === word || one.aliases().includes(word)),
        program,
      );
    expect([path, found?.description()]).toEqual([path, expect.stringMatching(/^[A-Z]/)]);
  }
  const shortcuts = ['ps', 'ls', 'logs'].map((name) =>
    program.commands.find((one) => one.name() === name)?.description(),
  );
  expect(shortcuts).toEqual([
    'List processes, newest first',
    'List sessions, newest first',
    'Show the last lines of the output of a process',
  ]);
  const teams = program.commands.find((one) => one.name() === 'teams');
  expect(teams?.helpInformation()).not.toMatch(/view|\bget\b/);
});

test('The top help shows each visible command in one line, in the order of the groups.', () => {
  const visible = program
    .createHelp()
    .visibleCommands(program)
    .map((one) => one.name())
    .filter((name) => name !== 'help');
  const grouped = Object.values(commandGroups).flat();
  expect(grouped).toEqual(visible);
  const lines = helpOf(program).split('\n');
  const shown = lines.slice(lines.indexOf('Start'), lines.indexOf('Options'));
  expect(shown.filter((line) => !line.startsWith(' ') && line !== '')).toEqual(
    Object.keys(commandGroups),
  );
  const names = shown.flatMap((line) => /^  (\S+)  +[A-Z]/.exec(line)?.[1] ?? []);
  expect(names).toEqual(visible);
  const long = program.commands.filter((one) => one.description().length > 60);
  expect(long.map((one) => one.name())).toEqual([]);
});

test('The top help shows the global options, and no other help does.', () => {
  const help = helpOf(program);
  for (const { long } of program.options) expect(help).toContain(`${long}`);
  expect(help).toMatch(/--url <url> .*--data-dir <directory> .*--json /s);
});

function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}

/** A program and every visible command below it. */
function everyCommand(command: Command): Command[] {
  const below = command.createHelp().visibleCommands(command);
  return [command, ...below.flatMap(everyCommand)];
}

/** Returns the visible commands that can be run, by their path. */
function commandsIn(command: Command, above = ''): Map<string, Command> {
  const found = new Map<string, Command>();
  for (const one of command.createHelp().visibleCommands(command)) {
    const path = `${above}${one.name()}`;
    // Some commands can be run and also have commands below them.
    if (one.commands.length === 0 || one.registeredArguments.length > 0) found.set(path, one);
    for (const [name, inner] of commandsIn(one, `${path} `)) found.set(name, inner);
  }
  return found;
}

/** Splits a line into words, with double quotes as the only quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word.replaceAll('"', ''));
}
