import { expect, test } from 'vitest';
import { readMessage } from '../../../src/agents/acp/connection.ts';
import {
  endTurn,
  never,
  type RawAgent,
  Refusal,
  type AcpBehavior,
  sharedRawAgent,
  usualOptions,
} from '../../support/providers/raw-agent.ts';
import { asking, endAgent, onGo } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

test('An approval shows parts and fields that are not in the protocol.', async () => {
  const { firstApproval } = on(
    asksFor({
      toolCall: {
        toolCallId: 'c',
        title: 'do it',
        kind: 'teleport',
        content: [{ type: 'script', body: 'rm -rf /a' }],
        command: 'rm -rf /b',
      },
      reason: 'because',
    }),
  );
  const { session, approval } = await firstApproval('go', asking);
  expect(JSON.stringify(approval.details)).toContain('rm -rf /a');
  expect(approval.details).toContainEqual(field('command', 'rm -rf /b'));
  expect(approval.details).toContainEqual(field('reason', 'because'));
  expect(await session.decide(approval, 'accept')).toMatchObject({ text: 'selected a1' });
});

test('An option of an unknown kind is never chosen.', async () => {
  const { firstApproval } = on(
    asksFor({
      toolCall: { toolCallId: 'c', title: 'do it' },
      options: [{ optionId: 'w', kind: 'allow_workspace', name: 'All' }, 7, ...usualOptions],
    }),
  );
  const { session, approval } = await firstApproval('go', asking);
  // Without arguments, no later request is known to be the same.
  expect(approval.scopes).toEqual(['once']);
  expect(await session.decide(approval, 'accept')).toMatchObject({ text: 'selected a1' });
});

test.each([
  ['without a tool call', { title: 'May I?', description: 'rm -rf build' }],
  ['whose tool call has no id', { toolCall: { title: 'May I?' }, description: 'rm -rf build' }],
])('A permission request %s opens an approval with its own text.', async (_name, request) => {
  const { firstApproval } = on(asksFor(request));
  const { session, approval } = await firstApproval('go', asking);
  expect(approval.title).toBe('May I?');
  expect(approval.subject).toBeNull();
  expect(approval.details).toContainEqual(field('description', 'rm -rf build'));
  expect(await session.decide(approval, 'decline')).toMatchObject({ text: 'selected r1' });
});

test('An approval names the chosen option if the agent has several options to accept once.', async () => {
  const { firstApproval } = on(
    asksFor({
      toolCall: { toolCallId: 'c', title: 'do it', rawInput: { command: 'ls' } },
      options: [
        { optionId: 'x', kind: 'allow_once', name: 'Run without the sandbox' },
        { optionId: 'y', kind: 'allow_once', name: 'Run in the sandbox' },
      ],
    }),
  );
  const { session, approval } = await firstApproval('go', asking);
  expect(approval.details).toContainEqual(
    field('option chosen on accept', 'Run without the sandbox'),
  );
  expect(await session.decide(approval, 'accept')).toMatchObject({ text: 'selected x' });
});

test.each([
  ['whose id is a text', (id: unknown) => ({ id: String(id), result: endTurn })],
  [
    'with a result and an error that is null',
    (id: unknown) => ({ id, result: endTurn, error: null }),
  ],
])('An answer %s ends the turn.', async (_name, answer) => {
  const { open } = on(
    onGo((agent) => {
      agent.send(answer(agent.last('session/prompt')?.id));
      return never;
    }),
  );
  const session = await open();
  expect(await session.run('go')).toMatchObject({ status: 'completed' });
  expect(await session.run('hello')).toMatchObject({ text: 'hello' });
});

test.each([
  ['whose code is a text', { code: 'E_LIMIT', message: 'no credit left' }],
  ['that is only a text', 'no credit left'],
])(
  'An answer with an error %s fails the turn with the text of the error.',
  async (_name, error) => {
    const { firstTurn } = on(
      onGo((agent) => {
        agent.send({ id: agent.last('session/prompt')?.id, error });
        return never;
      }),
    );
    const { turn } = await firstTurn('go');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
    expect(turn.error?.message).toContain('no credit left');
  },
);

test('An answer with a result that is null beside an error is the error.', async () => {
  const { firstTurn } = on(
    onGo((agent) => {
      const error = { code: -32_603, message: 'no credit left' };
      agent.send({ id: agent.last('session/prompt')?.id, result: null, error });
      return never;
    }),
  );
  const { turn } = await firstTurn('go');
  expect(turn.error).toEqual({
    code: 'provider_error',
    message: 'the agent failed: no credit left',
  });
});

test.each([
  ['progress dots', '.... '],
  ['a terminal title', '\u001b]0;working\u0007\u001b[2K\r'],
  ['a byte order mark', '\ufeff'],
])('An answer after %s in the same line is read.', async (_name, marks) => {
  const { open } = on(
    onGo((agent) => {
      agent.write(marks);
      return endTurn;
    }),
  );
  expect(await (await open()).run('go')).toMatchObject({ status: 'completed' });
});

test('A message after words in the same line is ignored, because the line may be a log of messages.', () => {
  const line = 'received {"jsonrpc":"2.0","id":1,"result":{}}';
  expect(readMessage(undefined, line)).toBeNull();
});

const losing = (page: (cursor: number) => object): AcpBehavior => ({
  methods: {
    initialize: () => ({
      protocolVersion: 1,
      agentCapabilities: { loadSession: true, sessionCapabilities: { list: {} } },
    }),
    'session/load': () => {
      throw new Refusal(-32_603, 'out of memory');
    },
    'session/list': ({ cursor }) => page(Number(cursor ?? 0)),
  },
});

test.each([
  ['repeats its pages is read once', (at: number) => (at + 1) % 2, 'failed'],
  ['never ends does not show that a session is lost', (at: number) => at + 1, 'ready'],
])('A session list that %s.', async (_name, next, status) => {
  const { agents, firstTurn } = on(
    losing((at) => ({ sessions: [{ sessionId: 'x' }], nextCursor: `${next(at)}` })),
  );
  const { session } = await firstTurn('hello');
  await endAgent(agents[0]);
  await session.run('again');
  expect(await session.record()).toMatchObject({ status });
});

function field(name: string, value: unknown): object {
  return { type: 'input', name, value };
}

/** Sends a permission request of any shape and repeats the chosen option as a message. */
function asksFor(request: object): AcpBehavior {
  return onGo(async (agent: RawAgent) => {
    const sessionId = agent.last('session/prompt')?.params?.sessionId;
    const params = { sessionId, options: usualOptions, ...request };
    const { result, error } = await agent.request('session/request_permission', params);
    const { optionId } = (result as { outcome?: { optionId?: string } } | undefined)?.outcome ?? {};
    agent.say(error ? error.message : `selected ${optionId}`);
    return endTurn;
  });
}
