import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { cadreOn, startCadre } from '../../support/cli/cadre.ts';
import { tempDirectory } from '../../support/temp.ts';

/** A command that passes when it runs for the second time. */
const SECOND = 'test -f tried || { touch tried; echo not yet; false; }';

const server = sharedDemo();
const inDirectory = async (
  act: (cadre: ReturnType<typeof cadreOn>, cwd: string) => Promise<void>,
) => {
  await using directory = tempDirectory('until');
  await act(cadreOn(server()), directory.path);
};

test('A run until a command passes shows each check, sends the output of a failed one, and ends with 0.', () =>
  inDirectory(async (cadre, cwd) => {
    const ran = await cadre(['run', '--until', SECOND, 'say done'], { cwd });
    expect(ran.code).toBe(0);
    expect(ran.stdout.startsWith('done\n')).toBe(true);
    expect(ran.stderr).toContain(`cadre: check failed (1 of 5, exit code 1): ${SECOND}\n`);
    expect(ran.stderr).toContain(`cadre: check passed (2 of 5): ${SECOND}\n`);
  }));

test('A run whose goal ends without a pass ends with 9 and the reason.', () =>
  inDirectory(async (cadre, cwd) => {
    const ran = await cadre(['run', '--until', 'false', '--max', '2', 'say done'], { cwd });
    expect(ran.code).toBe(9);
    expect(ran.stderr).toContain('cadre: check failed (2 of 2, exit code 1): false\n');
    expect(ran.stderr).toContain(
      'cadre: no check has passed: the maximum number of checks failed\n',
    );
    const failed = await cadre(['run', '--until', 'true', 'fail out of luck'], { cwd });
    expect(failed.code).toBe(9);
    expect(failed.stderr).toContain('cadre: no check has passed: a turn failed\n');
  }));

test('A run with --json prints the events of all turns and of the goal.', () =>
  inDirectory(async (cadre, cwd) => {
    const ran = await cadre(['--json', 'run', '--until', SECOND, 'say done'], { cwd });
    expect(ran.code).toBe(0);
    const kinds = ran.lines().map(({ kind }) => String(kind));
    expect(kinds.filter((kind) => /^goal\.c|^goal\.e|^turn\.completed/.test(kind))).toEqual([
      'turn.completed',
      'goal.checking',
      'goal.checking',
      'goal.checked',
      'turn.completed',
      'goal.checking',
      'goal.checking',
      'goal.checked',
      'goal.ended',
    ]);
    expect(ran.lines().at(-1)).toMatchObject({
      payload: { goal: { status: 'passed', round: 2 } },
    });
  }));

test('SIGINT during a check cancels the goal, and the run ends with 130.', () =>
  inDirectory(async (_cadre, cwd) => {
    const { directory } = server();
    const check = 'echo running > began; exec sleep 60';
    const argv = ['--data-dir', directory, '--json', 'run', '--cwd', cwd, '--until', check];
    const run = startCadre(directory, [...argv, 'say done']);
    await run.until('"goal.checking"');
    run.child.kill('SIGINT');
    const ended = await run.ended;
    expect(ended.code).toBe(130);
    expect(ended.lines().at(-1)).toMatchObject({ payload: { goal: { reason: 'cancelled' } } });
  }));

test('Options of a goal are refused without a goal.', () =>
  inDirectory(async (cadre) => {
    expect(await cadre(['run', '--max', '2', 'say a'])).toMatchObject({
      code: 2,
      stderr: 'cadre: --max requires --until\n',
    });
  }));

test('The goal of a session is set, shown and cancelled.', () =>
  inDirectory(async (cadre, cwd) => {
    const opened = await cadre(['sessions', 'create'], { cwd });
    const session = opened.stdout.trim();
    expect(await cadre(['sessions', 'until', session])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        `^cadre: session "${session}" has no goal: set a goal with cadre sessions until --data-dir \\S+\n$`,
      ),
    });
    const check = 'until test -f go; do sleep 0.02; done';
    expect(await cadre(['sessions', 'until', session, check, '--max', '3'])).toMatchObject({
      code: 0,
      stdout: `check is running (0 of 3 checks): ${check}\n`,
    });
    expect(await cadre(['sessions', 'until', session, 'true'])).toMatchObject({ code: 7 });
    expect(await cadre(['sessions', 'until', session, '--cancel'])).toMatchObject({
      code: 0,
      stdout: `ended after 0 of 3 checks, because the goal was cancelled: ${check}\n`,
    });
    fs.writeFileSync(path.join(cwd, 'go'), '');
  }));
