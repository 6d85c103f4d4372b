import { expect, test } from 'vitest';
import { testRuntime } from '../../support/runtime.ts';
import { openSession } from '../../support/turns.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { expectRefusal, send, unauthorized } from '../../support/http/request.ts';
import { sharedAuthRuntime } from '../../support/http/shared-auth-runtime.ts';

const on = sharedAuthRuntime();

const unknown = ['/v1', '/v1/', '/v1/nope', '/v1/sessions/x/y/z', '/v1?x=/health', '/v1/%20'];

test.for(unknown)('The path %s is 401 without a token, and 404 with one.', async (path) => {
  const { url, token } = on();
  const without = await send(url, { path });
  expect(without.json()).toEqual(unauthorized);
  expect(without.status).toBe(401);
  const reply = await send(url, { path, headers: { authorization: `Bearer ${token}` } });
  expectRefusal(reply, 404, 'not_found');
});

test('A path outside /v1 is 404 without a token, too.', async () => {
  const { url } = on();
  for (const path of ['/', '/nope', '/v2/sessions', '/v1x', '/healthy', '/openapi-yaml']) {
    const reply = await send(url, { path });
    expect([path, reply.status]).toEqual([path, 404]);
    expect(reply.json()).toEqual({
      error: `the route GET ${path} does not exist: see /openapi.yaml`,
      code: 'not_found',
    });
  }
});

/** Ways to write a path that mean /v1/sessions to somebody. */
const disguises = [
  '/%76%31/sessions',
  '/v%31/sessions',
  '/%2576%2531/sessions',
  '/v1%2Fsessions',
  '/%2fv1/sessions',
  '//v1/sessions',
  '///v1//sessions',
  '/v1//sessions',
  '/v1/sessions/',
  '/v1/../v1/sessions',
  '/health/../v1/sessions',
  '/health/%2e%2e/v1/sessions',
  '/./v1/sessions',
  '/V1/sessions',
  '/v1/SESSIONS',
  '/v1/sessions;/health',
  '/v1/sessions?/health',
  '/v1/sessions#/health',
  '/health?x=/../v1/sessions',
  '/health#/../v1/sessions',
  '/v1\\sessions',
  '/v1/sessions%00',
  '/v1/sessions%00/health',
  'http://127.0.0.1/v1/sessions',
  'http://evil.example/v1/sessions',
  'http://evil.example//v1/sessions',
];

test.for(disguises)('The path %s shows no session without a token.', async (path) => {
  const { url, client, directory } = on();
  const { id } = await openSession(client, directory);
  for (const method of ['GET', 'POST', 'HEAD']) {
    const reply = await send(url, { method, path });
    // The public routes stay what they are, whatever stands behind their "?".
    const isHealth = path.startsWith('/health?') || path.startsWith('/health#');
    if (!isHealth) expect([400, 401, 403, 404, 405]).toContain(reply.status);
    expect(reply.text).not.toContain(id);
  }
});

test('A disguised path of a route is 401 before any other check.', async () => {
  const { url } = on();
  for (const path of ['/%76%31/sessions', '/v%31/events/stream', 'http://127.0.0.1/v1/sessions']) {
    const reply = await send(url, { path });
    expect(reply.json()).toEqual(unauthorized);
    expect(reply.status).toBe(401);
  }
});

const badlyEncoded = ['/v1/sessions/%zz', '/v1/%', '/v1/sessions/%c3%28/turns', '/v1/%zz/sessions'];

test.for([
  ['without a token', 401, {}, unauthorized],
  [
    'with a foreign host',
    403,
    { host: 'evil.example' },
    expect.objectContaining({ code: 'forbidden_host' }),
  ],
] as const)('A path that is badly encoded %s is %i.', async ([, status, headers, body]) => {
  const { url } = on();
  for (const path of badlyEncoded) {
    const reply = await send(url, { path, headers });
    expect(reply.json()).toEqual(body);
    expect(reply.status).toBe(status);
  }
});

test('A path that is badly encoded is refused with the body every refusal has, given a token, and is in the log.', async () => {
  const { url, token, logLines } = await testRuntime();
  for (const path of badlyEncoded) {
    const before = logLines().length;
    const reply = await send(url, { path, headers: { authorization: `Bearer ${token}` } });
    expect([400, 404]).toContain(reply.status);
    expectRefusal(reply);
    await expectEventually(() => logLines().length).toBe(before + 1);
  }
});

test('An unknown id in a path is 404, whatever is in it.', async () => {
  const { url, token } = on();
  for (const id of [
    'x',
    '..',
    '%2e%2e',
    'a%2Fb',
    '%00',
    "'%3B%20DROP%20TABLE%20sessions",
    '%F0%9F%92%A5',
  ]) {
    const reply = await send(url, {
      path: `/v1/sessions/${id}`,
      headers: { authorization: `Bearer ${token}` },
    });
    expect([id, reply.status]).toEqual([id, 404]);
    expectRefusal(reply);
  }
});

test('An id in a path that is very long is 401 without a token and 404 with one, like any other.', async () => {
  const { url, token } = on();
  const path = `/v1/sessions/${'x'.repeat(1000)}`;
  expect((await send(url, { path })).status).toBe(401);
  const reply = await send(url, { path, headers: { authorization: `Bearer ${token}` } });
  expect(reply.status).toBe(404);
  expectRefusal(reply);
});
