import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { sharedRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { pathOf, send, table } from '../../support/http/request.ts';

const on = sharedRuntime({ providers: [scriptedProvider()] });
const gets = table.filter(({ endpoint }) => endpoint.method === 'GET');
/** The headers that differ each time. */
const passing = new Set(['date', 'x-request-id', 'content-length', 'transfer-encoding']);

test.for(gets)(
  'HEAD of $request has the status and headers of GET, and no body.',
  async ({ endpoint }) => {
    const { url, token } = on();
    const path = pathOf(endpoint);
    const headers = { authorization: `Bearer ${token}` };
    const head = await send(url, { method: 'HEAD', path, headers });
    expect(head.text).toBe('');
    // A stream of the whole runtime would not end.
    if (path === '/v1/events/stream') return expect(head.status).toBe(200);
    const get = await send(url, { path, headers });
    expect(head.status).toBe(get.status);
    const lasting = (found: typeof get) =>
      Object.entries(found.headers).filter(([name]) => !passing.has(name));
    expect(lasting(head)).toEqual(lasting(get));
  },
);

test('HEAD needs the token where GET does.', async () => {
  const { url } = on();
  for (const path of ['/v1/sessions', '/v1/events/stream', '/v1/nope', '/metrics']) {
    const reply = await send(url, { method: 'HEAD', path });
    expect([reply.status, reply.text]).toEqual([401, '']);
  }
});

test('HEAD of a wait is answered at once, and waits for nothing.', async () => {
  const { url, token, client } = on();
  const { process } = await client.call(endpoints.createProcess, {
    body: { command: 'sleep 600', timeout_ms: 0 },
  });
  const at = `/v1/processes/${process.process_id}`;
  const headers = { authorization: `Bearer ${token}` };
  const reply = await send(url, { method: 'HEAD', path: `${at}/wait`, headers });
  expect(reply.status).toBe(200);
  const logs = await send(url, { method: 'HEAD', path: `${at}/logs/stream`, headers });
  expect([logs.status, logs.headers['content-type']]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  const params = { process_id: process.process_id };
  await client.call(endpoints.killProcess, { params, body: {} });
});

test.for([
  ['/v1/worktrees/gc', 'POST'],
  ['/v1/teams/team_1/members/spawn', 'POST'],
] as const)('The path %s has only its own methods: %s.', async ([path, allowed]) => {
  const { url, token } = on();
  const headers = { authorization: `Bearer ${token}` };
  for (const method of ['OPTIONS', 'GET', 'HEAD', 'DELETE', 'PUT']) {
    const reply = await send(url, { method, path, headers });
    expect([method, reply.status, reply.headers.allow]).toEqual([method, 405, allowed]);
  }
});
