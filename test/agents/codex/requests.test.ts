import { expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { atLength, someOf } from '../../support/at-length.ts';
import { ofKind } from '../../support/turns.ts';
import { decide, interrupt, itemsOf } from '../../support/providers/calls.ts';
import {
  type CodexBehavior,
  type RawTurn,
  sharedRawCodex,
  testRawCodex,
} from '../../support/providers/raw-codex.ts';

const on = sharedRawCodex();

const asking = { permission_mode: 'require_approval' };
const onCommand = 'item/commandExecution/requestApproval';
const command = { itemId: 'i', command: "/bin/bash -lc 'make it'", cwd: '/w' };

/** Starts an item, sends a request, and repeats the answer as a message. */
function asks(
  method: string,
  params: object,
  item: object = { type: 'commandExecution' },
): CodexBehavior {
  return {
    turns: {
      async go(turn) {
        turn.begin({ ...item, id: 'i', status: 'inProgress' });
        const { result } = await turn.ask(method, params);
        turn.say(JSON.stringify(result));
        turn.complete();
      },
    },
  };
}

const change = { path: '/a', kind: { type: 'add' }, diff: '+x' };
const patch = { type: 'fileChange', changes: [change] };
const toolCall = {
  serverName: 's',
  mode: 'form',
  message: 'Allow it?',
  _meta: { codex_approval_kind: 'mcp_tool_call', tool_name: 't', tool_params: { a: 1 } },
  requestedSchema: { type: 'object', properties: {} },
};
const requested = { fileSystem: { write: ['/x'] }, network: null };

interface Row {
  method: string;
  params: object;
  item?: object;
  shown: object;
  accept: object;
  /** The answer if the request is accepted for the session. Undefined if codex does not offer that. */
  session?: object;
  decline: object;
}

const rows: Row[] = [
  {
    method: onCommand,
    params: command,
    shown: { kind: 'command', title: command.command, request: command },
    accept: { decision: 'accept' },
    session: { decision: 'acceptForSession' },
    decline: { decision: 'decline' },
  },
  {
    method: 'item/fileChange/requestApproval',
    params: { itemId: 'i', reason: null },
    item: patch,
    shown: { kind: 'file_change', title: 'edit /a', request: { changes: [change] } },
    accept: { decision: 'accept' },
    session: { decision: 'acceptForSession' },
    decline: { decision: 'decline' },
  },
  {
    method: 'item/permissions/requestApproval',
    params: { itemId: 'i', reason: 'to build', permissions: requested },
    shown: {
      kind: 'tool',
      title: 'more permissions: to build: {"fileSystem":{"write":["/x"]}}',
      request: { permissions: requested },
    },
    accept: { permissions: { fileSystem: { write: ['/x'] } }, scope: 'turn' },
    session: { permissions: { fileSystem: { write: ['/x'] } }, scope: 'session' },
    decline: { permissions: {}, scope: 'turn' },
  },
  {
    method: 'mcpServer/elicitation/request',
    params: toolCall,
    shown: { kind: 'tool', title: 's.t: {"a":1}' },
    accept: { action: 'accept', content: null, _meta: null },
    decline: { action: 'decline', content: null, _meta: null },
  },
  {
    method: 'mcpServer/elicitation/request',
    params: { ...toolCall, _meta: { ...toolCall._meta, persist: ['session', 'always'] } },
    shown: { kind: 'tool', title: 's.t: {"a":1}', session_allows: 'every call of s.t' },
    accept: { action: 'accept', content: null, _meta: null },
    session: { action: 'accept', content: null, _meta: { persist: 'session' } },
    decline: { action: 'decline', content: null, _meta: null },
  },
  {
    method: onCommand,
    params: { ...command, availableDecisions: ['accept', 'cancel'] },
    shown: { scopes: ['once'], session_allows: null },
    accept: { decision: 'accept' },
    decline: { decision: 'decline' },
  },
  {
    method: 'mcpServer/elicitation/request',
    params: { serverName: 's', mode: 'url', message: 'Go there', url: 'http://x', _meta: null },
    shown: { kind: 'tool', title: 'Go there http://x' },
    accept: { action: 'accept', content: null, _meta: null },
    decline: { action: 'decline', content: null, _meta: null },
  },
  {
    method: 'execCommandApproval',
    params: { callId: 'i', command: ['make', 'it'], cwd: '/w' },
    shown: { kind: 'command', title: 'make it' },
    accept: { decision: 'approved' },
    session: { decision: 'approved_for_session' },
    decline: { decision: { denied: { rejection: 'no' } } },
  },
  {
    method: 'applyPatchApproval',
    params: { callId: 'i', fileChanges: { '/a': { add: { content: 'x' } } } },
    shown: { kind: 'file_change', title: 'edit /a' },
    accept: { decision: 'approved' },
    session: { decision: 'approved_for_session' },
    decline: { decision: { denied: { rejection: 'no' } } },
  },
];

for (const [nth, decision] of (['accept', 'decline'] as const).entries()) {
  // The suite accepts every other row and declines the rows between them.
  const decided = rows.filter((_, at) => (at + nth) % atLength(2, 1, 1) === 0);
  test.for(decided)(
    `Codex receives the answer to $method after ${decision}.`,
    async ({ method, params, item, shown, ...answers }) => {
      const { firstApproval, client } = await testRawCodex(asks(method, params, item));
      const { session, turnId, approval } = await firstApproval('go', asking);
      expect(approval).toMatchObject(shown);
      const ids = { session_id: session.id, approval_id: approval.id };
      const body = { decision, reason: 'no' };
      await client.call(endpoints.decideApproval, { params: ids, body });
      await session.watch.end(turnId);
      const { text } = await session.turn(turnId);
      expect(JSON.parse(text ?? '')).toEqual(answers[decision]);
    },
  );
}

const ofSession = rows.filter(({ session }) => session);
test.for(someOf(ofSession, 2))(
  'Codex receives the answer of an acceptance of $method for the session.',
  async (row) => {
    const { firstApproval } = on(asks(row.method, row.params, row.item));
    const { session, turnId, approval } = await firstApproval('go', asking);
    expect(approval).toMatchObject({ scopes: ['once', 'session'] });
    expect(approval.session_allows).toEqual(expect.any(String));
    await session.decide(approval, 'accept', 'session');
    expect(JSON.parse((await session.turn(turnId)).text ?? '')).toEqual(row.session);
  },
);

const questions = [
  { id: 'q1', header: 'Pick', question: 'Which one?', options: [] },
  { id: 'q2', header: 'How', question: 'And how?', options: [] },
  { id: 'q3', header: 'When', question: 'When?', options: [] },
];

test('Questions can be answered by id, text or header.', async () => {
  const harness = on(asks('item/tool/requestUserInput', { itemId: 'i', questions }));
  const { session, turnId, approval } = await harness.firstApproval('go', asking);
  expect(approval).toMatchObject({ kind: 'question', title: 'Which one? And how? When?' });
  const params = { session_id: session.id, approval_id: approval.id };
  const answers = { q1: ['B'], 'And how?': ['fast', 'well'], When: ['now'] };
  const body = { decision: 'accept' as const, answers };
  await harness.client.call(endpoints.decideApproval, { params, body });
  await session.watch.end(turnId);
  expect(JSON.parse((await session.turn(turnId)).text ?? '')).toEqual({
    answers: {
      q1: { answers: ['B'] },
      q2: { answers: ['fast', 'well'] },
      q3: { answers: ['now'] },
    },
  });
});

test('An elicitation of an MCP server can be answered by the names, texts and headings of its fields.', async () => {
  const properties = {
    name: { type: 'string' },
    age: { type: 'integer', description: 'How old?' },
    sure: { type: 'boolean' },
    tags: { type: 'array', title: 'Tags' },
    more: { type: 'string' },
  };
  const form = {
    serverName: 's',
    message: 'Who?',
    requestedSchema: { type: 'object', properties },
  };
  const { firstApproval, client } = on(asks('mcpServer/elicitation/request', form));
  const { session, turnId, approval } = await firstApproval('go', asking);
  expect(approval).toMatchObject({ kind: 'question', title: 'Who?' });
  const params = { session_id: session.id, approval_id: approval.id };
  const answers = { name: ['Ann'], 'How old?': ['40'], sure: ['yes'], Tags: ['a', 'b'] };
  await client.call(endpoints.decideApproval, { params, body: { decision: 'accept', answers } });
  await session.watch.end(turnId);
  expect(JSON.parse((await session.turn(turnId)).text ?? '')).toMatchObject({
    content: { name: 'Ann', age: 40, sure: true, tags: ['a', 'b'] },
  });
});

test.for(someOf([null, 'default', 'read_only', 'workspace_write', 'untrusted'], 2))(
  'A request in permission_mode %s is declined with the reason, and nobody is asked.',
  async (permission_mode) => {
    const { firstTurn, client } = on({
      turns: {
        async go(turn) {
          const item = { type: 'commandExecution', id: 'i', command: 'it' };
          turn.begin({ ...item, status: 'inProgress' });
          const { result } = await turn.ask(onCommand, command);
          turn.done({ ...item, status: 'declined', aggregatedOutput: null });
          const answer = await turn.ask('item/tool/requestUserInput', { questions });
          turn.say(JSON.stringify([result, answer.result]));
          turn.complete();
        },
      },
    });
    const { session, turn } = await firstTurn('go', permission_mode ? { permission_mode } : {});
    const [decided, { answers }] = JSON.parse(turn.text ?? '') as [
      object,
      { answers: Record<string, { answers: string[] }> },
    ];
    expect(decided).toEqual({ decision: 'decline' });
    expect(answers.q1?.answers[0]).toContain('decide yourself');
    const [item] = await itemsOf(client, turn);
    expect(item?.status).toBe('failed');
    expect(turn.declined_unasked).toBe(2);
    expect(item?.text).toContain(`"${permission_mode ?? 'default'}"`);
    expect(item?.text).toContain('require_approval');
    expect(ofKind(session.watch.events, 'approval.requested')).toEqual([]);
  },
);

/** Sends a request and does not wait for the answer. */
function waits(turn: RawTurn): void {
  turn.begin({ type: 'commandExecution', id: 'i', status: 'inProgress' });
  void turn.ask(onCommand, command, 'q').catch(() => undefined);
}

test('A request that codex withdraws cancels its approval and is not answered.', async () => {
  const { firstApproval, agents, client } = on({ turns: { go: waits } });
  const { session, turnId, approval } = await firstApproval('go', asking);
  const turn = agents[0]?.turns[0];
  turn?.note('serverRequest/resolved', { requestId: 'q' });
  const { payload } = await session.watch.kind('approval.resolved', turnId);
  expect(payload.approval).toMatchObject({ status: 'cancelled' });
  await expectError(decide(client, approval, 'accept'), 'approval_resolved');
  turn?.complete();
  await session.watch.end(turnId);
  expect(agents[0]?.answerTo('q')).toBeUndefined();
});

test('An interrupt during a request ends the turn and cancels the approval.', async () => {
  const { firstApproval, client } = on({ turns: { go: waits } });
  const { session, turnId } = await firstApproval('go', asking);
  await interrupt(client, session, turnId);
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  const { payload } = await session.watch.kind('approval.resolved', turnId);
  expect(payload.approval).toMatchObject({ status: 'cancelled' });
  expect((await session.run('next')).text).toBe('next');
});

test('A request of a subagent opens an approval of the session of the parent.', async () => {
  const { firstApproval } = on({
    turns: {
      async go(turn) {
        const child = { id: 'child', parentThreadId: turn.thread };
        turn.server.note('thread/started', { thread: child });
        turn.server.note('item/agentMessage/delta', {
          threadId: 'child',
          turnId: 't',
          itemId: 'm',
          delta: 'between us',
        });
        const of = { ...command, threadId: 'child', turnId: 't' };
        const { result } = await turn.server.ask(onCommand, of);
        turn.say(JSON.stringify(result));
        turn.complete();
      },
    },
  });
  const { session, approval } = await firstApproval('go', asking);
  expect((await session.decide(approval, 'accept')).text).toBe('{"decision":"accept"}');
});

test('A request for the time is answered, and an unknown request is refused and counted.', async () => {
  const { open, diagnostics } = await testRawCodex({
    turns: {
      async go(turn) {
        const { result } = await turn.ask('currentTime/read', {});
        const unknown = await turn.ask('item/tool/call', { tool: 'x' });
        const ofNobody = await turn.server.ask(onCommand, { ...command, threadId: 'nobody' });
        turn.say(JSON.stringify({ result, errors: [unknown.error, ofNobody.error] }));
        turn.complete();
      },
    },
  });
  const { text } = await (await open(asking)).run('go');
  expect(JSON.parse(text ?? '')).toEqual({
    result: { currentTimeAt: expect.any(Number) as number },
    errors: [
      { code: -32_601, message: 'cadre does not support the request item/tool/call' },
      { code: -32_601, message: `no session can answer ${onCommand}` },
    ],
  });
  expect((await diagnostics()).unknown_messages).toBe(2);
});

test('A request whose method is a name that every object has is refused as unknown.', async () => {
  const { open } = on({
    turns: {
      async go(turn) {
        const { error } = await turn.ask('constructor', { itemId: 'i' });
        turn.say(JSON.stringify(error));
        turn.complete();
      },
    },
  });
  const { text } = await (await open(asking)).run('go');
  const message = 'cadre does not support the request constructor';
  expect(JSON.parse(text ?? '')).toEqual({ code: -32_601, message });
});

test('A request that is too large is declined without an approval.', async () => {
  const { firstTurn } = on(asks(onCommand, { ...command, command: 'x'.repeat(9e6) }));
  const { session, turn } = await firstTurn('go', asking);
  expect(JSON.parse(turn.text ?? '')).toEqual({ decision: 'decline' });
  expect(ofKind(session.watch.of(turn.turn_id), 'approval.requested')).toEqual([]);
});
