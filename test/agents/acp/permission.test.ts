import { expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import type { Approval } from '../../../src/api/approvals.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Turn } from '../../../src/api/sessions.ts';
import { ofKind } from '../../support/turns.ts';
import { decide, interrupt, turnOf } from '../../support/providers/calls.ts';
import {
  endTurn,
  never,
  type RawAgent,
  type RawSession,
  type AcpBehavior,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { asking, onGo, quick, touch } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

const option = (optionId: string, kind: string) => ({ optionId, kind, name: optionId });

test.each([
  [
    'with "always" first',
    [option('p', 'allow_always'), option('o', 'allow_once'), option('c', 'reject_once')],
  ],
  [
    'with two kinds of "always"',
    [
      option('c', 'reject_once'),
      option('s', 'allow_always'),
      option('p', 'allow_always'),
      option('o', 'allow_once'),
    ],
  ],
])('A permission request %s is allowed once.', async (_name, options) => {
  const { open } = on(askThenSay(options));
  const session = await open(asking);
  expect(await answered(session, 'accept')).toMatchObject({ text: 'selected o' });
  expect(await answered(session, 'decline')).toMatchObject({ text: 'selected c' });
});

test('A request that the agent can only allow permanently cannot be accepted.', async () => {
  const { client, firstApproval } = on(
    askThenSay([option('p', 'allow_always'), option('c', 'reject_once')]),
  );
  const { session, approval } = await firstApproval('go', asking);
  expect(approval).toMatchObject({ scopes: [], session_allows: null });
  for (const scope of ['once', 'session'] as const)
    await expectError(decide(client, approval, 'accept', scope), 'invalid');
  expect(await session.decide(approval, 'decline')).toMatchObject({ text: 'selected c' });
});

test('An acceptance for the session chooses no lasting option of the agent, and ends with the session.', async () => {
  const { open, firstApproval } = on(
    askThenSay([
      option('p', 'allow_always'),
      option('o', 'allow_once'),
      option('c', 'reject_once'),
    ]),
  );
  const session = await open(asking);
  const first = await session.asks('go');
  expect((await session.decide(first.approval, 'accept', 'session')).text).toBe('selected o');
  expect((await session.run('go')).text).toBe('selected o');

  const { session: other, approval } = await firstApproval('go', asking);
  expect(approval.session_allows).toContain('this exact request');
  expect((await other.decide(approval, 'decline')).text).toBe('selected c');
});

test('An acceptance for the session covers the same command with a description that arrives at another time.', async () => {
  let earlier: object[] = [];
  const { open } = on(
    onGo(async (agent) => {
      agent.update(
        ...earlier.map((rawInput) => ({ sessionUpdate: 'tool_call', ...touch, rawInput })),
      );
      await agent.ask(touch);
      return endTurn;
    }),
  );
  const session = await open(asking);
  const { cwd } = await session.record();
  earlier = [{ command: 'touch it', description: 'makes a file', cwd }];
  const first = await session.asks('go');
  await session.decide(first.approval, 'accept', 'session');
  earlier = [];
  expect((await session.run('go')).status).toBe('completed');
  earlier = [{ command: 'touch it', env: { TZ: 'UTC' } }];
  const other = await session.asks('go');
  await session.decide(other.approval, 'decline');
});

test.each([
  ['one way to allow it always', ['allow_once', 'allow_always'], ['once', 'session']],
  [
    'several ways to allow it always',
    ['allow_once', 'allow_always', 'allow_always'],
    ['once', 'session'],
  ],
  ['no way to allow it', ['reject_once'], []],
])('An approval shows the scopes of a request with %s.', async (_name, kinds, scopes) => {
  const { firstApproval } = on(askThenSay(kinds.map((kind, at) => option(`${kind} ${at}`, kind))));
  const { session, approval } = await firstApproval('go', asking);
  expect(approval.scopes).toEqual(scopes);
  expect(approval.session_allows === null).toBe(!scopes.includes('session'));
  await session.decide(approval, 'decline');
});

test.each([
  ['no way to reject it once', [option('o', 'allow_once'), option('x', 'reject_always')]],
  ['only a way to allow it', [option('o', 'allow_once')]],
  ['no options at all', []],
])('A decline cancels a request with %s.', async (_name, options) => {
  const { open, agents } = on(askThenSay(options));
  const session = await open(asking);
  expect(await answered(session, 'decline')).toMatchObject({
    text: 'cancelled undefined',
  });
  expect(outcomes(agents[0])).toEqual([{ outcome: 'cancelled' }]);
});

test('Two permission requests of a turn are answered separately, and the turn waits for both.', async () => {
  const { client, open } = on(
    onGo(async (agent) => {
      const two = await Promise.all([
        agent.ask({ ...touch, toolCallId: 'one', title: 'the first' }),
        agent.ask({ ...touch, toolCallId: 'two', title: 'the second' }),
      ]);
      agent.say(two.map(({ optionId }) => optionId).join(' '));
      return endTurn;
    }),
  );
  const session = await open(asking);
  const turnId = await session.send('go');
  const askedFor = (title: string) =>
    session.watch
      .until(title, ({ payload }) => (payload.approval as Approval | undefined)?.title === title)
      .then(({ payload }) => payload.approval as Approval);
  const [first, second] = [
    await askedFor('the first: touch it'),
    await askedFor('the second: touch it'),
  ];
  await decide(client, second, 'decline');
  expect((await turnOf(client, session, turnId)).status).toBe('waiting_for_approval');
  expect((await session.decide(first, 'accept')).text).toBe('a1 r1');
});

test('A permission request that the agent withdraws is cancelled, and the turn continues.', async () => {
  const takeBack = Promise.withResolvers<void>();
  const { client, firstApproval } = on(
    onGo(async (agent) => {
      const params = { sessionId: 'raw', toolCall: touch, options: [] };
      const answer = agent.request('session/request_permission', params, 'taken-back');
      await takeBack.promise;
      agent.send({ method: '$/cancel_request', params: { requestId: 'taken-back' } });
      await answer;
      agent.say('went on');
      return endTurn;
    }),
  );
  const { session, turnId, approval } = await firstApproval('go', asking);
  takeBack.resolve();
  await session.watch.end(turnId);
  expect(await turnOf(client, session, turnId)).toMatchObject({
    status: 'completed',
    text: 'went on',
  });
  const resolved = session.watch.of(turnId).find(({ kind }) => kind === 'approval.resolved');
  expect(resolved?.payload.approval).toMatchObject({ id: approval.id, status: 'cancelled' });
  const late = decide(client, approval, 'accept');
  await expectError(late, 'approval_resolved');
});

test('An interrupt answers the permission request that the agent waits for.', async () => {
  const { client, firstApproval } = on(
    onGo(async (agent) => {
      const { outcome } = await agent.ask(touch);
      await agent.untilReceived('session/cancel');
      return { stopReason: outcome };
    }),
  );
  const { session, turnId } = await firstApproval('go', asking);
  expect((await interrupt(client, session, turnId)).status).toBe(202);
  expect((await session.watch.end(turnId, 5000)).kind).toBe('turn.interrupted');
});

test('A permission request is cancelled with its turn if the agent dies.', async () => {
  const { client, firstApproval, agents } = on(onGo((agent) => agent.ask(touch)));
  const { session, turnId, approval } = await firstApproval('go', asking);
  agents[0]?.exit(9);
  await session.watch.end(turnId);
  expect((await turnOf(client, session, turnId)).error).toMatchObject({
    code: 'provider_exited',
    message: 'the agent exited with code 9',
  });
  const params = { session_id: session.id };
  const [now] = await client.call(endpoints.listSessionApprovals, { params, query: {} });
  expect(now).toMatchObject({ id: approval.id, status: 'cancelled' });
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
});

test.each([asking, {}])(
  'A permission request outside a turn is refused at once (%o).',
  async (more) => {
    const { firstTurn, agents } = on({});
    const { session } = await firstTurn('hello', more);
    expect(await agents[0]?.ask(touch)).toEqual({ outcome: 'cancelled' });
    expect(ofKind(session.watch.events, 'approval.requested')).toEqual([]);
    expect(await session.run('hello again')).toMatchObject({ status: 'completed' });
  },
);

test('A permission request in the default mode fails the turn, even if the agent then does nothing.', async () => {
  const { open, client } = await testRawAgent(
    onGo((agent) => agent.ask(touch).then(() => never)),
    // The limit leaves the agent enough time to start.
    { clock: quick(20), acp: { request_timeout_ms: 120_000 } },
  );
  const session = await open();
  const turnId = await session.send('go');
  await session.watch.end(turnId, 6000);
  const turn = await turnOf(client, session, turnId);
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'permission_required' } });
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
});

/** An agent that requests a permission and repeats the answer as a message. */
function askThenSay(options: object[]): AcpBehavior {
  return onGo(async (agent) => {
    const { outcome, optionId } = await agent.ask(touch, options);
    agent.say(`${outcome} ${optionId}`);
    return endTurn;
  });
}

async function answered(session: RawSession, decision: 'accept' | 'decline'): Promise<Turn> {
  const { approval } = await session.asks('go');
  return session.decide(approval, decision);
}

function outcomes(agent: RawAgent | undefined): unknown[] {
  return (agent?.received ?? [])
    .filter(({ id }) => String(id).startsWith('ask-'))
    .map(({ result }) => (result as { outcome: object }).outcome);
}
