import { cpSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { afterCrash, withHarness, type Harness } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';
import { PRINTS, put, watchOf } from '../../../support/watches.ts';

async function begin(harness: Harness, cwd: string) {
  put(cwd, 'one\n');
  const session = await harness.open({ cwd });
  const watch = watchOf(harness, session);
  await watch.start(PRINTS);
  await watch.check(1);
  return { session, watch };
}

it('A server that is killed at any commit of a change starts exactly one turn for the change.', async () => {
  const cwd = testDirectory('watch');
  const copies: string[] = [];
  const kept = testDirectory('watch-copies');
  let directory: string | null = null;
  const failpoint = (name: string) => {
    if (directory === null || !['commit.after', 'check.ended', 'check.starting'].includes(name))
      return;
    const copy = path.join(kept, String(copies.length));
    cpSync(directory, copy, { recursive: true });
    copies.push(copy);
  };
  const { session, at } = await withHarness(
    async (harness) => {
      const { session, watch } = await begin(harness, cwd);
      put(cwd, 'two\n');
      directory = harness.directory;
      const { next_at } = await watch.get();
      await watch.check();
      const turn = await harness.provider.nextTurn();
      expect(turn.text).toContain('\ntwo\n');
      await harness.complete(turn);
      directory = null;
      return { session, at: next_at ?? 0 };
    },
    { failpoint },
  );
  expect(copies.length).toBeGreaterThan(5);
  for (const copy of copies)
    await withHarness(
      async (harness) => {
        const watch = watchOf(harness, session);
        harness.clock.advance(1);
        await expectEventually(watch.get).toMatchObject({ status: 'waiting', changes: 1 });
        await harness.until(({ kind, payload }) => {
          const { turn } = payload as { turn?: { source?: string } };
          return kind === 'turn.accepted' && turn?.source === 'watch';
        });
        expect(await watch.turns()).toBe(1);
      },
      { directory: copy, clock: new ManualClock(at) },
    );
});

it('After a restart, an output that did not change becomes no turn, and a changed one does.', async () => {
  const cwd = testDirectory('watch');
  const [harness, session] = await afterCrash(async (before) => (await begin(before, cwd)).session);
  const watch = watchOf(harness, session);
  expect(await watch.check()).toMatchObject({ changes: 0 });
  put(cwd, 'two\n');
  expect(await watch.check()).toMatchObject({ changes: 1 });
  (await harness.provider.nextTurn()).end(completed);
});
