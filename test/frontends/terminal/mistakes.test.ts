import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { runHere } from '../../support/cli/cadre.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

test('The command help shows the help of sessions send, and of old verbs.', async () => {
  using home = tempDirectory();
  const [long, short, inner] = await Promise.all([
    runHere(home.path, ['help', 'sessions', 'send']),
    runHere(home.path, ['sessions', 'send', '--help']),
    runHere(home.path, ['sessions', 'help', 'send']),
  ]);
  expect(long.stdout).toMatch(/^Usage: cadre sessions send /);
  expect([short.stdout, inner.stdout]).toEqual([long.stdout, long.stdout]);
  const old = await runHere(home.path, ['help', 'worktrees', 'get']);
  expect(old.stdout).toMatch(/^Usage: cadre worktrees show /);
});

test('The command help refuses unknown names.', async () => {
  const said = await Promise.all(
    ['help nope', 'help sessions nope', 'sesion list', 'list'].map(async (line) => {
      const { code, stdout, stderr } = await runHere(testDirectory(), line.split(' '));
      expect([line, code, stdout]).toEqual([line, 2, '']);
      return stderr;
    }),
  );
  expect(said).toEqual([
    'cadre: unknown command "nope": see cadre --help\n',
    'cadre: unknown command "sessions nope": see cadre sessions --help\n',
    'cadre: unknown command "sesion": did you mean cadre sessions list?\n',
    expect.stringContaining(
      'did you mean cadre sessions list, cadre queue list, cadre budgets list',
    ),
  ]);
});

test('The error of a wrong value names its flag and the next step in one sentence.', async () => {
  using home = tempDirectory();
  const { stderr } = await runHere(home.path, ['sessions', 'list', '--limit', 'many']);
  expect(stderr).toBe(
    'cadre: invalid --limit "many": expected a whole number: see cadre sessions list --help\n',
  );
  const timeout = await runHere(home.path, ['processes', 'run', 'true', '--timeout', 'soon']);
  expect(timeout.stderr).toContain(
    'invalid --timeout "soon": expected a duration with a unit, such as',
  );
});

test('A full disk on stdout is a clear error with exit code 1, without a stack trace.', () => {
  using home = tempDirectory();
  const { file, args } = selfCommand();
  const line = `'${[file, ...args].join("' '")}' --help > /dev/full`;
  const ended = spawnSync('sh', ['-c', line], { cwd: home.path, encoding: 'utf8' });
  expect(ended.stderr).toMatch(/^cadre: cannot write output: ENOSPC: [^\n]+\n$/);
  expect(ended.status).toBe(1);
});
