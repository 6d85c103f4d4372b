import { expect, it } from 'vitest';
import { limited } from '../../../../../src/agents/provider.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { DAY, HOUR, MINUTE, queueOf } from '../../../../support/queue/queue.ts';
import { type Stage, testStage, afterCrash } from '../../../../support/sessions/harness.ts';
import { completed } from '../../../../support/teams/team.ts';

const START = 1_750_000_000_000;

async function meet(stage: Stage) {
  const session = await stage.open();
  const turn = await stage.play(session, 'work');
  const resetsAt = stage.clock.now() + HOUR;
  turn.end(limited('the agent', 'no more', { resetsAt, isOfAccount: true }));
  await stage.until(
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
    const [stage, session] = await afterCrash(meet, { after: { clock: new ManualClock(at) } });
    if (rest > 0) {
      expect((await queueOf(stage).of(session)).holds).toMatchObject([{ code: 'usage_limit' }]);
      stage.clock.advance(rest);
    }
    const again = await stage.provider.nextTurn();
    expect(again.text).toBe('work');
    again.end(completed);
    await stage.until(({ kind }) => kind === 'turn.completed');
    stage.clock.advance(DAY);
    const kinds = (await stage.events(session.id)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'turn.accepted')).toHaveLength(2);
    expect(kinds.filter((kind) => kind === 'session.limit_ended')).toHaveLength(1);
  },
);

it('A server that is killed between the reset and the start of the turn starts it once.', async () => {
  const [stage, session] = await afterCrash(
    async (stage) => {
      const session = await meet(stage);
      // The agent is gone, and the one that takes its place does not come to life.
      const [agent] = stage.provider.agents;
      agent?.die('gone');
      await agent?.gone;
      stage.clock.advance(HOUR);
      await stage.times('turn.accepted', 2);
      return session;
    },
    {
      before: {
        played: {
          opening: ({ provider_session_ref: ref }) =>
            ref === null ? Promise.resolve() : new Promise(() => undefined),
        },
      },
    },
  );
  const again = await stage.provider.nextTurn();
  expect([again.agent.session.id, again.text]).toEqual([session.id, 'work']);
  again.end(completed);
  await stage.until(({ kind }) => kind === 'turn.completed');
  const events = await stage.events(session.id);
  expect(events.filter(({ kind }) => kind === 'turn.accepted')).toHaveLength(2);
});

it('A clock that is set forward ends the wait within a minute, and once; one that is set back prolongs it.', async () => {
  const stage = await testStage({ clock: new ManualClock(START) });
  const session = await meet(stage);
  stage.clock.jump(-HOUR);
  stage.clock.advance(HOUR + MINUTE);
  expect((await stage.session(session.id)).usage_limit).not.toBeNull();
  stage.clock.jump(2 * HOUR);
  stage.clock.advance(MINUTE);
  const again = await stage.provider.nextTurn();
  again.end(completed);
  await stage.until(({ kind }) => kind === 'turn.completed');
  stage.clock.jump(-2 * HOUR);
  stage.clock.advance(3 * HOUR);
  const events = await stage.events(session.id);
  expect(events.filter(({ kind }) => kind === 'turn.accepted')).toHaveLength(2);
});
