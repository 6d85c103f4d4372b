import { expect, it } from 'vitest';
import { configSchema } from '../../../../src/core/config/schema.ts';
import { endOf, type Stage, testStage } from '../../../support/sessions/harness.ts';

/** Loads a configuration into the running server, as a HUP does. */
function reload(stage: Stage, given: object): void {
  stage.given.runtime.reload(() => configSchema.parse(given));
}

it('A raised max_live starts waiting turns.', async () => {
  const stage = await testStage({ config: { providers: { max_live: 1 } } });
  await stage.play(await stage.open(), 'first');
  for (const name of ['second', 'third', 'fourth']) await stage.send(await stage.open(), name);
  reload(stage, { providers: { max_live: 3 } });
  const started = [await stage.provider.nextTurn(), await stage.provider.nextTurn()];
  expect(started.map(({ text }) => text)).toEqual(['second', 'third']);
  expect(stage.provider.live.now).toBe(3);
});

it('A lowered max_live ends surplus idle agents.', async () => {
  const stage = await testStage({ config: { providers: { max_live: 3 } } });
  const turns = [];
  for (const name of ['first', 'second', 'third']) {
    turns.push(await stage.play(await stage.open(), name));
  }
  const [first, second, third] = turns;
  for (const turn of turns.slice(0, 2)) {
    await stage.complete(turn);
    stage.clock.advance(1000);
  }
  reload(stage, { providers: { max_live: 2 } });
  expect(await first?.agent.gone).toBe('was ended');
  expect(second?.agent.calls).toEqual(['prompt']);
  reload(stage, { providers: { max_live: 1 } });
  expect(await second?.agent.gone).toBe('was ended');
  expect(third?.agent.calls).toEqual(['prompt']);
});

it('A reload applies new limits to later turns and approvals.', async () => {
  const stage = await testStage();
  reload(stage, { sessions: { turn_timeout_ms: 5000 }, approvals: { timeout_ms: 1000 } });
  const { session, turn, turnId: id } = await stage.atWork();
  void turn.ask();
  const approval = await stage.asked(session.id);
  expect(approval.expires_at).toBe(approval.created_at + 1000);
  stage.clock.advance(5000);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  const { kind } = await stage.until(endOf(id));
  expect(kind).toBe('turn.interrupted');
});
