import { expect, test } from 'vitest';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { someOf } from '../../support/at-length.ts';
import { scaled } from '../../support/patience.ts';
import { noticingClock } from '../../support/providers/noticing-clock.ts';
import { interrupt, turnOf, until } from '../../support/providers/calls.ts';
import {
  endTurn,
  never,
  Refusal,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { onGo } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

const refusals: [number, string, unknown, RegExp][] = [
  [-32_603, 'Internal error', { details: 'no credit left' }, /Internal error.*no credit left/],
  [400, 'Bad Request', { details: 'model "x" not found' }, /Bad Request.*model "x" not found/],
  [-32_002, 'Resource not found', { details: 'gone' }, /Resource not found.*gone/],
  [-32_000, 'Authentication required', undefined, /Authentication required/],
  [-32_603, 'Internal error', { errorName: 'APIError' }, /Internal error/],
  [500, '', { details: 'only here' }, /only here/],
  [-32_603, '', { limit: 5 }, /failed: \{"limit":5\}/],
  [-32_603, 'Internal error', 'no credit', /Internal error: no credit/],
  [-32_603, 'Internal error', { message: 'no credit' }, /Internal error: no credit/],
  [-32_603, '', null, /failed: no reason given/],
  [-32_603, 'Internal error', { error: { message: 'no credit' } }, /Internal error: no credit/],
  [-32_603, 'no credit left', { reason: 'no credit' }, /failed: no credit left$/],
];
test.each(someOf(refusals, 3))(
  'A turn that is answered with error %i "%s" %j fails with the whole message.',
  async (code, message, data, says) => {
    const { firstTurn } = on(
      onGo((agent) => {
        agent.say('before');
        throw new Refusal(code, message, data);
      }),
    );
    const { session, turn } = await firstTurn('go');
    expect(turn).toMatchObject({
      status: 'failed',
      text: 'before',
      error: { code: code === -32_000 ? 'auth_required' : 'provider_error' },
    });
    expect(turn.error?.message).toMatch(says);
    expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
  },
);

test('A turn with an error only in its text completes.', async () => {
  const { open } = on(
    onGo((agent) => {
      agent.say('API Error: 400 model not found');
      return endTurn;
    }),
  );
  const turn = await (await open()).run('go');
  expect(turn).toMatchObject({ status: 'completed', text: 'API Error: 400 model not found' });
});

const answers: [unknown, string, string | undefined][] = [
  [{ stopReason: 'refusal' }, 'failed', 'refused'],
  [null, 'failed', 'provider_error'],
  [{ stopReason: 'max_tokens' }, 'failed', 'limit_reached'],
  [{ stopReason: 'max_turn_requests' }, 'failed', 'limit_reached'],
  [{ stopReason: 'cancelled' }, 'interrupted', undefined],
  ['end_turn', 'failed', 'provider_error'],
  [{ stopReason: 'took_a_walk' }, 'completed', undefined],
  [{ stopReason: 7 }, 'failed', 'provider_error'],
  [{}, 'failed', 'provider_error'],
];
test.each(someOf(answers, 2))(
  'A turn that is answered with %j is %s.',
  async (answer, status, code) => {
    const { firstTurn } = on(onGo(() => answer));
    const { session, turn } = await firstTurn('go');
    expect([turn.status, turn.error?.code]).toEqual([status, code]);
    expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
  },
);

test('A turn fails if its agent exits without output, and the next turn resumes the session.', async () => {
  const { firstTurn, agents } = on(
    onGo((agent) => {
      agent.exit(0);
      return never;
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_exited' } });
  expect(turn.error?.message).toContain('exited with code 0');
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
  const sessionId = agents[0]?.last('session/prompt')?.params?.sessionId;
  expect(agents[1]?.last('session/resume')?.params).toMatchObject({ sessionId });
});

test('A turn after an idle agent closed its output starts another agent, which resumes.', async () => {
  const { firstTurn, agents } = on({});
  const { session } = await firstTurn('hello');
  agents[0]?.hangUp();
  await until('the agent is gone', () => agents[0]?.gone === true, 4000);
  expect(await session.run('again')).toMatchObject({ status: 'completed', text: 'again' });
});

test('A turn starts another agent while the previous one, which closed its output, still stops.', async () => {
  const { clock, noticed } = noticingClock();
  const { firstTurn, agents } = await testRawAgent({}, { clock });
  const { session } = await firstTurn('hello');
  agents[0]?.outlive();
  await agents[0]?.child();
  agents[0]?.hangUp();
  await noticed;
  expect(await session.run('again')).toMatchObject({ status: 'completed', text: 'again' });
  expect(agents[0]?.last('session/prompt')?.params?.prompt).toMatchObject([{ text: 'hello' }]);
  expect(agents[0]?.gone).toBe(true);
});

test('A turn may take longer than the request timeout of the agent.', async () => {
  const limit = scaled(1500);
  const { open } = await testRawAgent(
    onGo(() => systemClock.sleep(2 * limit).then(() => endTurn)),
    { acp: { request_timeout_ms: limit } },
  );
  return expect((await (await open()).run('go')).status).toBe('completed');
});

test('An interrupted turn ends as interrupted, even if the agent answers with an error.', async () => {
  const { client, open } = on(
    onGo(async (agent) => {
      agent.say('one');
      await agent.untilReceived('session/cancel');
      agent.say('two');
      throw new Refusal(-32_603, 'aborted');
    }),
  );
  const session = await open();
  const turnId = await session.send('go');
  await session.watch.kind('message.delta', turnId);
  await interrupt(client, session, turnId);
  await session.watch.end(turnId);
  expect(await turnOf(client, session, turnId)).toMatchObject({
    status: 'interrupted',
    text: 'onetwo',
    error: null,
  });
});
