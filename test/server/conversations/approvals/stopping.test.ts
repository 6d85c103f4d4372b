import { expect, it } from 'vitest';
import { ManualClock } from '../../../support/manual-clock.ts';
import { endOf, withHarness, testHarness } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';

const TIMEOUT_MS = 60_000;
const config = { approvals: { timeout_ms: TIMEOUT_MS } };

it('An approval that expires while the agents of a stopping server end is declined at the next start, and its turn is interrupted.', async () => {
  const directory = testDirectory('data');
  const clock = new ManualClock();
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ending = () => {
    begun.resolve();
    return released.promise;
  };
  const left = await withHarness(
    async (harness) => {
      const { session, turn, turnId } = await harness.atWork();
      void turn.ask();
      const { id } = await harness.asked(session.id);
      const stopped = harness.given.runtime.stop();
      await begun.promise;
      clock.advance(TIMEOUT_MS);
      released.resolve();
      await stopped;
      return { session, turnId, id };
    },
    { clock, config, directory, agents: { ending } },
  );
  const later = new ManualClock(clock.now());
  later.runFree();
  const harness = await testHarness({ clock: later, config, directory });
  expect((await harness.until(endOf(left.turnId))).kind).toBe('turn.interrupted');
  expect(await harness.approvals('?status=expired')).toMatchObject([{ id: left.id }]);
  expect((await harness.session(left.session.id)).status).toBe('ready');
});
