import { expect, it } from 'vitest';
import type { ScriptedAgent, ScriptedTurn } from '../../../support/scripted-provider.ts';
import { CountingIds, inOneGroup } from '../../../support/sessions/one-group.ts';
import { kinds, type Stage, testStage } from '../../../support/sessions/harness.ts';

/** A session whose agent has completed a turn and waits for the next. */
async function idle(stage: Stage) {
  const session = await stage.open();
  const turn = await stage.play(session, 'before');
  await stage.complete(turn);
  return { session, agent: turn.agent };
}

/** Ends a turn, and gives the kinds of its events. */
async function ends(stage: Stage, turn: ScriptedTurn, turnId: string): Promise<string[]> {
  await stage.complete(turn);
  const events = await stage.events(turn.session.id);
  return kinds(events.filter((event) => event.turn_id === turnId));
}

/** The turn of an agent that says nothing. */
const wholeTurn = ['turn.accepted', 'turn.started', 'session.notice', 'turn.completed'];

it('A turn waits for the end of an agent that has hung up, and another agent gets it.', async () => {
  const end = Promise.withResolvers<void>();
  const stage = await testStage({ played: { ending: () => end.promise } });
  const { session, agent } = await idle(stage);
  agent.hangUp();
  const { body: sent } = await stage.send(session, 'go');
  await agent.toldToEnd;
  expect((await stage.turn(session.id, sent.turn_id)).status).toBe('accepted');
  expect(stage.provider.agents).toEqual([agent]);
  end.resolve();
  const turn = await stage.provider.nextTurn();
  expect(turn.agent).toBe(stage.provider.agents[1]);
  expect(turn.agent.session.provider_session_ref).toBe(`ref-${session.id}`);
  expect(agent.calls).toEqual(['prompt', 'end']);
  expect(await ends(stage, turn, sent.turn_id)).toEqual(wholeTurn);
});

it('An agent that has hung up keeps its slot until its end.', async () => {
  const end = Promise.withResolvers<void>();
  const stage = await testStage({
    config: { providers: { max_live: 1 } },
    played: { ending: () => end.promise },
  });
  const { session, agent } = await idle(stage);
  agent.hangUp();
  await stage.send(session, 'go');
  await agent.toldToEnd;
  end.resolve();
  await stage.provider.nextTurn();
  expect(stage.provider.live).toEqual({ now: 1, most: 1 });
});

it('An agent that has hung up does not get a turn that has begun for it before.', async () => {
  const ids = new CountingIds();
  const stage = await testStage({ ids });
  const { session, agent } = await idle(stage);
  const { sent } = await inOneGroup(stage, async () => {
    const isBegun = ids.more(2);
    const reply = stage.send(session, 'go');
    await isBegun;
    agent.hangUp();
    return { sent: reply };
  });
  const turn = await stage.provider.nextTurn();
  expect([turn.agent === agent, agent.calls]).toEqual([false, ['prompt', 'end']]);
  expect(await ends(stage, turn, (await sent).body.turn_id)).toEqual(wholeTurn);
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
  const stage = await testStage({ played: { objection: hangingUp(1, () => agents) } });
  ({ agents } = stage.provider);
  const session = await stage.open();
  const { body: sent } = await stage.send(session, 'go');
  const turn = await stage.provider.nextTurn();
  expect(agents.map(({ calls }) => calls)).toEqual([['end'], ['prompt']]);
  expect(turn.agent.session.provider_session_ref).toBeNull();
  expect(await ends(stage, turn, sent.turn_id)).toEqual(wholeTurn);
});

it('If a second agent hangs up too, the turn stays with it, so that agents do not start forever.', async () => {
  let agents: readonly ScriptedAgent[] = [];
  const stage = await testStage({ played: { objection: hangingUp(9, () => agents) } });
  ({ agents } = stage.provider);
  await stage.send(await stage.open(), 'go');
  const turn = await stage.provider.nextTurn();
  expect(agents.map(({ calls }) => calls)).toEqual([['end'], ['prompt']]);
  expect(turn.agent).toBe(agents[1]);
});
