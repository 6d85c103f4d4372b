import { expect, test } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { ofKind } from '../../support/turns.ts';
import { itemsOf, interrupt, until } from '../../support/providers/calls.ts';
import { png } from '../../support/providers/png.ts';
import {
  type CodexBehavior,
  RawTurn,
  Refusal,
  sharedRawCodex,
  testRawCodex,
} from '../../support/providers/raw-codex.ts';

const on = sharedRawCodex();

function goes(go: (turn: RawTurn) => unknown): CodexBehavior {
  return { turns: { go } };
}

const command = { type: 'commandExecution', id: 'c1', command: "/bin/bash -lc 'ls'", cwd: '/w' };
const running = { ...command, status: 'inProgress', aggregatedOutput: null };

test('Messages, reasoning and tool calls become items in their order.', async () => {
  const { firstTurn, client } = on(
    goes((turn) => {
      turn.begin({ type: 'userMessage', id: 'u', content: [] });
      turn.note('item/reasoning/summaryTextDelta', { itemId: 'r', summaryIndex: 0, delta: 'hm' });
      turn.note('item/reasoning/summaryTextDelta', { itemId: 'r', summaryIndex: 1, delta: 'so' });
      turn.done({ type: 'reasoning', id: 'r', summary: ['hm', 'so'], content: [] });
      turn.done({ type: 'reasoning', id: 'r2', summary: ['at once'], content: [] });
      turn.note('item/agentMessage/delta', { itemId: 'm', delta: 'Hello ' });
      turn.note('item/agentMessage/delta', { itemId: 'm', delta: 'there' });
      turn.done({ type: 'agentMessage', id: 'm', text: 'Hello there' });
      turn.begin(running);
      turn.note('item/commandExecution/outputDelta', { itemId: 'c1', delta: '2\n' });
      turn.done({ ...command, status: 'completed', aggregatedOutput: '1\n2\n', exitCode: 0 });
      turn.done({ type: 'agentMessage', id: 'm2', text: 'whole' });
      turn.complete();
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn).toMatchObject({ status: 'completed', text: 'whole', error: null });
  const items = await itemsOf(client, turn);
  expect(items.map(({ kind, text }) => [kind, text])).toEqual([
    ['reasoning', 'hm'],
    ['reasoning', 'so'],
    ['reasoning', 'at once'],
    ['message', 'Hello there'],
    ['tool', '1\n2\n'],
    ['message', 'whole'],
  ]);
  expect(items[4]?.tool).toMatchObject({
    title: command.command,
    kind: 'execute',
    input: { command: command.command, cwd: '/w' },
  });
  const [grown] = ofKind(session.watch.of(turn.turn_id), 'tool.updated');
  expect(grown?.payload).toMatchObject({ text: '2\n', status: 'running' });
});

test.for([
  [
    { type: 'fileChange', changes: [{ path: '/a', kind: { type: 'add' }, diff: '+x' }] },
    {
      title: 'edit /a',
      kind: 'edit',
      input: { changes: [{ path: '/a', kind: { type: 'add' }, diff: '+x' }] },
    },
    '',
  ],
  [
    {
      type: 'mcpToolCall',
      server: 's',
      tool: 't',
      arguments: { a: 1 },
      result: { content: [{ type: 'text', text: 'out' }, { type: 'image' }] },
    },
    { title: 's.t', kind: 'other', input: { a: 1 } },
    'out\n[image]',
  ],
  [
    { type: 'webSearch', query: 'plovers', action: { type: 'search' } },
    { title: 'search plovers', kind: 'fetch' },
    '',
  ],
  [{ type: 'imageView', path: '/p.png' }, { title: 'view /p.png', kind: 'read' }, ''],
  [
    { type: 'collabAgentToolCall', tool: 'spawnAgent', prompt: 'go' },
    { title: 'spawnAgent', kind: 'think', input: { prompt: 'go' } },
    '',
  ],
  [
    { type: 'dynamicToolCall', tool: 'd', arguments: {}, contentItems: null },
    { title: 'd', kind: 'other' },
    '',
  ],
  [{ type: 'contextCompaction' }, { title: 'contextCompaction', kind: 'other' }, ''],
] as const)(
  'An item of kind %j is a tool with a readable title.',
  async ([item, shown, output]) => {
    const { open, client, diagnostics } = on(
      goes((turn) => {
        turn.begin({ ...item, id: 'i', status: 'inProgress' });
        turn.done({ ...item, id: 'i', status: 'completed' });
        turn.complete();
      }),
    );
    const session = await open();
    const before = await diagnostics();
    const [found] = await itemsOf(client, await session.run('go'));
    expect(found).toMatchObject({ status: 'completed', tool: shown, text: output });
    expect((await diagnostics()).unknown_messages).toBe(before.unknown_messages);
  },
);

test('A failed tool has its error, and an unfinished tool ends with its turn.', async () => {
  const { open, client } = on(
    goes((turn) => {
      const call = { type: 'mcpToolCall', id: 'f', server: 's', tool: 't', arguments: {} };
      turn.done({ ...call, status: 'failed', error: { message: 'it broke' } });
      turn.begin(running);
      turn.complete('interrupted');
    }),
  );
  const turn = await (await open()).run('go');
  expect(turn.status).toBe('interrupted');
  const items = await itemsOf(client, turn);
  expect(items.map(({ status, text }) => [status, text])).toEqual([
    ['failed', 'it broke'],
    ['interrupted', ''],
  ]);
});

test('Items and plans with names that every object has are recorded by these names.', async () => {
  const { firstTurn } = on(
    goes((turn) => {
      turn.note('turn/plan/updated', { plan: [{ step: 'one', status: 'constructor' }] });
      turn.done({ type: 'toString', id: 'i' });
      turn.complete();
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn.status).toBe('completed');
  const events = session.watch.of(turn.turn_id);
  expect(ofKind(events, 'plan.updated')[0]?.payload.entries).toMatchObject([
    { content: 'one', status: 'constructor' },
  ]);
  expect(ofKind(events, 'tool.started')[0]?.payload).toMatchObject({
    tool: { title: 'toString', kind: 'other' },
  });
});

test('A plan is recorded when codex changes it.', async () => {
  const { firstTurn } = on(
    goes((turn) => {
      const plan = [
        { step: 'one', status: 'inProgress' },
        { step: 'two', status: 'pending' },
      ];
      turn.note('turn/plan/updated', { explanation: null, plan });
      turn.complete();
    }),
  );
  const { session, turn } = await firstTurn('go');
  const [event] = ofKind(session.watch.of(turn.turn_id), 'plan.updated');
  expect(event?.payload.entries).toEqual([
    { content: 'one', status: 'in_progress', priority: null },
    { content: 'two', status: 'pending', priority: null },
  ]);
});

test('The usage of a turn is the increase of the total, also after a resume.', async () => {
  const { open, agents } = on({
    turns: {
      twice(turn) {
        turn.use(10);
        turn.use(20);
        turn.reportUsage(turn.server.memory.get(turn.thread) ?? 0, 20);
        turn.complete();
      },
    },
  });
  const session = await open();
  expect((await session.run('x')).usage).toEqual({
    input_tokens: 5,
    cached_input_tokens: 2,
    output_tokens: 3,
    total_tokens: 10,
    context_tokens: 10,
    context_window: 1000,
    cost_usd: null,
  });
  agents[0]?.exit(0);
  await until('it is gone', () => agents[0]?.gone === true);
  expect((await session.run('twice')).usage).toMatchObject({
    input_tokens: 15,
    cached_input_tokens: 6,
    output_tokens: 9,
    total_tokens: 30,
    context_tokens: 20,
  });
  expect((await session.record()).usage).toMatchObject({ total_tokens: 40 });
  expect(ofKind(session.watch.of(null), 'usage.updated')).toEqual([]);
});

test('A retry is a notice of the turn, and a final error fails the turn with the remedy.', async () => {
  const { firstTurn } = on({
    turns: {
      retried(turn) {
        turn.note('error', { error: { message: 'Reconnecting' }, willRetry: true });
        const additionalDetails = 'stream disconnected before completion';
        const error = { message: 'Reconnecting... 2/5', additionalDetails };
        turn.note('error', { error, willRetry: true });
        turn.complete();
      },
      unauthorized(turn) {
        const codexErrorInfo = { httpConnectionFailed: { httpStatusCode: 401 } };
        const error = { message: 'unexpected status 401', codexErrorInfo };
        turn.note('error', { error, willRetry: false });
        turn.complete('failed', error);
      },
      full(turn) {
        const error = { message: 'too much', codexErrorInfo: 'contextWindowExceeded' };
        turn.note('error', { error, willRetry: false });
        turn.complete('failed');
      },
      strange: (turn) => turn.complete('failed'),
    },
  });
  const { session, turn: retried } = await firstTurn('retried');
  expect(retried.status).toBe('completed');
  expect(
    ofKind(session.watch.of(retried.turn_id), 'session.notice').map(({ payload }) => payload),
  ).toEqual([
    { code: 'waiting', message: 'codex: Reconnecting' },
    {
      code: 'waiting',
      message: 'codex: stream error, retry 2/5: stream disconnected before completion',
    },
    { code: 'turn_without_items', message: expect.any(String) as string },
  ]);
  const errors = [];
  for (const text of ['unauthorized', 'full', 'strange'])
    errors.push((await session.run(text)).error);
  expect(errors).toEqual([
    anError('auth_required', /401 \(httpConnectionFailed\): .*codex login/),
    anError('provider_error', /too much \(contextWindowExceeded\): .*new session/),
    { code: 'provider_error', message: 'codex failed: no reason given' },
  ]);
});

test('Images are sent by their path.', async () => {
  const { open, agents } = on({ turns: { look: (turn) => turn.complete() } });
  const session = await open();
  const data = png(2, 2).toString('base64');
  await session.run([
    { type: 'text', text: 'look' },
    { type: 'image', data },
  ]);
  const [asked] = agents[0]?.requests('turn/start') ?? [];
  expect(asked?.input).toEqual([
    { type: 'text', text: 'look', text_elements: [] },
    { type: 'localImage', path: expect.stringContaining('/blobs/') as string },
  ]);
});

test('A turn that codex never reports as started ends, also before its turn/start is answered.', async () => {
  const { open } = on({
    requests: {
      'turn/start'({ threadId }, server) {
        const { id } = server.received.at(-1) ?? {};
        const turn = new RawTurn(server, String(threadId), 'unstarted');
        new RawTurn(server, turn.thread, 'old').complete('interrupted');
        turn.say('quick');
        turn.complete();
        server.write(`${JSON.stringify({ id, result: { turn: { id: turn.id } } })}\n`);
        return never();
      },
    },
  });
  const session = await open();
  expect(await session.run('go')).toMatchObject({ status: 'completed', text: 'quick' });
  expect(await session.run('go')).toMatchObject({ status: 'completed', text: 'quick' });
});

const never = () => new Promise<never>(() => undefined);

test.for<[string, CodexBehavior]>([
  ['sends text', goes((turn) => turn.note('item/agentMessage/delta', { itemId: 'm', delta: 'a' }))],
  ['is silent', goes(() => undefined)],
])('An interrupt ends a turn that %s.', async ([, behavior]) => {
  const { open, client, agents } = on(behavior);
  const session = await open();
  const turnId = await session.send('go');
  await until('it is at the turn', () => agents[0]?.turns.length === 1);
  await interrupt(client, session, turnId);
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  expect((await session.run('next')).text).toBe('next');
  expect(agents).toHaveLength(1);
});

test('An interrupt before the start of the turn is sent once the turn has started.', async () => {
  const asked = Promise.withResolvers<void>();
  const start = Promise.withResolvers<object>();
  const { open, client, agents } = on({
    requests: {
      'turn/start'(_, { turns }) {
        asked.resolve();
        return turns.length === 0 ? start.promise : { turn: { id: 'other' } };
      },
    },
    turns: { go: () => undefined },
  });
  const session = await open();
  const turnId = await session.send('go');
  await asked.promise;
  await interrupt(client, session, turnId);
  expect(agents[0]?.requests('turn/interrupt')).toEqual([]);
  start.resolve({ turn: { id: 'late' } });
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  expect((await session.run('next')).text).toBe('next');
});

test('A turn that codex started by itself ends before the next turn starts.', async () => {
  const { firstTurn, agents } = on({ requests: { 'turn/interrupt': () => ({}) } });
  const { session } = await firstTurn('x');
  const [server] = agents;
  const thread = String((await session.record()).provider_session_ref);
  server?.note('turn/started', { threadId: thread, turn: { id: 'of its own' } });
  server?.note('item/agentMessage/delta', {
    threadId: thread,
    turnId: 'of its own',
    itemId: 'm',
    delta: 'by myself',
  });
  const said = await session.watch.until('word', ({ payload }) => payload.text === 'by myself');
  expect(said.turn_id).toBeNull();
  const turnId = await session.send('y');
  await until('it is told to end', () => server?.requests('turn/interrupt').length === 1);
  expect(server?.requests('turn/interrupt')).toEqual([{ threadId: thread, turnId: 'of its own' }]);
  expect(server?.requests('turn/start')).toHaveLength(1);
  server?.note('turn/completed', {
    threadId: thread,
    turn: { id: 'of its own', status: 'interrupted' },
  });
  await session.watch.end(turnId);
  expect(await session.turn(turnId)).toMatchObject({ status: 'completed', text: 'y' });
});

test('An item of an earlier turn is not an item of the running turn.', async () => {
  const { open, client } = on({
    turns: {
      go(turn) {
        const late = { ...running, status: 'completed', aggregatedOutput: 'late' };
        turn.server.note('item/completed', { item: late, threadId: turn.thread, turnId: 'old' });
        turn.say('now');
        turn.complete();
      },
    },
  });
  const items = await itemsOf(client, await (await open()).run('go'));
  expect(items.map(({ text }) => text)).toEqual(['now']);
});

test('An interrupt ends a turn that codex has already ended.', async () => {
  const { open, client } = on({
    requests: {
      'turn/interrupt'() {
        throw new Refusal('no active turn to interrupt');
      },
    },
    turns: { go: (turn) => turn.say('half') },
  });
  const session = await open();
  const turnId = await session.send('go');
  await session.watch.kind('message.delta', turnId);
  await interrupt(client, session, turnId);
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  expect((await session.run('next')).text).toBe('next');
});

test('Unknown messages are counted, and known messages about other things are not.', async () => {
  const { open, diagnostics } = await testRawCodex(
    goes((turn) => {
      turn.note('item/hologram', {});
      turn.note('item/agentMessage/delta', { delta: 'of nothing' });
      turn.server.note('account/rateLimits/updated', { rateLimits: {} });
      turn.server.note('new/thing', {});
      turn.complete();
    }),
  );
  await (await open()).run('go');
  expect((await diagnostics()).unknown_messages).toBe(3);
});

test('An app-server that does not answer the start of a turn is stopped when its session is closed.', async () => {
  const { open, agents, client } = on({ requests: { 'turn/start': never } });
  const session = await open();
  const turnId = await session.send('go');
  await until('it was asked', () => agents[0]?.requests('turn/start').length === 1);
  const params = { session_id: session.id };
  await client.call(endpoints.closeSession, { params, body: {} });
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  await until('it is gone', () => agents[0]?.gone === true);
});

test.each([
  ['An answer with an error without a message', Number, { code: -32_600 }],
  ['An answer with an error that is only a text', Number, 'no credit left'],
  ['An error for an id that is a text', String, { code: -32_600, message: 'no credit left' }],
])('%s fails the turn.', async (_name, idOf, error) => {
  const { open } = on({
    requests: {
      'turn/start'(_params, server) {
        const { id } = server.received.at(-1) ?? {};
        server.write(`${JSON.stringify({ id: idOf(id), error })}\n`);
        return never();
      },
    },
  });
  const session = await open();
  expect(await session.run('go')).toMatchObject({ status: 'failed' });
});
