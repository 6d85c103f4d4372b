import path from 'node:path';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../support/manual-clock.ts';
import { withHarness, testHarness } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { openArchive, ofSession } from '../../../support/retention/archive.ts';
import { retain, writeArchive } from '../../../support/retention/harness.ts';

test('A server that stops during a pass ends in order, and the next one finishes the pass.', async () => {
  const own = testDirectory('restart');
  const directory = path.join(own, 'data');
  const { now } = await writeArchive(directory, async (archive) => {
    for (let i = 0; i < 5; i++) await archive.fill(`closed${i}`, { turns: 60, bulk: 40 });
    await archive.fill('open', { end: 'ready' });
  });
  const options = { directory, clock: new ManualClock(now) };
  const ids = Array.from({ length: 5 }, (_, i) => `closed${i}`);

  // The server stops as soon as it has reported the first step.
  await withHarness(async (harness) => {
    retain(harness, { max_bytes: 1 });
    await harness.until(({ kind }) => kind === 'storage.trimmed');
    void harness.given.runtime.stop(AbortSignal.abort());
  }, options);
  {
    await using archive = await openArchive(directory);
    expect(archive.session('closed4').trimmed).toBe(false);
    expect(archive.left(ofSession('closed4')).length).toBeGreaterThan(0);
    const check = archive.db.prepare('PRAGMA integrity_check');
    expect(archive.db.peek((rx) => check.get(rx))).toEqual(['ok']);
  }

  const harness = await testHarness({ directory, clock: new ManualClock(now) });
  retain(harness, { max_bytes: 1 });
  for (const id of ids)
    await expectEventually(async () => (await harness.session(id)).trimmed).toBe(true);
  expect((await harness.session('open')).trimmed).toBe(false);
  for (const id of ids) expect(await harness.events(id)).toEqual([]);
});
