import { expect, test } from 'vitest';
import { testRuntime } from '../../support/runtime.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { openSession, runTurn } from '../../support/turns.ts';
import { apiOf, send } from '../../support/http/request.ts';
import { openStream } from '../../support/http/stream.ts';
import { expectEventually } from '../../support/expect-eventually.ts';

type Line = Record<string, unknown>;

/** The lines about requests, once there are that many. */
async function requestLines(logLines: () => Line[], count: number): Promise<Line[]> {
  const lines = () => logLines().filter(({ msg }) => msg === 'request');
  await expectEventually(() => lines().length, 2000).toBeGreaterThanOrEqual(count);
  return lines();
}

test('X-Request-Id is given back, and stands in the line of its request.', async () => {
  const { url, token, logLines } = await testRuntime();
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'my-id.1_A' };
  for (const path of ['/v1/sessions', '/v1/nope', '/v1/sessions/x']) {
    const reply = await send(url, { path, headers });
    expect(reply.headers['x-request-id']).toBe('my-id.1_A');
  }
  const lines = await requestLines(logLines, 3);
  expect(lines.map(({ reqId, route, status }) => [reqId, route, status])).toEqual([
    ['my-id.1_A', '/v1/sessions', 200],
    ['my-id.1_A', '/v1/nope', 404],
    ['my-id.1_A', '/v1/sessions/:session_id', 404],
  ]);
});

test('X-Request-Id is given back with every refusal, 401 and 403 included.', async () => {
  const { url } = await testRuntime();
  for (const more of [{}, { host: 'evil.example' }, { origin: 'http://evil.example' }]) {
    const headers = { 'x-request-id': 'abc', ...more };
    const reply = await send(url, { path: '/v1/sessions', headers });
    expect(reply.headers['x-request-id']).toBe('abc');
  }
});

test('X-Request-Id is made where none was given, or one that does not fit in a log line.', async () => {
  const { url } = await testRuntime();
  const seen = new Set<string>();
  for (const id of [undefined, '', 'has space', 'x'.repeat(65), 'a"b', 'semi;colon']) {
    const reply = await send(url, {
      path: '/health',
      headers: id === undefined ? {} : { 'x-request-id': id },
    });
    const given = String(reply.headers['x-request-id']);
    expect(given).toMatch(/^req_[0-9a-f]{32}$/);
    seen.add(given);
  }
  expect(seen.size).toBe(6);
});

test('The log has one line a request, with method, route, status and time.', async () => {
  const { given, url, logLines, directory } = await testRuntime(scripted());
  const api = apiOf(given);
  await api('POST', '/v1/sessions', { body: { provider: 'acp', cwd: directory } });
  await api('GET', '/v1/sessions?limit=3');
  await api('GET', '/v1/sessions?limit=0');
  await send(url, { path: '/v1/sessions' });
  await send(url, { path: '/health' });
  await send(url, { method: 'PUT', path: '/health' });
  const lines = await requestLines(logLines, 6);
  expect(lines.map(({ method, route, status }) => [method, route, status].join(' '))).toEqual([
    'POST /v1/sessions 200',
    'GET /v1/sessions 200',
    'GET /v1/sessions 400',
    'GET /v1/sessions 401',
    'GET /health 200',
    'PUT /health 405',
  ]);
  for (const { ms, reqId, level } of lines) {
    expect(ms).toBeTypeOf('number');
    expect(reqId).toMatch(/^req_/);
    expect(level).toBe('info');
  }
});

test('The log has the line of a stream, too, once its reader has left.', async () => {
  const given = await testRuntime(scripted());
  const stream = await openStream(given);
  await stream.untilSeq(2);
  stream.close();
  const [line] = await requestLines(given.logLines, 1);
  expect(line).toMatchObject({ method: 'GET', route: '/v1/events/stream' });
});

test('The log never shows the token: not of a request, not of a refusal, not in a path.', async () => {
  const { url, token, client, directory, logLines } = await testRuntime(scripted());
  const { id } = await openSession(client, directory);
  await runTurn(client, id, `my token is ${token}`);
  await send(url, { path: `/v1/nope?token=${token}` });
  await send(url, { path: `/v1/${token}`, headers: { authorization: `Bearer ${token}` } });
  await send(url, { path: '/v1/sessions', headers: { authorization: `Basic ${token}` } });
  await send(url, { path: '/v1/sessions', headers: { authorization: `Bearer ${token}x` } });
  await requestLines(logLines, 5);
  const log = JSON.stringify(logLines());
  expect(log).not.toContain(token);
  expect(log).toContain('[secret]');
});

test('The log never shows a token that was configured, nor a key that is handed to an agent.', async () => {
  const given = await testRuntime({
    config: {
      auth: { token: 'configured-token-0123456789' },
      providers: {
        acp: {
          command: '/bin/sh',
          args: ['-c', 'echo "$AGENT_KEY" >&2; exit 3'],
          env: { AGENT_KEY: 'sk-agent-key-42' },
        },
      },
    },
  });
  const { url, token, logLines, client, directory } = given;
  expect(token).toBe('configured-token-0123456789');
  await send(url, {
    path: '/v1/sk-agent-key-42',
    headers: { authorization: `Bearer ${token}` },
  });
  await send(url, { path: `/v1/${token}` });
  const { id } = await openSession(client, directory);
  const { turn } = await runTurn(client, id, 'hello');
  expect(turn.status).toBe('failed');
  await requestLines(logLines, 4);
  const log = JSON.stringify(logLines());
  expect(log).toContain('cannot start a turn');
  expect(log).toContain('[secret]');
  expect(log).not.toContain('sk-agent-key-42');
  expect(log).not.toContain(token);
});
