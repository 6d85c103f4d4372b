import { expect, it } from 'vitest';
import { limited } from '../../../../../src/agents/provider.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { DAY, HOUR, MINUTE, queueOf } from '../../../../support/queue/queue.ts';
import { type Harness, testHarness, afterCrash } from '../../../../support/sessions/harness.ts';
import { completed } from '../../../../support/teams/team.ts';

const START = 1_750_000_000_000;

async function meet(harness: Harness) {
  const session = await harness.open();
  const turn = await harness.startTurn(session, 'work');
  const resetsAt = harness.clock.now() + HOUR;
  turn.end(limited('the agent', 'no more', { resetsAt, isOfAccount: true }));
  await harness.until(
    ({ kind, session_id }) => kind === 'session.limited' && session_id === session.id,
  );
  return session;
}

it.for([
  ['before it resets, it waits on', START + MINUTE, HOUR],
  ['after it has reset, it goes on at once', START + 2 * HOUR, 0],
] as const)(
  'A server that was killed while a session waits, and starts %s.',
  async ([, at, rest]) => {
    const [harness, session] = await afterCrash(meet, { after: { clock: new ManualClock(at) } });
    if (rest > 0) {
      expect((await queueOf(harness).of(session)).holds).toMatchObject([{ code: 'usage_limit' }]);
      harness.clock.advance(rest);
    }
    const again = await harness.provider.nextTurn();
    expect(again.text).toBe('work');
    again.end(completed);
    await harness.until(({ kind }) => kind === 'turn.completed');
    harness.clock.advance(DAY);
    const kinds = (await harness.events(session.id)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'turn.accepted')).toHaveLength(2);
    expect(kinds.filter((kind) => kind === 'session.limit_ended')).toHaveLength(1);
  },
);

it('A server that is killed between the reset and the start of the turn starts it once.', async () => {
  const [harness, session] = await afterCrash(
    async (harness) => {
      const session = await meet(harness);
      // The agent is gone, and the one that takes its place does not come to life.
      const [agent] = harness.provider.agents;
      agent?.die('gone');
      await agent?.gone;
      harness.clock.advance(HOUR);
      await harness.times('turn.accepted', 2);
      return session;
    },
    {
      before: {
        agents: {
          opening: ({ provider_session_ref: ref }) =>
            ref === null ? Promise.resolve() : new Promise(() => undefined),
        },
      },
    },
  );
  const again = await harness.provider.nextTurn();
  expect([again.agent.session.id, again.text]).toEqual([session.id, 'work']);
  again.end(completed);
  await harness.until(({ kind }) => kind === 'turn.completed');
  const events = await harness.events(session.id);
  expect(events.filter(({ kind }) => kind === 'turn.accepted')).toHaveLength(2);
});

it('A clock that is set forward ends the wait within a minute, and once; one that is set back prolongs it.', async () => {
  const harness = await testHarness({ clock: new ManualClock(START) });
  const session = await meet(harness);
  harness.clock.jump(-HOUR);
  harness.clock.advance(HOUR + MINUTE);
  expect((await harness.session(session.id)).usage_limit).not.toBeNull();
  harness.clock.jump(2 * HOUR);
  harness.clock.advance(MINUTE);
  const again = await harness.provider.nextTurn();
  again.end(completed);
  await harness.until(({ kind }) => kind === 'turn.completed');
  harness.clock.jump(-2 * HOUR);
  harness.clock.advance(3 * HOUR);
  const events = await harness.events(session.id);
  expect(events.filter(({ kind }) => kind === 'turn.accepted')).toHaveLength(2);
});
