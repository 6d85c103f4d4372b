import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import type { Command } from 'commander';
import { beforeAll, expect, test } from 'vitest';
import { commandPages } from '../../scripts/man/command-pages.ts';
import { commentsOf } from '../../scripts/man/config-comments.ts';
import { configPage } from '../../scripts/man/config-page.ts';
import { eventsPage } from '../../scripts/man/events-page.ts';
import { escaped, prose } from '../../scripts/man/roff.ts';
import { eventKinds } from '../../src/api/events.ts';
import { commands } from '../../src/frontends/cli/commands/index.ts';
import { createProgram } from '../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../src/frontends/cli/command-io.ts';
import { keys } from '../../src/core/config/keys.ts';

const edition = { version: '1.2.3', date: '2026-01-02' };
const comments = commentsOf(
  ['screen-section.ts', 'sandbox-section.ts', 'schema.ts']
    .map((name) => fs.readFileSync(`src/core/config/${name}`, 'utf8'))
    .join('\n'),
);
const hasGroff = spawnSync('groff', ['--version']).status === 0;

let program: Command;
let pages: Map<string, string>;
beforeAll(async () => {
  program = await createProgram({} as CommandIo, commands);
  pages = commandPages(program, edition);
});

test('Section 1 has a man page for cadre and one for each command in the help.', () => {
  const visible = program
    .createHelp()
    .visibleCommands(program)
    .map((one) => one.name());
  const names = visible.filter((name) => name !== 'help').map((name) => `cadre-${name}`);
  expect([...pages.keys()].toSorted()).toEqual(['cadre', ...names].toSorted());
  for (const name of names) expect(pages.get('cadre')).toContain(`${escaped(name)}\\fR(1)`);
});

test('The man page of a command contains all its subcommands with their options and examples.', () => {
  for (const noun of program.commands) {
    const text = pages.get(`cadre-${noun.name()}`);
    if (text === undefined) continue;
    const below = noun.createHelp().visibleCommands(noun);
    for (const one of below.filter((command) => command.name() !== 'help')) {
      expect(text).toContain(`.SS cadre ${escaped(`${noun.name()} ${one.name()}`)}\n`);
      for (const { flags } of one.options) expect(text).toContain(`\\fB${escaped(flags)}\\fR`);
    }
  }
  expect(pages.get('cadre-db')).toContain(
    escaped('cadre db check copy.cadre  Check a backup of the database'),
  );
});

test('The page cadre-config(5) has every key, with its description, type and default.', () => {
  const text = configPage(comments, edition);
  for (const { name } of keys) expect(text).toContain(`\\fB${escaped(name)}\\fR`);
  expect(text).toContain(`\\fB${escaped('servers[].token_file')}\\fR`);
  expect(text).toContain(escaped('providers.acp.agents.NAME.auth_method'));
  expect(text.replaceAll('\n', ' ')).toMatch(
    /The maximum number of connections; .* Integer from 1 to 1000000\. Default: \\fB8192\\fR/,
  );
});

test('The page cadre-config(5) describes every key outside the sections of providers, defaults and the fleet.', () => {
  const silent = keys
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('providers.') && !name.startsWith('defaults.'))
    .filter((name) => !name.startsWith('fleet.') && !comments.has(name));
  expect(silent).toEqual([]);
});

test('The page cadre-events(7) has every kind of event.', () => {
  const text = eventsPage(edition);
  for (const kind of eventKinds) expect(text).toContain(`.SS ${escaped(kind)}\n`);
});

test('A text that looks like a roff request is escaped.', () => {
  expect(escaped(".TH\n'x\na\\b")).toBe("\\&.TH\n\\&'x\na\\eb");
  const long = `${'word '.repeat(12)}.TH and more`;
  expect(prose(long)).not.toMatch(/^\.TH/m);
});

test.skipIf(!hasGroff)('The program groff formats all pages without a warning.', () => {
  const all = [...pages.values(), configPage(comments, edition), eventsPage(edition)];
  const said = spawnSync('groff', ['-man', '-ww', '-Tutf8'], { input: all.join('') });
  expect(said.stderr.toString()).toBe('');
  const shown = execFileSync('groff', ['-man', '-Tascii', '-P-cbou'], {
    input: pages.get('cadre'),
  });
  expect(shown.toString()).toMatch(/EXIT STATUS\n +0 +The command succeeded\./);
});
