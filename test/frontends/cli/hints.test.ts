import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { commandFor, withCommand } from '../../../src/frontends/cli/hints.ts';
import { createProgram } from '../../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';

test.for(
  Object.entries<string | null>({
    'session "sess_1" not found': 'see cadre sessions list',
    'session "s" has no turn "t"': 'see cadre sessions turns',
    'session "s" has no approval "a"': 'see cadre approvals list',
    'session "s" is not a member of team t': 'see cadre teams show',
    'team "t" not found': 'see cadre teams list',
    'team "t" has no message "m"': 'see cadre teams messages',
    'team "t" has no delivery "d"': 'see cadre teams deliveries',
    'message msg_1 has no pending delivery': 'see cadre teams deliveries',
    'process "p" not found': 'see cadre processes list',
    'worktree "w" not found': 'see cadre worktrees list',
    'turn turn_1 of session sess_1 is still running: wait until the turn ends':
      'or queue the prompt with cadre queue add',
    'cannot restore the file, because a.txt was changed: use force to replace the file and keep a copy':
      'pass --force',
    'budget "b" not found': 'see cadre budgets list',
    'the budget of session "s" is used up (1 of 1 turn): accept the approval of the budget, set a new limit, or queue the turn':
      'see cadre approvals list',
    'body.command: tox is not on the list: give all words of the command, or confirm the rule with i_know':
      'pass --i-know',
    'token "t" not found': 'see cadre tokens list',
    'acp: not configured: add a section [providers.acp] with a command':
      'or run cadre serve --demo to use the demo agent',
    'body.input: is required': null,
  }),
)('The hint for %j is %j.', ([message, command]) => {
  expect(commandFor(message)).toBe(command);
});

test.for<[message: string, whole: string]>([
  ['session "s" not found', 'session "s" not found: see cadre sessions list'],
  [
    'turn t of session s is still running: wait until the turn ends',
    'turn t of session s is still running: wait until the turn ends, or queue the prompt with cadre queue add',
  ],
  [
    'the worktree was created from x, which is not a branch of the repository: set into to a branch',
    'the worktree was created from x, which is not a branch of the repository: pass --into',
  ],
  [
    '"/tmp" is not a usable git repository (not found): choose a directory in a git repository',
    '"/tmp" is not a usable git repository (not found): run the command in a git repository, or pass a repository with --cwd (--repo for the commands worktrees and templates)',
  ],
  [
    '"/srv/a.git" is not a usable git repository (a bare repository has to be named by its own directory): choose a directory in a git repository',
    '"/srv/a.git" is in a bare repository, which has no working tree: run the command in a clone or a worktree of the repository, or pass the bare repository itself with --repo (only for the commands worktrees and templates)',
  ],
  ['body: a rule requires a command', 'a rule requires a command'],
  ['body.input: is required', 'body.input: is required'],
])('The error %j is printed as %j.', ([message, whole]) => {
  expect(withCommand(message)).toBe(whole);
});

test.for<[message: string, whole: string]>([
  ['session "s" not found', 'session "s" not found: see cadre sessions list --data-dir /srv/a'],
  [
    'acp: not configured: add a section [providers.acp] with a command',
    'acp: not configured: add a section [providers.acp] with a command, or run cadre serve --demo --data-dir /srv/a to use the demo agent',
  ],
  [
    'acp: not found: name an agent that is installed',
    'acp: not found: name an agent that is installed: pass --agent (see cadre providers discover --data-dir /srv/a)',
  ],
  [
    'no server answers at http://127.0.0.1:1: start one with cadre serve --detach',
    'no server answers at http://127.0.0.1:1: start one with cadre serve --detach --data-dir /srv/a',
  ],
  ['no session given: see cadre review --help', 'no session given: see cadre review --help'],
  ['start one with cadre serve --data-dir x', 'start one with cadre serve --data-dir x'],
])(
  'The error %j is printed as %j if the command line names a data directory.',
  ([message, whole]) => {
    expect(withCommand(message, { dataDir: '/srv/a' })).toBe(whole);
  },
);

test('Every command that a hint names exists.', async () => {
  const program = await createProgram({} as CommandIo, commands);
  const text = readFileSync('src/frontends/cli/hints.ts', 'utf8');
  const named = [...text.matchAll(/\bcadre ((?:[a-z]+ ?)+)/g)].map(([, words = '']) =>
    words.trim(),
  );
  expect(named).toContain('queue add');
  for (const words of named.filter((one) => one !== 'serve')) {
    let found: typeof program | undefined = program;
    for (const word of words.split(' ')) found = found?.commands.find((one) => one.name() === word);
    expect([words, found?.name()]).toEqual([words, words.split(' ').at(-1)]);
  }
});

test('Only the command line names commands: no message of the server does.', () => {
  const nouns =
    'serve|run|status|top|doctor|sessions|approvals|events|processes|worktrees|teams|providers|mcp|tokens|db|config';
  const command = new RegExp(`\\bcadre (${nouns})\\b`);
  const files = globSync('src/**/*.ts', {
    // Clients and the configuration talk to a user at a terminal or in an editor. The archive writes to the log of
    // a repository.
    exclude: [
      'src/{client,frontends}/**',
      'src/core/config/**',
      'src/server/work/worktrees/archive.ts',
    ],
  });
  expect(files.length).toBeGreaterThan(100);
  const naming = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => command.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
      // Only a user at a terminal can allow an init script or log in to an agent, so these messages name
      // the command.
      .filter((line) => !/not trusted yet: |run cadre providers login/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(naming).toEqual([]);
});
