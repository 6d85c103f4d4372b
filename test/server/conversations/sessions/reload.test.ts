import { expect, it } from 'vitest';
import { configSchema } from '../../../../src/core/config/schema.ts';
import { endOf, type Harness, testHarness } from '../../../support/sessions/harness.ts';

/** Loads a configuration into the running server, as a HUP does. */
function reload(harness: Harness, given: object): void {
  harness.given.runtime.reload(() => configSchema.parse(given));
}

it('A raised max_live starts waiting turns.', async () => {
  const harness = await testHarness({ config: { providers: { max_live: 1 } } });
  await harness.startTurn(await harness.open(), 'first');
  for (const name of ['second', 'third', 'fourth']) await harness.send(await harness.open(), name);
  reload(harness, { providers: { max_live: 3 } });
  const started = [await harness.provider.nextTurn(), await harness.provider.nextTurn()];
  expect(started.map(({ text }) => text)).toEqual(['second', 'third']);
  expect(harness.provider.live.now).toBe(3);
});

it('A lowered max_live ends surplus idle agents.', async () => {
  const harness = await testHarness({ config: { providers: { max_live: 3 } } });
  const turns = [];
  for (const name of ['first', 'second', 'third']) {
    turns.push(await harness.startTurn(await harness.open(), name));
  }
  const [first, second, third] = turns;
  for (const turn of turns.slice(0, 2)) {
    await harness.complete(turn);
    harness.clock.advance(1000);
  }
  reload(harness, { providers: { max_live: 2 } });
  expect(await first?.agent.gone).toBe('was ended');
  expect(second?.agent.calls).toEqual(['prompt']);
  reload(harness, { providers: { max_live: 1 } });
  expect(await second?.agent.gone).toBe('was ended');
  expect(third?.agent.calls).toEqual(['prompt']);
});

it('A reload applies new limits to later turns and approvals.', async () => {
  const harness = await testHarness();
  reload(harness, { sessions: { turn_timeout_ms: 5000 }, approvals: { timeout_ms: 1000 } });
  const { session, turn, turnId: id } = await harness.atWork();
  void turn.ask();
  const approval = await harness.asked(session.id);
  expect(approval.expires_at).toBe(approval.created_at + 1000);
  harness.clock.advance(5000);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  const { kind } = await harness.until(endOf(id));
  expect(kind).toBe('turn.interrupted');
});
