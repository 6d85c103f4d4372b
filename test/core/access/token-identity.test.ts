import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { CreatedToken, Token } from '../../../src/api/tokens.ts';
import { configSchema } from '../../../src/core/config/schema.ts';
import { testHarness } from '../../support/sessions/harness.ts';
import { sharedRuntime, type TestRuntime, testRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { apiOf, send } from '../../support/http/request.ts';
import { openStream } from '../../support/http/stream.ts';
import { longEvent, writeLog } from '../../support/written-log.ts';

type Made = Pick<CreatedToken, 'id' | 'secret'>;

const options = () => ({ providers: [scriptedProvider()] });
const on = sharedRuntime(options());
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

async function make(given: TestRuntime, body: object): Promise<CreatedToken> {
  const reply = await apiOf(given)('POST', '/v1/tokens', { body: { name: 'x', ...body } });
  expect(reply.status).toBe(200);
  return reply.json() as CreatedToken;
}

test('The log line of each request has the id of its token, also for refused requests and streams.', async () => {
  const { given, url, token, client, directory, logLines } = await testRuntime(options());
  const made = await make(given, { scope: 'read' });
  const { id } = await openSession(client, directory);
  await send(url, { path: '/v1/version', headers: bearer(made.secret) });
  await send(url, { method: 'POST', path: '/v1/sessions', headers: bearer(made.secret) });
  const at = `/v1/sessions/${id}/events/stream`;
  (await openStream({ url, token: made.secret }, { path: at })).close();
  await send(url, { path: '/v1/sessions', headers: bearer(token) });
  await send(url, { path: '/v1/health', headers: bearer('nobody-has-this-one') });
  await send(url, { path: '/health', headers: bearer(token) });
  const requests = () =>
    logLines()
      .filter(({ msg }) => msg === 'request')
      .map(({ route, status, token: of }) => [route, status, of]);
  await expectEventually(requests).toEqual(
    expect.arrayContaining([
      ['/v1/version', 200, made.id],
      ['/v1/sessions', 403, made.id],
      ['/v1/sessions/:session_id/events/stream', 200, made.id],
      ['/v1/sessions', 200, 'api'],
      ['/v1/health', 401, undefined],
      ['/health', 200, undefined],
    ]),
  );
});

test('The id of the token is in decided_by of an approval.', async () => {
  const harness = await testHarness();
  const made = await make(harness.given, { scope: 'admin' });
  for (const [secret, by] of [
    [made.secret, made.id],
    [harness.given.token, 'api'],
  ] as const) {
    const { session, turn } = await harness.atWork({ permission_mode: 'require_approval' });
    void turn.ask();
    const approval = await harness.asked(session.id);
    const api = apiOf({ url: harness.given.url, token: secret });
    const at = `/v1/sessions/${session.id}/approvals/${approval.id}`;
    const reply = await api('POST', at, { body: { decision: 'accept' } });
    expect(reply.json()).toMatchObject({ decision: 'accept', decided_by: by });
  }
});

test('A token is refused from its expires_at on: its streams end, and other streams stay open.', async () => {
  const clock = new ManualClock();
  const { given, url } = await testRuntime({ ...options(), clock });
  const made = await make(given, { scope: 'read', expires_in_ms: 3_600_000 });
  const other = await make(given, { scope: 'read', expires_in_ms: 7_200_000 });
  expect(made.expires_at).toBe(made.created_at + 3_600_000);
  const stream = await openStream({ url, token: made.secret });
  const staying = await openStream({ url, token: other.secret });
  const asked = { path: '/v1/sessions', headers: bearer(made.secret) };
  clock.advance(3_599_999);
  expect((await send(url, asked)).status).toBe(200);
  clock.advance(1);
  expect((await send(url, asked)).status).toBe(401);
  expect(await stream.ended).toBe('ended');
  clock.advance(10_000);
  await staying.until(() => staying.text().endsWith('ping 2\n'));
  const api = apiOf(given);
  const listed = (await api('GET', '/v1/tokens')).json() as Token[];
  expect(listed.map(({ id }) => id)).toEqual([other.id, made.id]);
  staying.close();
});

test('A token also expires while the server is down, and a token without expiry does not.', async () => {
  const directory = testDirectory();
  const clock = new ManualClock();
  const first = await testRuntime({ ...options(), clock, directory });
  const [short, long] = [
    await make(first, { scope: 'read', expires_in_ms: 60_000 }),
    await make(first, { scope: 'read', expires_in_ms: null }),
  ];
  expect(long.expires_at).toBeNull();
  await first.stop(AbortSignal.abort());
  clock.advance(60_000);
  const { url } = await testRuntime({ ...options(), clock, directory });
  for (const [{ secret }, status] of [
    [short, 401],
    [long, 200],
  ] as [Made, number][])
    expect((await send(url, { path: '/v1/sessions', headers: bearer(secret) })).status).toBe(
      status,
    );
});

test.for([0, 999, -1, 1.5, 315_360_000_001, '30d'])(
  'A token with an expires_in_ms of %s is refused.',
  async (expires_in_ms) => {
    const given = on();
    const body = { name: 'x', scope: 'read', expires_in_ms };
    const reply = await apiOf(given)('POST', '/v1/tokens', { body });
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({
      error: expect.stringMatching(/^body\.expires_in_ms/),
    });
  },
);

test('When a token is revoked, its streams end in order, and streams of other tokens stay open.', async () => {
  const { given, url, client, directory } = await testRuntime(options());
  const { id: session } = await openSession(client, directory);
  const { process } = await client.call(endpoints.createProcess, {
    body: { command: 'sleep 600', timeout_ms: 0 },
  });
  const made = await make(given, { scope: 'admin' });
  const paths = [
    '/v1/events/stream',
    `/v1/sessions/${session}/events/stream`,
    `/v1/processes/${process.process_id}/logs/stream`,
  ];
  const open = (token: string) =>
    Promise.all(paths.map((path) => openStream({ url, token }, { path })));
  const [own, others] = [await open(made.secret), await open(given.token)];
  await apiOf(given)('DELETE', `/v1/tokens/${made.id}`);
  expect(await Promise.all(own.map(({ ended }) => ended))).toEqual(['ended', 'ended', 'ended']);
  await openSession(client, directory);
  await others[0]?.until((stream) => stream.events().at(-1)?.kind === 'session.created');
  const followers = async () => (await client.call(endpoints.getDiagnostics, {})).streams;
  await expectEventually(followers).toMatchObject({ followers: 2 });
  for (const stream of others) stream.close();
  await client.call(endpoints.killProcess, {
    params: { process_id: process.process_id },
    body: {},
  });
});

test('When a token is revoked, its stream is cut if the client does not read.', async () => {
  const clock = new ManualClock();
  const directory = testDirectory('tokens');
  await writeLog(
    directory,
    Array.from({ length: 60 }, () => longEvent(200_000)),
  );
  const { given, url, client } = await testRuntime({ ...options(), clock, directory });
  const made = await make(given, { scope: 'admin' });
  const stream = await openStream({ url, token: made.secret }, { paused: true });
  const followers = async () => (await client.call(endpoints.getDiagnostics, {})).streams;
  // All buffers between the server and the client are full once the lag stays the same.
  for (let lag = 0, same = 0; same < 20;) {
    const { max_lag } = await followers();
    same = max_lag > 0 && max_lag === lag ? same + 1 : 0;
    lag = max_lag;
  }
  await apiOf(given)('DELETE', `/v1/tokens/${made.id}`);
  await expectEventually(followers).toMatchObject({ followers: 0 });
  clock.advance(2000);
  stream.resume();
  expect(await stream.ended).toBe('cut');
});

test('When the API token is replaced, its streams end.', async () => {
  const withToken = (token: string) => ({
    server: { bind_address: '127.0.0.1:0', drain_ms: 200 },
    auth: { token },
  });
  const { given, url, token, runtime } = await testRuntime({
    ...options(),
    config: withToken('the-first-token-of-all'),
  });
  const made = await make(given, { scope: 'read' });
  const [own, other] = [
    await openStream({ url, token }),
    await openStream({ url, token: made.secret }),
  ];
  runtime.reload(() => configSchema.parse(withToken('the-first-token-of-all')));
  for (let i = 0; i < 5; i++) await nextLoop();
  expect((await send(url, { path: '/v1/sessions', headers: bearer(token) })).status).toBe(200);
  runtime.reload(() => configSchema.parse(withToken('the-second-token-of-all')));
  expect(await own.ended).toBe('ended');
  expect((await send(url, { path: '/v1/sessions', headers: bearer(token) })).status).toBe(401);
  const now = { url, token: 'the-second-token-of-all' };
  (await openStream(now)).close();
  expect((await send(url, { path: '/v1/sessions', headers: bearer(made.secret) })).status).toBe(
    200,
  );
  other.close();
});

const limited = (max_streams: number, max_streams_per_token: number | null = null) => ({
  ...options(),
  config: {
    server: { bind_address: '127.0.0.1:0', drain_ms: 200, max_streams, max_streams_per_token },
  },
});
const path = '/v1/events/stream';

test('A token may open a quarter of all streams by default, and the API token has no such limit.', async () => {
  const { given, url, token } = await testRuntime(limited(8));
  const made = await make(given, { scope: 'admin' });
  const own = await Promise.all([0, 1].map(() => openStream({ url, token: made.secret })));
  const refused = await send(url, { path, headers: bearer(made.secret) });
  expect(refused.status).toBe(429);
  expect(refused.json()).toEqual({
    error:
      'this token already has 2 open event streams: close some streams, or raise server.max_streams_per_token',
    code: 'too_many',
  });
  const others = await Promise.all(Array.from({ length: 6 }, () => openStream({ url, token })));
  own[0]?.close();
  const again = async () =>
    (await send(url, { method: 'HEAD', path, headers: bearer(made.secret) })).status;
  await expectEventually(again).toBe(200);
  for (const stream of [...own, ...others]) stream.close();
});

test('Tokens with the scope read leave some streams for admins.', async () => {
  const { given, url, token } = await testRuntime(limited(4, 4));
  const readers = await Promise.all([0, 1].map(() => make(given, { scope: 'read' })));
  const streams = await Promise.all(
    [0, 0, 1].map((i) => openStream({ url, token: readers[i]?.secret ?? '' })),
  );
  const refused = await send(url, { path, headers: bearer(readers[1]?.secret ?? '') });
  expect(refused.json()).toMatchObject({
    code: 'too_many',
    error: expect.stringMatching(
      /^the last 1 of 4 event streams are reserved for tokens with the scope admin/,
    ),
  });
  streams.push(await openStream({ url, token }));
  for (const stream of streams) stream.close();
});

test('A token with the scope tools may call tools as any session, and nothing else.', async () => {
  const harness = await testHarness();
  const { given } = harness;
  const made = await make(given, { scope: 'tools' });
  const session = await harness.open();
  const api = apiOf({ url: given.url, token: made.secret });
  const body = { tool_name: 'cadre_process_status', caller_agent_id: session.id, args: {} };
  const called = await api('POST', '/v1/mcp/invoke', { body });
  expect(called.json()).toMatchObject({ ok: true });
  expect((await api('GET', '/v1/mcp/capabilities')).status).toBe(200);
  for (const at of ['/v1/sessions', '/v1/events/stream', '/metrics', '/v1/tokens', '/v1/nope']) {
    const reply = await api('GET', at);
    expect([at, reply.status]).toEqual([at, 403]);
    expect(reply.json()).toMatchObject({ code: 'forbidden_scope' });
  }
});

test('A token with the scope read may wait for the exit and output of a process, not for a port.', async () => {
  const { given, client, url } = await testRuntime(options());
  const { process } = await client.call(endpoints.createProcess, { body: { command: 'true' } });
  const made = await make(given, { scope: 'read' });
  const at = `/v1/processes/${process.process_id}/wait`;
  const status = async (query: string, secret: string) =>
    (await send(url, { path: `${at}?${query}`, headers: bearer(secret) })).status;
  expect(await status('for=exit', made.secret)).toBe(200);
  expect(await status('for=log:x', made.secret)).toBe(200);
  expect(await status('for=port:22', made.secret)).toBe(403);
  expect(await status('for=port:9&timeout_ms=1', given.token)).toBe(200);
});
