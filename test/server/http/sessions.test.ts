import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Item, Session, Turn } from '../../../src/api/sessions.ts';
import { sharedRuntime, type TestRuntime, testRuntime } from '../../support/runtime.ts';
import {
  completed,
  type ScriptedProvider,
  scriptedProvider,
} from '../../support/scripted-provider.ts';
import { type Api, apiOf, expectRefusal } from '../../support/http/request.ts';
import { expectEventually } from '../../support/expect-eventually.ts';

type Given = TestRuntime & { api: Api; provider: ScriptedProvider };

const provider = scriptedProvider();
const on = sharedRuntime({ providers: [provider] });

/** Returns the shared runtime with a scripted provider, whose turns the test itself ends. */
function runtimeOfAll(): Given {
  return { ...on(), api: apiOf(on()), provider };
}

async function create(api: Api, more: object = {}): Promise<Session> {
  const reply = await api('POST', '/v1/sessions', { body: { provider: 'acp', ...more } });
  expect(reply.status).toBe(200);
  return reply.json() as Session;
}

async function read(api: Api, { id }: { id: string }): Promise<Session> {
  return (await api('GET', `/v1/sessions/${id}`)).json() as Session;
}

const text = (words: string) => [{ type: 'text', text: words }];

async function sendText(api: Api, session: { id: string }, more: object = {}) {
  const reply = await api('POST', `/v1/sessions/${session.id}/turns`, {
    body: { input: text('hello'), ...more },
  });
  return {
    status: reply.status,
    body: reply.json() as { turn_id: string; code?: string; error?: string },
  };
}

/** Ends the turn that reaches the agent next, and waits until that is stored. */
async function endTurn({ api, provider }: Given, session: { id: string }): Promise<Session> {
  const turn = await provider.nextTurn();
  turn.end(completed);
  return untilReady(api, session);
}

function untilReady(api: Api, session: { id: string }): Promise<Session> {
  return expectEventually(() => read(api, session))
    .toMatchObject({ status: 'ready' })
    .then(() => read(api, session));
}

test('POST /v1/sessions answers the whole record, ready, with null where nothing was said.', async () => {
  const { api, provider } = runtimeOfAll();
  const opened = provider.opened();
  const session = await create(api);
  expect(session).toEqual({
    id: expect.stringMatching(/^sess_[0-9a-f]{32}$/),
    provider: 'acp',
    agent: null,
    model: null,
    cwd: fs.realpathSync(process.cwd()),
    permission_mode: null,
    agent_mode: null,
    agent_asks: null,
    thinking_effort: null,
    metadata: null,
    title: null,
    title_source: null,
    pinned: false,
    snoozed_until: null,
    muted: false,
    seen_seq: 0,
    news_seq: 0,
    last_activity_at: session.created_at,
    last_words: null,
    status: 'ready',
    active_turn_id: null,
    last_turn_id: null,
    last_turn_status: null,
    last_turn_error: null,
    provider_session_ref: null,
    provider_defaults: null,
    worktree_id: null,
    usage: null,
    close_reason: null,
    failure: null,
    usage_limit: null,
    after_limit: null,
    created_at: expect.any(Number),
    updated_at: session.created_at,
    closed_at: null,
    trimmed: false,
  });
  expect(provider.opened()).toBe(opened);
});

test('POST /v1/sessions keeps what was said, and gives it back the same when it is read.', async () => {
  const { api, directory } = runtimeOfAll();
  const said = {
    model: 'some-model',
    cwd: directory,
    permission_mode: 'read_only',
    title: 'Zoë’s session 💥',
    metadata: { nested: [1, null, { deep: true }], 'a.b': '\u0000\u2028' },
  };
  const session = await create(api, said);
  expect(session).toMatchObject(said);
  expect(await read(api, session)).toEqual(session);
});

test('POST /v1/sessions takes any JSON as metadata, and null as nothing said.', async () => {
  const { api } = runtimeOfAll();
  for (const metadata of [null, false, 0, -1.5e300, '', 'x', [], {}, [[[]]], '\ud800']) {
    const session = await create(api, { metadata });
    expect((await read(api, session)).metadata).toEqual(metadata);
  }
  await create(api, { model: null, cwd: null, permission_mode: null, title: null });
});

test('A relative cwd is one of the server’s, and a link is followed to where it leads.', async () => {
  const { api, directory } = runtimeOfAll();
  expect((await create(api, { cwd: 'src' })).cwd).toBe(path.resolve('src'));
  fs.mkdirSync(path.join(directory, 'real'));
  fs.symlinkSync('real', path.join(directory, 'link'));
  expect((await create(api, { cwd: path.join(directory, 'link') })).cwd).toBe(
    path.join(directory, 'real'),
  );
});

test('POST /v1/sessions refuses a cwd that is missing, no directory or no path at all.', async () => {
  const { api, directory } = runtimeOfAll();
  const file = path.join(directory, 'README');
  const refusals = {
    [path.join(directory, 'nope')]: /^cwd ".*nope" does not exist/,
    [file]: /^cwd ".*README" is not a directory/,
    [path.join(file, 'inside')]: /^cwd ".*inside" does not exist/,
    'a\0b': /^cwd contains a NUL character/,
    '': /^body\.cwd: /,
  };
  for (const [cwd, error] of Object.entries(refusals)) {
    const reply = await api('POST', '/v1/sessions', { body: { provider: 'acp', cwd } });
    expect(reply.json()).toEqual({ error: expect.stringMatching(error), code: 'invalid' });
    expect(reply.status).toBe(400);
  }
});

test('POST /v1/sessions refuses a cwd that is too long for the system with 400.', async () => {
  const { api } = runtimeOfAll();
  const reply = await api('POST', '/v1/sessions', {
    body: { provider: 'acp', cwd: `/${'x'.repeat(300)}` },
  });
  expectRefusal(reply, 400, 'invalid');
});

test('POST /v1/sessions refuses metadata that is too deep to be written with 400.', async () => {
  const { api } = runtimeOfAll();
  const metadata = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const reply = await api('POST', '/v1/sessions', {
    body: `{"provider":"acp","metadata":${metadata}}`,
  });
  expectRefusal(reply, 400, 'invalid');
});

test.for([
  [{}, /^body\.provider: /],
  [{ provider: 'gpt' }, /^body\.provider: .*codex.*claude.*acp/],
  [{ provider: null }, /^body\.provider: /],
  [{ provider: 'acp', model: '' }, /^body\.model: /],
  [{ provider: 'acp', model: 7 }, /^body\.model: /],
  [{ provider: 'acp', permission_mode: '' }, /^body\.permission_mode: /],
  [{ provider: 'acp', title: 'x'.repeat(201) }, /^body\.title: /],
] as const)('POST /v1/sessions refuses %j, naming the field.', async ([body, error]) => {
  const { api } = runtimeOfAll();
  const reply = await api('POST', '/v1/sessions', { body });
  expectRefusal(reply, 400, 'invalid', expect.stringMatching(error));
});

test('POST /v1/sessions refuses a provider that this server does not have, and says which it has.', async () => {
  const { api } = runtimeOfAll();
  const before = (await api('GET', '/v1/sessions')).json();
  const reply = await api('POST', '/v1/sessions', { body: { provider: 'codex' } });
  expectRefusal(reply, 400, 'provider_unavailable', 'unknown provider "codex": choose from acp');
  expect((await api('GET', '/v1/sessions')).json()).toEqual(before);
});

test.for([
  [{}, /not configured: add a section \[providers\.acp\] with a command/],
  [{ providers: { acp: {} } }, /no command configured: set providers\.acp\.command/],
  [
    { providers: { acp: { command: 'no-such-program-anywhere' } } },
    /"no-such-program-anywhere" not found on PATH: set providers\.acp\.command/,
  ],
  [{ providers: { acp: { command: '/' } } }, /command "\/" not found on PATH/],
  [
    { providers: { acp: { command: 'sh', transport: 'http' } } },
    /transport "http" is not supported: use "stdio"/,
  ],
  [{ providers: { acp: { command: 'sh', enabled: false } } }, /not configured|disabled/],
] as const)(
  'POST /v1/sessions with the configuration %j it is refused, and says what to do.',
  async ([config, error]) => {
    const given = await testRuntime({ config });
    const reply = await apiOf(given)('POST', '/v1/sessions', { body: { provider: 'acp' } });
    expectRefusal(reply, 400, 'provider_unavailable', expect.stringMatching(error));
  },
);

test('POST /v1/sessions is an event before it is answered.', async () => {
  const { api } = runtimeOfAll();
  const session = await create(api, { metadata: { a: 1 } });
  const events = (await api('GET', `/v1/sessions/${session.id}/events`)).json();
  expect(events).toEqual([
    expect.objectContaining({
      kind: 'session.created',
      scope: 'session',
      session_id: session.id,
      turn_id: null,
      created_at: expect.any(Number),
      v: 1,
      payload: { session },
    }),
  ]);
});

test('An unknown session is 404, whatever is asked of it.', async () => {
  const { api } = runtimeOfAll();
  const paths = ['', '/turns', '/turns/turn_1', '/turns/turn_1/items', '/events'];
  for (const rest of paths) {
    const reply = await api('GET', `/v1/sessions/sess_nope${rest}`);
    expectRefusal(reply, 404, 'not_found', 'session "sess_nope" not found');
  }
  for (const action of ['close', 'resume']) {
    const reply = await api('POST', `/v1/sessions/sess_nope/${action}`, { body: {} });
    expectRefusal(reply, 404, 'not_found');
  }
  const stream = await api('GET', '/v1/sessions/sess_nope/events/stream');
  expect(stream.status).toBe(404);
  const { status, body } = await sendText(api, { id: 'sess_nope' });
  expect([status, body.code]).toEqual([404, 'not_found']);
});

test('A turn of another session is 404, and so are its items.', async () => {
  const given = runtimeOfAll();
  const { api } = given;
  const [mine, other] = [await create(api), await create(api)];
  const { body } = await sendText(api, mine);
  await endTurn(given, mine);
  for (const rest of ['', '/items']) {
    const good = await api('GET', `/v1/sessions/${mine.id}/turns/${body.turn_id}${rest}`);
    expect(good.status).toBe(200);
    const reply = await api('GET', `/v1/sessions/${other.id}/turns/${body.turn_id}${rest}`);
    expectRefusal(reply, 404, 'not_found');
  }
});

test('POST /v1/sessions/{id}/turns answers once the turn is stored; the session is then running, and ready when it has ended.', async () => {
  const given = runtimeOfAll();
  const { api, provider } = given;
  const session = await create(api);
  const reply = await api('POST', `/v1/sessions/${session.id}/turns`, {
    body: { input: text('hi') },
  });
  expect(reply.json()).toEqual({
    session_id: session.id,
    turn_id: expect.stringMatching(/^turn_[0-9a-f]{32}$/),
    status: 'accepted',
  });
  const { turn_id } = reply.json() as { turn_id: string };
  expect(await read(api, session)).toMatchObject({
    status: 'running',
    active_turn_id: turn_id,
    last_turn_id: turn_id,
  });
  const turn = await provider.nextTurn();
  expect(turn.input).toEqual(text('hi'));
  void turn.sink.update({ type: 'message', text: 'one' });
  void turn.sink.update({
    type: 'tool',
    ref: 't',
    change: { title: 'look', status: 'completed', output: 'found' },
  });
  void turn.sink.update({ type: 'message', text: 'two' });
  turn.end({ status: 'completed', error: null, usage: { input_tokens: 3, output_tokens: 4 } });
  const after = await untilReady(api, session);
  expect(after).toMatchObject({
    active_turn_id: null,
    last_turn_id: turn_id,
    usage: { input_tokens: 3 },
  });
  const stored = (await api('GET', `/v1/sessions/${session.id}/turns/${turn_id}`)).json() as Turn;
  expect(stored).toMatchObject({
    session_id: session.id,
    turn_id,
    status: 'completed',
    source: 'user',
    input: text('hi'),
    text: 'two',
    error: null,
    provider_turn_ref: expect.stringMatching(/^run_/),
    usage: { input_tokens: 3, output_tokens: 4, total_tokens: null, cost_usd: null },
  });
  expect(stored.ended_at).toBeGreaterThanOrEqual(stored.started_at ?? Infinity);
  const items = (
    await api('GET', `/v1/sessions/${session.id}/turns/${turn_id}/items`)
  ).json() as Item[];
  expect(items.map(({ kind, status, text: words }) => [kind, status, words])).toEqual([
    ['message', 'completed', 'one'],
    ['tool', 'completed', 'found'],
    ['message', 'completed', 'two'],
  ]);
});

test('POST /v1/sessions/{id}/turns takes a single item as an array of one.', async () => {
  const given = runtimeOfAll();
  const session = await create(given.api);
  const { status, body } = await sendText(given.api, session, {
    input: { type: 'text', text: 'alone' },
  });
  expect(status).toBe(200);
  await endTurn(given, session);
  const turn = await given.api('GET', `/v1/sessions/${session.id}/turns/${body.turn_id}`);
  expect((turn.json() as Turn).input).toEqual(text('alone'));
});

test.for([
  [{ input: undefined }, /^body\.input: /],
  [{ input: [] }, /^body\.input: /],
  [{ input: 'hello' }, /^body\.input: /],
  [{ input: [{ type: 'audio', data: 'x' }] }, /^body\.input(\.0)?(\.type)?: /],
  [{ input: [{ type: 'text' }] }, /^body\.input(\.0)?\.text: /],
  [{ input: [{ type: 'text', text: 7 }] }, /^body\.input(\.0)?\.text: /],
  [{ input: [...text('good'), { type: 'text' }] }, /^body\.input\.1\.text: /],
  [{ steer: true }, /^body: unknown field "steer"/],
  [{ model: '' }, /^body\.model: /],
] as const)(
  'POST /v1/sessions/{id}/turns refuses the body %j, naming the place.',
  async ([more, error]) => {
    const { api } = runtimeOfAll();
    const session = await create(api);
    const { status, body } = await sendText(api, session, more);
    expect(status).toBe(400);
    expect(body).toEqual({ error: expect.stringMatching(error), code: 'invalid' });
    expect(await read(api, session)).toEqual(session);
  },
);

test('POST /v1/sessions/{id}/turns refuses an unknown field in an item by name, with those it takes.', async () => {
  const { api } = runtimeOfAll();
  const session = await create(api);
  const { status, body } = await sendText(api, session, {
    input: [{ type: 'text', text: 'x', mood: 'good' }],
  });
  expect(status).toBe(400);
  expect(body.error).toContain('"mood"');
  expect(body.error).toContain('known fields: type, text');
});

test('POST /v1/sessions/{id}/turns to a busy session is 409 turn_in_progress, and changes nothing.', async () => {
  const given = runtimeOfAll();
  const { api } = given;
  const session = await create(api);
  const first = await sendText(api, session);
  const before = await read(api, session);
  const second = await sendText(api, session);
  expect(second.status).toBe(409);
  expect(second.body).toEqual({
    error: `turn ${first.body.turn_id} of session ${session.id} is still running: wait until the turn ends`,
    code: 'turn_in_progress',
  });
  expect((await read(api, session)).last_turn_id).toBe(before.last_turn_id);
  expect((await api('GET', `/v1/sessions/${session.id}/turns`)).json()).toHaveLength(1);
  await endTurn(given, session);
  expect((await sendText(api, session)).status).toBe(200);
  await endTurn(given, session);
});

test('A turn whose expected_turn_id is not the most recent turn is refused, and null is ignored.', async () => {
  const given = runtimeOfAll();
  const { api } = given;
  const session = await create(api);
  const early = await sendText(api, session, { expected_turn_id: 'turn_none' });
  expect(early).toMatchObject({ status: 409, body: { code: 'turn_conflict' } });
  expect(early.body.error).toContain('has no turns');
  const first = await sendText(api, session, { expected_turn_id: null });
  expect(first.status).toBe(200);
  await endTurn(given, session);
  const wrong = await sendText(api, session, { expected_turn_id: 'turn_other' });
  expect(wrong).toMatchObject({ status: 409, body: { code: 'turn_conflict' } });
  expect(wrong.body.error).toContain(first.body.turn_id);
  const right = await sendText(api, session, { expected_turn_id: first.body.turn_id });
  expect(right.status).toBe(200);
  const late = await sendText(api, session, { expected_turn_id: first.body.turn_id });
  expect(late).toMatchObject({ status: 409, body: { code: 'turn_conflict' } });
  await endTurn(given, session);
});
