import fs from 'node:fs';
import path from 'node:path';
import { test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type TestRuntime, withRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { openSession } from '../../support/turns.ts';

const DAY_MS = 86_400_000;

/** A runtime without snapshots, whose sessions go a day after they were closed. */
function onRuntime(work: (given: TestRuntime, clock: ManualClock) => Promise<void>): Promise<void> {
  const clock = new ManualClock();
  return withRuntime((given) => work(given, clock), {
    clock,
    config: { retention: { max_age_days: 1 } },
    providers: [scriptedProvider(({ end }) => end(completed))],
  });
}

test('Snapshots that are too old are removed also where no more are taken.', () =>
  onRuntime(async ({ directory }, clock) => {
    const objectStore = path.join(directory, 'snapshots', 'ses_of_before', '1');
    fs.mkdirSync(objectStore, { recursive: true });
    clock.advance(10_000);
    await expectEventually(() => fs.existsSync(objectStore)).toBe(false);
  }));

test('A server continues although the snapshots of a removed session cannot be removed.', () =>
  onRuntime(async ({ client, directory, logLines }, clock) => {
    fs.writeFileSync(path.join(directory, 'snapshots'), 'is no directory');
    const { id } = await openSession(client, directory);
    await client.call(endpoints.closeSession, { params: { session_id: id }, body: {} });
    clock.advance(DAY_MS + 10_000);
    await expectEventually(() => logLines().map(({ msg }) => msg)).toContain(
      'cannot remove snapshots',
    );
    const session = () => client.call(endpoints.getSession, { params: { session_id: id } });
    await expectEventually(async () => (await session()).trimmed).toBe(true);
  }));
