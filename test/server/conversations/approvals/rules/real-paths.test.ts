import fs from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CommandNames } from '../../../../../src/server/conversations/approvals/rules/command-names.ts';
import { evaluateRules } from '../../../../../src/server/conversations/approvals/rules/evaluate-rules.ts';
import { RealPaths } from '../../../../../src/server/conversations/approvals/rules/real-paths.ts';
import { requestedActionOf } from '../../../../../src/server/conversations/approvals/rules/requested-action.ts';
import { diffDetail } from '../../../../support/diff-detail.ts';
import type { ApprovalRule } from '../../../../../src/api/approval-rules.ts';
import { expectEventually } from '../../../../support/expect-eventually.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { tempDirectory } from '../../../../support/temp.ts';

/** A file system in which every path below /hung hangs until `wake` is called; counts the calls that are made there. */
function hungFiles() {
  const woken = Promise.withResolvers<void>();
  let calls = 0;
  const slow = async (file: string) => {
    if (!file.startsWith('/hung')) return;
    calls++;
    await woken.promise;
  };
  const files = {
    async lstat(file: string) {
      await slow(file);
      return fs.lstat(file);
    },
    async realpath(file: string) {
      await slow(file);
      return fs.realpath(file);
    },
  } as Pick<typeof fs, 'lstat' | 'realpath'>;
  return { files, wake: () => woken.resolve(), calls: () => calls };
}

test('A path on a mount that hangs is uncertain after the time limit, and takes one call of the system in all.', async () => {
  const clock = new ManualClock();
  const { files, wake, calls } = hungFiles();
  const paths = new RealPaths({ clock, files });
  const first = paths.within(async (real) => [await real('/hung/a'), await real('/tmp')]);
  while (calls() === 0) await Promise.resolve();
  clock.advance(3000);
  // The time of the request is over for its other paths, too.
  expect(await first).toEqual([null, null]);
  // While it hangs, others wait for nothing, because a call would take one more thread of Node.
  const others = await Promise.all(
    ['/hung/b', '/hung/c', '/tmp'].map((one) => paths.within((real) => real(one))),
  );
  expect([others, calls()]).toEqual([[null, null, null], 1]);
  wake();
  await expectEventually(() => paths.within((real) => real('/'))).toBe('/');
});

test('A rule allows no file that is on a mount that hangs; a rule to deny matches it by its name.', async () => {
  const clock = new ManualClock();
  const { files, calls } = hungFiles();
  const request = {
    kind: 'file_change' as const,
    title: 'a',
    request: {},
    details: [diffDetail('/hung/work/a', 'a\n', 'b\n')],
    subject: null,
  };
  const reading = new RealPaths({ clock, files }).within((realPath) =>
    requestedActionOf(
      request,
      { provider: 'acp', cwd: '/hung/work' },
      { realPath, names: new CommandNames() },
    ),
  );
  while (calls() === 0) await Promise.resolve();
  clock.advance(3000);
  const action = await reading;
  const rule = (effect: 'allow' | 'deny') =>
    ({ ...emptyRule, effect, path: '**' }) satisfies ApprovalRule;
  expect(evaluateRules([rule('allow')], action)).toMatchObject({
    effect: 'ask',
    why: expect.stringContaining('the file system does not answer'),
  });
  expect(evaluateRules([rule('deny')], action)).toMatchObject({ effect: 'deny' });
});

test('Requests take turns: one with many paths does not keep another one waiting.', async () => {
  using directory = tempDirectory('paths');
  const paths = new RealPaths({ clock: new ManualClock() });
  let looked = 0;
  const many = paths.within(async (real) => {
    for (; looked < 2000; looked++) await real(path.join(directory.path, `a/${looked}`));
  });
  const other = path.join(directory.path, 'b');
  expect(await paths.within((real) => real(other))).toBe(
    path.join(await fs.realpath(directory.path), 'b'),
  );
  expect(looked).toBeLessThan(100);
  await many;
});

const emptyRule = {
  id: 'rule_1',
  provider: null,
  tool: null,
  command: null,
  path: null,
  directory: null,
  reason: null,
  i_know: false,
  refused: null,
  created_by: 'api',
  created_at: 1,
};
