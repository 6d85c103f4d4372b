import { expect, test } from 'vitest';
import { sharedRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { pathOf, type Reply, send, table } from '../../support/http/request.ts';
import { openStream } from '../../support/http/stream.ts';

const origin = 'https://app.example';
const on = sharedRuntime({
  config: {
    server: { bind_address: '127.0.0.1:0', allowed_origins: [origin, 'http://localhost:3000'] },
  },
  providers: [scriptedProvider()],
});
const exposed =
  'X-Seq, X-Epoch, X-Trimmed-Seq, X-Next-Cursor, X-Next-After-Seq, Retry-After, Idempotency-Replayed, X-Request-Id';

function expectOpen({ headers }: Pick<Reply, 'headers'>, to = origin): void {
  expect(headers).toMatchObject({
    'access-control-allow-origin': to,
    'access-control-expose-headers': exposed,
    vary: 'Origin',
  });
  expect(headers['access-control-allow-credentials']).toBeUndefined();
}

test.for(table)(
  'A page of an allowed origin may read the answer to $request, a refusal, too.',
  async ({ endpoint }) => {
    const { url, token } = on();
    const path = `${pathOf(endpoint)}?nonsense=1`;
    const headers = { origin, authorization: `Bearer ${token}` };
    const reply = await send(url, { method: endpoint.method, path, headers });
    expect(reply.status).toBe(endpoint.access === 'public' ? 200 : 400);
    expectOpen(reply);
  },
);

test('A page of an allowed origin may read that its token is wrong.', async () => {
  const { url } = on();
  const reply = await send(url, { path: '/v1/sessions', headers: { origin } });
  expect(reply.status).toBe(401);
  expectOpen(reply);
});

test('A page of an allowed origin may read what is answered, refused, unknown and of another method.', async () => {
  const { url, token } = on();
  const headers = { origin, authorization: `Bearer ${token}` };
  for (const [method, path, status] of [
    ['GET', '/v1/sessions', 200],
    ['GET', '/v1/sessions/sess_nope', 404],
    ['GET', '/v1/nope', 404],
    ['GET', '/v1/sessions?nonsense=1', 400],
    ['PUT', '/v1/sessions', 405],
    ['GET', '/v1/sessions/%zz', 400],
    ['HEAD', '/v1/sessions', 200],
  ] as const) {
    const reply = await send(url, { method, path, headers });
    expect([path, reply.status]).toEqual([path, status]);
    expectOpen(reply);
  }
});

test('A page of an allowed origin may read a stream.', async () => {
  const given = on();
  const stream = await openStream(given, { headers: { origin: 'http://localhost:3000' } });
  expectOpen(stream, 'http://localhost:3000');
  expect(stream.headers['x-epoch']).toMatch(/^epoch_/);
  stream.close();
});

test.for([...table, { request: 'of nothing', endpoint: { method: 'GET', path: '/v1/nope' } }])(
  'A page of an allowed origin is answered its preflight for $request without a token.',
  async ({ endpoint: { method, path } }) => {
    const { url } = on();
    const reply = await send(url, {
      method: 'OPTIONS',
      path: path.replaceAll(/\{\w+\}/g, 'some_id'),
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type,idempotency-key',
      },
    });
    expect([reply.status, reply.text]).toEqual([204, '']);
    expectOpen(reply);
    expect(reply.headers).toMatchObject({
      'access-control-allow-methods': 'GET, HEAD, POST, PATCH, DELETE',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id',
      'access-control-max-age': '600',
    });
    expect(reply.headers['access-control-allow-private-network']).toBeUndefined();
  },
);

test('A page of an allowed origin that was loaded from elsewhere may reach this machine.', async () => {
  const { url } = on();
  const headers = {
    origin,
    'access-control-request-method': 'GET',
    'access-control-request-private-network': 'true',
  };
  const reply = await send(url, { method: 'OPTIONS', path: '/v1/sessions', headers });
  expect(reply.headers['access-control-allow-private-network']).toBe('true');
});

test('An answer without an origin says that it differs by origin, and opens nothing.', async () => {
  const { url } = on();
  const reply = await send(url, { path: '/health' });
  expect(reply.headers.vary).toBe('Origin');
  expect(reply.headers['access-control-allow-origin']).toBeUndefined();
});

test('OPTIONS without a preflight needs the token, and is a method that no path has.', async () => {
  const { url, token } = on();
  const asked = { method: 'OPTIONS', path: '/v1/sessions' };
  expect((await send(url, { ...asked, headers: { origin } })).status).toBe(401);
  const headers = { origin, authorization: `Bearer ${token}` };
  const reply = await send(url, { ...asked, headers });
  expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, GET, HEAD']);
});
