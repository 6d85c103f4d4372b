import type { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { exampleLines, examples } from '../../../src/frontends/cli/examples.ts';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { createProgram } from '../../../src/frontends/cli/program.ts';
import type { World } from '../../../src/frontends/cli/world.ts';

let program: Command;
beforeAll(async () => {
  program = await createProgram({} as World, commands);
});

describe('the help of every command', () => {
  test('has an example or two, and each example parses as that command.', () => {
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

  test('shows the flags that it inherits, and its examples.', () => {
    for (const [path, command] of commandsIn(program)) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) });
      command.outputHelp();
      expect(help).toContain('Global Options:');
      expect(help).toMatch(/--url <url> .*--data-dir <directory> .*--json /s);
      expect(help).toContain(exampleLines(path.replace(/.* help$/, 'help')));
    }
  });

  test('never shows the old names of commands, which still work.', () => {
    const old = [...commandsIn(program).values()].flatMap((one) => one.aliases());
    expect(old).toEqual(expect.arrayContaining(['get', 'view']));
    const teams = program.commands.find((one) => one.name() === 'teams');
    expect(teams?.helpInformation()).not.toMatch(/view|\bget\b/);
  });
});

/** The commands that do something and that help shows, by their path. */
function commandsIn(command: Command, above = ''): Map<string, Command> {
  const found = new Map<string, Command>();
  for (const one of command.createHelp().visibleCommands(command)) {
    const path = `${above}${one.name()}`;
    // Some do something themselves, and have commands below them.
    if (one.commands.length === 0 || one.registeredArguments.length > 0) found.set(path, one);
    for (const [name, inner] of commandsIn(one, `${path} `)) found.set(name, inner);
  }
  return found;
}

/** The words of a line, in which only double quotes hold words together. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word.replaceAll('"', ''));
}
