import { expect, test } from 'vitest';
import { bundleFor, clientCommands, valued } from '../../src/bundles/choose.ts';
import { clients } from '../../src/frontends/cli/commands/clients.ts';
import { commands } from '../../src/frontends/cli/commands/index.ts';
import { createProgram } from '../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../src/frontends/cli/command-io.ts';

const [withTerminal, without] = [() => true, () => false];
const chosen = (line: string, hasTerminal = without) =>
  bundleFor(line === '' ? [] : line.split(' '), hasTerminal);

test('A command is found in its bundle even if global options come before it.', () => {
  expect(chosen('serve --port 0')).toBe('serve');
  expect(chosen('--data-dir serve sessions list')).toBe('client');
  expect(chosen('--json --url http://127.0.0.1:1 status')).toBe('client');
  expect(chosen('--on b --fleet nats://127.0.0.1:1 --fleet teams list')).toBe('client');
  expect(chosen('mcp serve --caller me')).toBe('sidecar');
  expect(chosen('demo-agent')).toBe('agent');
  expect(chosen('__complete -- cadre serve')).toBe('complete');
});

test('All other command lines use the bundle of the whole program.', () => {
  const lines = ['', '--help', 'help serve', 'mcp list', 'run serve', 'top', 'no-command'];
  expect(new Set(lines.map((line) => chosen(line)))).toEqual(new Set(['program']));
});

test('The command `events tail` uses the bundle with the screen only on a terminal.', () => {
  expect([chosen('events tail', withTerminal), chosen('events tail')]).toEqual([
    'program',
    'client',
  ]);
  expect(chosen('sessions list', withTerminal)).toBe('client');
});

test('The client bundle has exactly the commands that are chosen for it.', () => {
  expect(Object.keys(clients).toSorted()).toEqual([...clientCommands].toSorted());
});

test('The list of options before a command that take a value equals the options of the program.', async () => {
  const program = await createProgram({} as CommandIo, commands, ['--version']);
  const required = program.options.filter((option) => option.required).map(({ long }) => long);
  expect(new Set(required)).toEqual(valued);
});
