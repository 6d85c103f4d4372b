import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { endpoints } from '../../../src/api/index.ts';
import { atLength, someOf } from '../../support/at-length.ts';
import { sharedRuntime, testRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import {
  expectRefusal,
  matches,
  pathOf,
  send,
  table,
  unauthorized,
} from '../../support/http/request.ts';

const guarded = table.filter(({ endpoint }) => endpoint.access !== 'public');
/** The endpoints that the suite tries. */
const tried = someOf(guarded, 4);
const open = table.filter(({ endpoint }) => endpoint.access === 'public');
const options = () => ({ providers: [scriptedProvider()] });
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** A path that is written out wins over one with parameters; HEAD is wherever GET is. */
function methodsOf(path: string): string[] {
  const matching = table.filter(({ endpoint }) => matches(endpoint, path));
  const fewest = Math.min(...matching.map(({ endpoint }) => Object.keys(endpoint.params).length));
  return matching
    .filter(({ endpoint }) => Object.keys(endpoint.params).length === fewest)
    .flatMap(({ endpoint: { method } }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

test('An endpoint is under /v1 or /metrics and needs a token, but for /health and /openapi.yaml.', () => {
  expect(open.map(({ endpoint }) => endpoint.path)).toEqual(['/health', '/openapi.yaml']);
  for (const { endpoint } of guarded) expect(endpoint.path).toMatch(/^\/(v1\/|metrics$)/);
});

test('An endpoint is there once: no two have one method and path.', () => {
  const requests = table.map(({ request }) => request);
  expect(new Set(requests).size).toBe(requests.length);
});

test('An endpoint names the parameters of its path, and no others.', () => {
  for (const { endpoint } of table) {
    const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(endpoint.params)).toEqual(inPath);
  }
});

/** A server slows down failed authentications past 20 a minute, so each server gets a part of the endpoints. */
const groups = Array.from({ length: Math.ceil(tried.length / 9) }, (_, group) =>
  tried.slice(group * 9, group * 9 + 9),
);

test.for(
  groups.map((group) => ({ group, requests: group.map(({ request }) => request).join(', ') })),
)('No data of $requests is returned without a token, or with a wrong one.', async ({ group }) => {
  const { url } = await testRuntime();
  for (const { endpoint } of group) {
    const asked = { method: endpoint.method, path: pathOf(endpoint) };
    for (const headers of [{}, { authorization: 'Bearer wrong-wrong-wrong-wrong' }]) {
      const reply = await send(url, { ...asked, headers });
      expect(reply.status).toBe(401);
      expect(reply.json()).toEqual(unauthorized);
    }
  }
});

const on = sharedRuntime(options());

describe.for(tried)('$request', ({ endpoint }) => {
  const { method } = endpoint;
  const path = pathOf(endpoint);

  test('The endpoint refuses an unknown query parameter by name, with the known ones.', async () => {
    const { url, token } = on();
    const headers = { authorization: `Bearer ${token}` };
    const reply = await send(url, { method, path: `${path}?nonsense=1`, headers });
    expect(reply.status).toBe(400);
    const takes = Object.keys(endpoint.query);
    expect(reply.json()).toEqual({
      error: `query: unknown field "nonsense"; ${takes.length > 0 ? `known fields: ${takes.join(', ')}` : 'no fields are accepted'}`,
      code: 'invalid',
    });
  });
});

test.for([...tried, ...open])(
  'The path of $request refuses all other methods, and lists its own.',
  async ({ endpoint }) => {
    const { url, token } = on();
    const headers = { authorization: `Bearer ${token}` };
    const path = pathOf(endpoint);
    const allowed = methodsOf(path);
    for (const method of methods.filter((one) => !allowed.includes(one))) {
      const reply = await send(url, { method, path, headers });
      expect([method, reply.status]).toEqual([method, 405]);
      expect(reply.headers.allow?.split(', ').toSorted()).toEqual(allowed.toSorted());
      if (method !== 'HEAD') expectRefusal(reply);
    }
  },
);

test.for(['PROPFIND', 'QUERY'])(
  'A method that few have heard of, %s, is refused with 405 like any other.',
  async (method) => {
    const { url, token } = on();
    const headers = { authorization: `Bearer ${token}` };
    const reply = await send(url, { method, path: '/v1/sessions', headers });
    expect(reply.status).toBe(405);
    expect(reply.headers.allow?.split(', ').toSorted()).toEqual(['GET', 'HEAD', 'POST']);
    expectRefusal(reply);
  },
);

const withBody = someOf(
  table.filter(({ endpoint }) => endpoint.body !== null),
  4,
);

describe.for(withBody)('the body of $request', ({ endpoint }) => {
  const { method } = endpoint;
  const path = pathOf(endpoint);
  const { shape } = endpoint.body as unknown as { shape: Record<string, z.ZodType> };
  const fields = Object.keys(shape);
  const needed = fields.filter(
    (name) => name === 'tool_name' || !shape[name]?.safeParse(undefined).success,
  );

  test('The body is refused by name where a field is unknown, with the fields it takes.', async () => {
    const { url, token } = on();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const good = {
      api_key: 'k',
      auth_json: {},
      provider: 'acp',
      input: [{ type: 'text', text: 'hi' }],
      decision: 'accept',
      name: 'a-name',
      prompt: 'hi',
      contenders: [{ provider: 'acp' }, { provider: 'acp' }],
      contender: 'acp-1',
      scope: 'read',
      command: 'true',
      session_id: 'sess_0123',
      source_session_id: 'sess_0123',
      effect: 'deny',
      worktree_name: 'tree',
      lead_agent_id: 'sess_0123',
      agent_id: 'sess_0123',
      sender_agent_id: 'sess_0123',
      recipient_agent_id: 'sess_0123',
      repo_root: '/',
      sha256: '0'.repeat(64),
      file: 'a.txt',
      enabled: true,
      turn_id: 'turn_0123',
      first_line: 1,
      path: 'a.ts',
      text: 'why',
    };
    const known = Object.fromEntries(
      Object.entries(good).filter(([name, value]) => shape[name]?.safeParse(value).success),
    );
    const strangers = ['nonsense', '__proto__', 'Provider', 'session_id'];
    for (const name of strangers.filter((one) => !fields.includes(one))) {
      const rest = JSON.stringify(known).slice(1);
      const body = `{"${name}":1${rest === '}' ? '' : ','}${rest}`;
      const alike = new Map([
        ['Provider', ['provider']],
        ['nonsense', ['tokens', 'contender']],
        ['session_id', ['operation_id', 'method_id']],
      ]);
      const near = alike.get(name)?.find((one) => fields.includes(one));
      const guess = near === undefined ? '' : `did you mean "${near}"? `;
      const reply = await send(url, { method, path, headers, body });
      expect(reply.json()).toEqual({
        error: `body: unknown field "${name}"; ${guess}${fields.length > 0 ? `known fields: ${fields.join(', ')}` : 'no fields are accepted'}`,
        code: 'invalid',
      });
      expect(reply.status).toBe(400);
    }
  });

  test('The body counts as {} where it is empty: what is missing is named.', async () => {
    const { url, token } = on();
    const authorization = `Bearer ${token}`;
    const json = { authorization, 'content-type': 'application/json' };
    const asked = [
      { headers: { authorization } },
      { headers: json },
      { headers: json, body: '' },
      { headers: json, body: '{}' },
    ];
    const replies = await Promise.all(asked.map((one) => send(url, { method, path, ...one })));
    for (const reply of replies) {
      expect(reply.json()).toEqual(replies[3]?.json());
      if (needed.length > 0)
        expect(reply.json()).toMatchObject({
          code: 'invalid',
          error: expect.stringMatching(new RegExp(`^body\\.(${needed.join('|')})`)),
        });
      // Where nothing is missing, it is the entity that is not there.
      else if (path.includes('sess_0123'))
        expect(reply.json()).toMatchObject({ code: 'not_found' });
      // One of three fields is needed, whichever.
      else if (path === '/v1/budgets')
        expect(reply.json()).toEqual({
          code: 'invalid',
          error: 'body: a budget requires at least one limit: add tokens, cost_usd or turns',
        });
      else expect(reply.status).toBe(200);
    }
  });

  test('The body has to be an object.', async () => {
    const { url, token } = on();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    for (const body of ['[]', '"x"', '1', 'true', 'null']) {
      const reply = await send(url, { method, path, headers, body });
      expectRefusal(reply, 400, 'invalid');
    }
  });

  test('The body has to be JSON, and to say so.', async () => {
    const { url, token } = on();
    const authorization = `Bearer ${token}`;
    const body = '{"provider":"acp"}';
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ];
    types.push('text/json', 'application/jsonp', 'nonsense', 'application/octet-stream');
    for (const type of types) {
      const reply = await send(url, {
        method,
        path,
        headers: { authorization, 'content-type': type },
        body,
      });
      expect([type, reply.status]).toEqual([type, 415]);
      expect(reply.json()).toMatchObject({ code: 'unsupported_media_type' });
    }
    const unprompted = await send(url, { method, path, headers: { authorization }, body });
    expect(unprompted.status).toBe(415);
  });

  test('The body is taken with a charset, and with the type written in capitals.', async () => {
    const { url, token } = on();
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': type };
      const reply = await send(url, { method, path, headers, body: '{"nonsense":1}' });
      expect(reply.status).toBe(400);
    }
  });

  test('The body is refused with what is wrong where it is not valid JSON.', async () => {
    const { url, token } = on();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    for (const body of ['{', '{"a":1,}', "{'a':1}", 'undefined', '{"a":1}{']) {
      const reply = await send(url, { method, path, headers, body });
      expect([body, reply.status]).toEqual([body, 400]);
      expect(reply.json()).toMatchObject({
        code: 'invalid',
        error: expect.stringMatching(/^the request body is not valid JSON: /),
      });
    }
  });
});

test('The size of a body may be up to 256 KiB, and not a byte more, announced or not.', async () => {
  const { url, token } = await testRuntime(options());
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sized = (bytes: number) =>
    JSON.stringify({ provider: 'acp', title: 'a' }).padEnd(bytes, ' ');
  const ask = (bytes: number, more: object = {}) =>
    send(url, {
      method: 'POST',
      path: '/v1/sessions',
      headers: { ...headers, ...more },
      body: sized(bytes),
    });
  expect((await ask(256 * 1024)).status).toBe(200);
  for (const more of [{}, { 'transfer-encoding': 'chunked' }]) {
    const reply = await ask(256 * 1024 + 1, more);
    expectRefusal(
      reply,
      413,
      'payload_too_large',
      'the request body is larger than this route allows',
    );
  }
});

test('The size of a body of a turn may be up to 8 MiB.', async () => {
  const { url, token, client, directory } = await testRuntime({
    providers: [scriptedProvider((turn) => turn.end({ status: 'completed', error: null }))],
  });
  const { id } = await client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: directory },
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const path = `/v1/sessions/${id}/turns`;
  const limit = 8 * 1024 * 1024;
  const letters = atLength(1024 * 1024, limit - 100, limit - 100);
  const turn = JSON.stringify({ input: [{ type: 'text', text: 'x'.repeat(letters) }] });
  const statusOf = async (bytes: number) =>
    (await send(url, { method: 'POST', path, headers, body: turn.padEnd(bytes) })).status;
  expect(await statusOf(limit)).toBe(200);
  expect(await statusOf(limit + 1)).toBe(413);
});

/** Every number that a query takes, with what is just outside its range. */
const outOfRange = [
  [
    '/v1/sessions',
    'limit',
    ['0', '501', '-1', '1.5', '1e2', '0x10', '', '%201', 'NaN', 'all', '99999999999999999999'],
  ],
  ['/v1/sessions', 'cursor', ['-1', 'x', '1.0', '', '9999999999999999', '%20']],
  ['/v1/sessions/ID/turns', 'limit', ['0', '501', 'x']],
  [
    '/v1/events',
    'after_seq',
    ['-1', '1.5', '9007199254740992', '9007199254740993', 'latest', '', 'x'],
  ],
  ['/v1/events', 'limit', ['0', '10001', '-5', 'x', '']],
  ['/v1/sessions/ID/events', 'after_seq', ['-1', 'latest', '9007199254740992']],
  ['/v1/sessions/ID/events', 'limit', ['0', '10001']],
  ['/v1/events/stream', 'after_seq', ['-1', '1.5', '9007199254740992', 'newest', '']],
  ['/v1/sessions/ID/events/stream', 'after_seq', ['-1', 'Latest', 'x']],
  ['/v1/processes', 'limit', ['0', '501', 'x']],
  ['/v1/worktrees', 'limit', ['0', '501', 'x']],
  ['/v1/processes/ID/logs', 'tail_lines', ['-1', '10001', '1.5', '', 'all']],
  ['/v1/processes/ID/logs', 'max_bytes', ['0', '4194305', '-1', 'x', '']],
  ['/v1/processes/ID/logs/stream', 'from_byte', ['-1', '1.5', '9007199254740992', 'end', '']],
  ['/v1/processes/ID/wait', 'timeout_ms', ['-1', '60001', '0.5', '']],
  ['/v1/processes/ID/events', 'after_seq', ['-1', 'latest', '9007199254740992']],
  ['/v1/processes/ID/events/stream', 'after_seq', ['-1', 'Latest', 'x']],
] as const;

test.for(outOfRange)(
  'The path %s with %s refuses the values %j by name, and does not clamp them.',
  async ([path, name, values]) => {
    const { url, token, client, directory } = on();
    const { id } = await client.call(endpoints.createSession, {
      body: { provider: 'acp', cwd: directory },
    });
    for (const value of values) {
      const reply = await send(url, {
        path: `${path.replace('ID', id)}?${name}=${value}`,
        headers: { authorization: `Bearer ${token}` },
      });
      expect([value, reply.status]).toEqual([value, 400]);
      expect(reply.json()).toMatchObject({
        code: 'invalid',
        error: expect.stringContaining(`query.${name}`),
      });
    }
  },
);

test('A number in a query is taken at both ends of its range.', async () => {
  const { url, token } = on();
  const good = ['/v1/sessions?limit=1', '/v1/sessions?limit=500', '/v1/sessions?cursor=0'];
  good.push('/v1/events?limit=1', '/v1/events?limit=10000', '/v1/events?after_seq=0');
  good.push('/v1/events?after_seq=9007199254740991');
  for (const path of good) {
    const reply = await send(url, { path, headers: { authorization: `Bearer ${token}` } });
    expect([path, reply.status]).toEqual([path, 200]);
  }
});

test('A number in a query may be given once.', async () => {
  const { url, token } = on();
  const path = '/v1/events?limit=1&limit=2';
  const reply = await send(url, { path, headers: { authorization: `Bearer ${token}` } });
  expectRefusal(reply, 400, 'invalid', 'query: the parameter "limit" occurs more than once');
});
