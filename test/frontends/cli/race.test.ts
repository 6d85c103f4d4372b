import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Race } from '../../../src/api/races.ts';
import { cadreOn, startCadre } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { tempDirectory } from '../../support/temp.ts';
import { git, makeRepository } from '../../support/worktrees/work.ts';

const server = sharedDemo();
const TWO = ['--with', 'demo', '--with', 'demo'];
/** A check that writes a file and passes in the first worktree only. */
const FIRST = 'echo work > work.txt; case "$PWD" in *-1) true;; *) false;; esac';

const inRepository = async (
  act: (cadre: ReturnType<typeof cadreOn>, cwd: string) => Promise<void>,
) => {
  await using directory = tempDirectory('race');
  const repository = makeRepository(path.join(directory.path, 'shop'));
  git(repository, 'config', 'user.name', 'Ada');
  git(repository, 'config', 'user.email', 'ada@example.org');
  await act(cadreOn(server()), repository);
};

test('A race reports its progress, prints a table, and ends with 0 if a contender passes.', () =>
  inRepository(async (cadre, cwd) => {
    const argv = ['race', ...TWO, '--name', 'table', '--check', FIRST, 'say done'];
    const ran = await cadre(argv, { cwd });
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(
      /^cadre: race table: 2 contenders start from main \([0-9a-f]{8}\)$/m,
    );
    expect(ran.stderr).toMatch(/^cadre: demo-1 passed \(1 file, \+1 -0, .*\)$/m);
    expect(ran.stderr).toMatch(/^cadre: demo-2 failed: the check failed \(exit code 1\)$/m);
    const rows = ran.stdout.split('\n').map((row) => row.split(/ {2,}/));
    expect(rows.slice(1, 3).map((cells) => cells.slice(0, 4))).toEqual([
      ['demo-1', 'passed', '1', '+1 -0'],
      ['demo-2', 'failed', '1', '+1 -0'],
    ]);
    const shown = await cadre(['races', 'get', 'table']);
    expect(shown.stdout).toBe(ran.stdout);
    expect((await cadre(['races', 'list'])).stdout).toContain('table');
  }));

test('A race of which no contender passes ends with 9, and prints its record with --json.', () =>
  inRepository(async (cadre, cwd) => {
    const ran = await cadre(['--json', 'race', ...TWO, '--check', 'false', 'say done'], { cwd });
    expect(ran.code).toBe(9);
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'failed', max_checks: 1 });
  }));

test('With --until, a failed check is followed by another turn.', () =>
  inRepository(async (cadre, cwd) => {
    const second = 'test -f tried || { touch tried; false; }';
    const argv = ['race', ...TWO, '--check', second, '--until', '--max', '3', 'say done'];
    const ran = await cadre(argv, { cwd });
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain(`cadre: demo-2: check failed (1 of 3, exit code 1): ${second}\n`);
    expect(ran.stdout.match(/passed.*2 checks/g)).toHaveLength(2);
  }));

test('The kept contender remains, and the merge command of its worktree is printed.', () =>
  inRepository(async (cadre, cwd) => {
    await cadre(['race', ...TWO, '--name', 'kept', '--check', FIRST, 'say done'], { cwd });
    const kept = await cadre(['races', 'keep', 'kept', 'demo-1']);
    expect(kept.code).toBe(0);
    expect(kept.stdout).toMatch(
      /^Worktree "kept-demo-2" \(wt_\w+\): cleaned\n {2}archived: refs\/cadre\/archive\/wt_/,
    );
    expect(kept.stdout).toContain('Merge the worktree with cadre worktrees merge kept-demo-1\n');
    const record = await cadre(['--json', 'races', 'show', 'kept']);
    expect((JSON.parse(record.stdout) as Race).kept).toBe('demo-1');
    const merged = await cadre(
      ['worktrees', 'merge', 'kept-demo-1', '--commit', 'Add work', '--yes'],
      { cwd },
    );
    expect([merged.code, merged.stderr]).toEqual([0, expect.stringContaining('fast-forward')]);
    expect(fs.readFileSync(path.join(cwd, 'work.txt'), 'utf8')).toBe('work\n');
  }));

test('SIGINT stops the race, and the command ends with 130.', () =>
  inRepository(async (_cadre, cwd) => {
    const { directory } = server();
    const argv = ['--data-dir', directory, 'race', ...TWO, '--cwd', cwd, '--check', 'false'];
    const run = startCadre(directory, [...argv, '--until', '--max', '2', 'say a; wait 60000']);
    await expectEventually(run.stderr).toContain('contenders start');
    run.child.kill('SIGINT');
    const ended = await run.ended;
    expect(ended.code).toBe(130);
    expect(ended.stdout.match(/the race was stopped/g)).toHaveLength(2);
  }));

test('Options that do not fit are refused.', () =>
  inRepository(async (cadre) => {
    const refused = async (...argv: string[]) => (await cadre(['race', ...argv, 'say a'])).stderr;
    expect(await refused('--with', 'demo')).toBe(
      'cadre: a race needs 2 to 8 contenders: pass --with for each of them\n',
    );
    expect(await refused(...TWO, '--until')).toBe('cadre: --until requires --check\n');
    expect(await refused(...TWO, '--check', 'true', '--max', '2')).toBe(
      'cadre: --max requires --until\n',
    );
    expect(await refused(...TWO, '--check-timeout', '5s')).toBe(
      'cadre: --check-timeout requires --check\n',
    );
    expect(await refused('--with', 'demo', '--with', 'demo:')).toContain(
      'invalid contender "demo:"',
    );
  }));

test('A race with a relative --cwd runs in that directory of the current directory.', () =>
  inRepository(async (cadre, cwd) => {
    const argv = ['race', ...TWO, '--cwd', path.basename(cwd), '--json', 'say done'];
    const { code, stdout, stderr } = await cadre(argv, { cwd: path.dirname(cwd) });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ cwd });
  }));
