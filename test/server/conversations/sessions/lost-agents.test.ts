import { expect, it } from 'vitest';
import type { ScriptedAgent, ScriptedTurn } from '../../../support/scripted-provider.ts';
import { CountingIds, inOneGroup } from '../../../support/sessions/one-group.ts';
import { kinds, type Harness, testHarness } from '../../../support/sessions/harness.ts';

/** A session whose agent has completed a turn and waits for the next. */
async function idle(harness: Harness) {
  const session = await harness.open();
  const turn = await harness.startTurn(session, 'before');
  await harness.complete(turn);
  return { session, agent: turn.agent };
}

/** Ends a turn, and gives the kinds of its events. */
async function ends(harness: Harness, turn: ScriptedTurn, turnId: string): Promise<string[]> {
  await harness.complete(turn);
  const events = await harness.events(turn.session.id);
  return kinds(events.filter((event) => event.turn_id === turnId));
}

/** The turn of an agent that says nothing. */
const wholeTurn = ['turn.accepted', 'turn.started', 'session.notice', 'turn.completed'];

it('A turn waits for the end of an agent that has hung up, and another agent gets it.', async () => {
  const end = Promise.withResolvers<void>();
  const harness = await testHarness({ agents: { ending: () => end.promise } });
  const { session, agent } = await idle(harness);
  agent.hangUp();
  const { body: sent } = await harness.send(session, 'go');
  await agent.endRequested;
  expect((await harness.turn(session.id, sent.turn_id)).status).toBe('accepted');
  expect(harness.provider.agents).toEqual([agent]);
  end.resolve();
  const turn = await harness.provider.nextTurn();
  expect(turn.agent).toBe(harness.provider.agents[1]);
  expect(turn.agent.session.provider_session_ref).toBe(`ref-${session.id}`);
  expect(agent.calls).toEqual(['prompt', 'end']);
  expect(await ends(harness, turn, sent.turn_id)).toEqual(wholeTurn);
});

it('An agent that has hung up keeps its slot until its end.', async () => {
  const end = Promise.withResolvers<void>();
  const harness = await testHarness({
    config: { providers: { max_live: 1 } },
    agents: { ending: () => end.promise },
  });
  const { session, agent } = await idle(harness);
  agent.hangUp();
  await harness.send(session, 'go');
  await agent.endRequested;
  end.resolve();
  await harness.provider.nextTurn();
  expect(harness.provider.live).toEqual({ now: 1, most: 1 });
});

it('An agent that has hung up does not get a turn that has begun for it before.', async () => {
  const ids = new CountingIds();
  const harness = await testHarness({ ids });
  const { session, agent } = await idle(harness);
  const { sent } = await inOneGroup(harness, async () => {
    const isBegun = ids.more(2);
    const reply = harness.send(session, 'go');
    await isBegun;
    agent.hangUp();
    return { sent: reply };
  });
  const turn = await harness.provider.nextTurn();
  expect([turn.agent === agent, agent.calls]).toEqual([false, ['prompt', 'end']]);
  expect(await ends(harness, turn, (await sent).body.turn_id)).toEqual(wholeTurn);
});

/** Has each of the first agents hang up as soon as a turn has it. */
function hangingUp(count: number, agents: () => readonly ScriptedAgent[]) {
  return () => {
    if (agents().length <= count) agents().at(-1)?.hangUp();
    return null;
  };
}

it('A turn moves to another agent if its agent hangs up before it sees the turn.', async () => {
  let agents: readonly ScriptedAgent[] = [];
  const harness = await testHarness({ agents: { objection: hangingUp(1, () => agents) } });
  ({ agents } = harness.provider);
  const session = await harness.open();
  const { body: sent } = await harness.send(session, 'go');
  const turn = await harness.provider.nextTurn();
  expect(agents.map(({ calls }) => calls)).toEqual([['end'], ['prompt']]);
  expect(turn.agent.session.provider_session_ref).toBeNull();
  expect(await ends(harness, turn, sent.turn_id)).toEqual(wholeTurn);
});

it('If a second agent hangs up too, the turn stays with it, so that agents do not start forever.', async () => {
  let agents: readonly ScriptedAgent[] = [];
  const harness = await testHarness({ agents: { objection: hangingUp(9, () => agents) } });
  ({ agents } = harness.provider);
  await harness.send(await harness.open(), 'go');
  const turn = await harness.provider.nextTurn();
  expect(agents.map(({ calls }) => calls)).toEqual([['end'], ['prompt']]);
  expect(turn.agent).toBe(agents[1]);
});
