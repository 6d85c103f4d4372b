import { expect, test } from 'vitest';
import type { Usage } from '../../../src/api/sessions.ts';
import { UsageMeter } from '../../../src/agents/acp/usage.ts';
import { turnOf } from '../../support/providers/calls.ts';
import { endTurn, never, sharedRawAgent, testRawAgent } from '../../support/providers/raw-agent.ts';
import { endAgent, onGo } from '../../support/providers/rows.ts';
import { ofKind } from '../../support/turns.ts';

const on = sharedRawAgent();

const tokens = (input: number, output: number) => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + output,
});
const chunk = (used: object) => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text: '' },
  _meta: { usage: used, durationMs: 3 },
});

const nothing = {
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  total_tokens: null,
};

const usageIn = ({ usage }: Record<string, unknown>) => (usage ?? {}) as Partial<Usage>;

test.each([
  ['the answer to the prompt', { usage: tokens(10, 2) }],
  [
    '_meta.quota, as gemini sends it',
    { _meta: { quota: { token_count: { input_tokens: 10, output_tokens: 2 } } } },
  ],
  ['_meta.usage', { _meta: { usage: tokens(10, 2) } }],
])('The usage is read from %s.', async (_where, more) => {
  const { firstTurn } = on(onGo(() => ({ ...endTurn, ...more })));
  const { session, turn } = await firstTurn('go');
  const used = { input_tokens: 10, output_tokens: 2, total_tokens: 12 };
  expect(turn.usage).toMatchObject(used);
  expect((await session.record()).usage).toMatchObject(used);
});

test('The usage is the sum over all requests if the agent reports each one, as qwen does.', async () => {
  const { open } = on(
    onGo((agent) => {
      agent.update(chunk(tokens(10, 1)), chunk(tokens(20, 2)));
      return endTurn;
    }),
  );
  const session = await open();
  const usage = { input_tokens: 30, output_tokens: 3, total_tokens: 33, context_tokens: 20 };
  expect((await session.run('go')).usage).toMatchObject(usage);
  expect((await session.run('go')).usage).toMatchObject(usage);
  expect((await session.record()).usage).toMatchObject({
    input_tokens: 60,
    output_tokens: 6,
  });
});

test('Usage that arrives after the answer belongs to that turn, whose end does not wait for it.', async () => {
  const { client, firstTurn, agents } = on(
    onGo((agent) => {
      const { id } = agent.last('session/prompt') ?? {};
      agent.send({ id, result: { ...endTurn, usage: tokens(10, 2) } });
      return never;
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn.status).toBe('completed');
  const late = {
    sessionUpdate: 'usage_update',
    used: 50,
    size: 100,
    cost: { amount: 2, currency: 'USD' },
  };
  agents[0]?.update(late);
  const updated = await session.watch.until(
    'late usage',
    ({ kind, payload }) => kind === 'usage.updated' && usageIn(payload).context_tokens === 50,
  );
  const whole = {
    input_tokens: 10,
    output_tokens: 2,
    context_tokens: 50,
    context_window: 100,
    cost_usd: 2,
  };
  expect(updated.payload.usage).toMatchObject(whole);
  expect((await turnOf(client, session, turn.turn_id)).usage).toMatchObject(whole);
  expect((await session.record()).usage).toMatchObject(whole);
  const second = await session.run('go');
  agents[0]?.update({ ...late, cost: { amount: 3, currency: 'USD' } });
  await session.watch.until(
    'late cost of the second turn',
    (event) => event.turn_id === second.turn_id && usageIn(event.payload).cost_usd === 1,
  );
  expect((await turnOf(client, session, second.turn_id)).usage?.cost_usd).toBe(1);
  expect((await session.record()).usage).toMatchObject({ input_tokens: 20, cost_usd: 3 });
});

test('Usage right after the answer is counted once, in that turn.', async () => {
  const { client, firstTurn } = on(
    onGo((agent) => {
      const { id } = agent.last('session/prompt') ?? {};
      const late = agent.updating({ sessionUpdate: 'usage_update', used: 7, size: 9 });
      agent.send({ id, result: endTurn }, late);
      return never;
    }),
  );
  const { session, turn } = await firstTurn('go');
  await session.watch.kind('usage.updated', turn.turn_id);
  expect((await turnOf(client, session, turn.turn_id)).usage).toMatchObject({ context_tokens: 7 });
  expect(ofKind(session.watch.events, 'usage.updated')).toHaveLength(1);
});

test('The usage is the difference if the agent counts the whole session, as vibe does.', async () => {
  let input = 0;
  const { open } = await testRawAgent(
    onGo(() => ({ ...endTurn, usage: tokens((input += 10), input / 5) })),
    { agents: ['vibe'] },
  );
  const session = await open({ agent: 'vibe' });
  expect((await session.run('go')).usage).toMatchObject({ input_tokens: 10 });
  expect((await session.run('go')).usage).toMatchObject({
    input_tokens: 10,
    output_tokens: 2,
  });
  expect((await session.record()).usage).toMatchObject({
    input_tokens: 20,
    output_tokens: 4,
  });
});

test('The whole cost of a restarted agent is added if the agent is known to start from zero.', () => {
  const before = { ...nothing, cost_usd: 2 };
  const meter = (isCostOfProcess: boolean) =>
    new UsageMeter({
      isCumulative: () => false,
      isCostOfProcess: () => isCostOfProcess,
      before,
    });
  const anew = meter(true);
  expect([5, 6].map((cost_usd) => anew.ofSession({ cost_usd }).cost_usd)).toEqual([7, 8]);
  const other = meter(false);
  expect([5, 6].map((cost_usd) => other.ofSession({ cost_usd }).cost_usd)).toEqual([5, 6]);
});

test('The cost of a session never falls if a restarted agent counts from zero.', async () => {
  let cost = 0;
  const behavior = onGo((agent) => {
    const amount = (cost += 2);
    agent.update({ sessionUpdate: 'usage_update', cost: { amount, currency: 'USD' } });
    return endTurn;
  });
  const { open, agents } = on(behavior);
  const session = await open();
  expect((await session.run('go')).usage?.cost_usd).toBe(2);
  expect((await session.run('go')).usage?.cost_usd).toBe(2);
  await endAgent(agents[0]);
  cost = 0;
  expect((await session.run('go')).usage?.cost_usd).toBe(2);
  cost = 3;
  expect((await session.run('go')).usage?.cost_usd).toBe(3);
  // A new conversation starts with a cost of its own.
  cost = 1;
  expect((await session.run('go')).usage?.cost_usd).toBe(3);
  expect((await session.record()).usage?.cost_usd).toBe(12);
});

test('The usage is the new count if the agent has started to count from zero.', () => {
  const before = {
    input_tokens: 100,
    output_tokens: 10,
    cached_input_tokens: null,
    total_tokens: 110,
  };
  const meter = () =>
    new UsageMeter({ isCumulative: () => true, isCostOfProcess: () => false, before });
  expect(meter().turn({ usage: tokens(130, 12) })).toMatchObject({
    input_tokens: 30,
    output_tokens: 2,
    total_tokens: 32,
  });
  expect(meter().turn({ usage: tokens(30, 2) })).toMatchObject({ input_tokens: 30 });
});
