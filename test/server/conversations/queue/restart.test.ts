import { expect, it } from 'vitest';
import { ManualClock } from '../../../support/manual-clock.ts';
import { HOUR, queueOf } from '../../../support/queue/queue.ts';
import { afterCrash } from '../../../support/sessions/harness.ts';
import { completed } from '../../../support/teams/team.ts';

const START = 1_750_000_000_000;

it('After a SIGKILL each entry begins once: what waited at once, what was due meanwhile late, and a schedule skips.', async () => {
  const [harness, { busy, schedule }] = await afterCrash(
    async (harness) => {
      const [busy, idle] = [await harness.open(), await harness.open()];
      await harness.startTurn(busy, 'cut off');
      await queueOf(harness).add(busy, 'waited');
      await queueOf(harness).add(busy, 'late', { at: START + HOUR });
      const every = { every: '@hourly', time_zone: 'UTC' };
      const { body: schedule } = await queueOf(harness).add(idle, 'hourly', every);
      return { busy, schedule };
    },
    { after: { clock: new ManualClock(START + 5 * HOUR) } },
  );
  for (const text of ['waited', 'late']) {
    const turn = await harness.provider.nextTurn();
    expect([turn.agent.session.id, turn.text]).toEqual([busy.id, text]);
    turn.end(completed);
  }
  await harness.times('queue.removed', 2);
  const skipped = await harness.until(({ kind }) => kind === 'queue.skipped');
  expect(skipped.payload).toMatchObject({
    why: 'missed',
    count: 5,
    entry: { id: schedule.id },
  });
  const left = await queueOf(harness).list();
  expect(left).toMatchObject([{ id: schedule.id, status: 'scheduled', skipped: 5, runs: 0 }]);
});

it('A turn of an entry that was accepted and not started is started by the next server; one that had started is not.', async () => {
  const [harness, { first, second, unseen }] = await afterCrash(
    async (harness) => {
      const [seen, unseen] = [await harness.open(), await harness.open()];
      const { body: first } = await queueOf(harness).add(seen, 'seen');
      await harness.provider.nextTurn();
      const { body: second } = await queueOf(harness).add(unseen, 'unseen');
      await harness.until(
        ({ kind, session_id }) => kind === 'turn.accepted' && session_id === unseen.id,
      );
      return { first, second, unseen };
    },
    {
      before: {
        agents: {
          opening: ({ title }) => (title === 'unseen' ? new Promise(() => {}) : Promise.resolve()),
        },
      },
    },
  );
  const turn = await harness.provider.nextTurn();
  expect([turn.agent.session.id, turn.text]).toEqual([unseen.id, 'unseen']);
  turn.end(completed);
  await harness.times('queue.removed', 2);
  const ends = harness.seen.filter(({ kind }) => kind === 'queue.finished');
  expect(ends.map(({ payload }) => [(payload.entry as { id: string }).id, payload.status])).toEqual(
    [
      [first.id, 'failed'],
      [second.id, 'completed'],
    ],
  );
});
