import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { testRuntime, sharedRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession, send as sendTurn } from '../../support/turns.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { apiOf, expectRefusal, send } from '../../support/http/request.ts';
import { openStream } from '../../support/http/stream.ts';

const on = sharedRuntime({ providers: [scriptedProvider()] });

test.for(['12345678901234567890', '9007199254740993', '1e400', '0.12345678901234567890123'])(
  'The number %s, which would be stored as another one, is refused by name.',
  async (number) => {
    const given = on();
    const api = apiOf(given);
    for (const [path, body] of [
      ['/v1/sessions', `{"provider":"acp","metadata":{"id":${number}}}`],
      ['/v1/mcp/invoke', `{"tool_name":"x","caller_agent_id":"y","args":{"id":[${number}]}}`],
    ] as const) {
      const reply = await api('POST', path, { body });
      expectRefusal(
        reply,
        400,
        'invalid',
        `the request body contains numbers that cannot be stored exactly (${number}): send these numbers as strings`,
      );
    }
  },
);

test.for([
  [
    '/v1/sessions/sess_x/approvals/apr_x',
    '{"decision":"accept","answers":{"q":["a"],"__proto__":["b"]}}',
    'body.answers',
  ],
  [
    '/v1/sessions',
    '{"provider":"acp","mcp_servers":[{"type":"stdio","name":"a","command":"b","env":{"__proto__":"c"}}]}',
    'body.mcp_servers.0.env',
  ],
  [
    '/v1/sessions',
    '{"provider":"acp","mcp_servers":[{"type":"http","name":"a","url":"http://x.example","headers":{"__proto__":"c"}}]}',
    'body.mcp_servers.0.headers',
  ],
] as const)(
  'The name __proto__ is refused and not dropped, at %s in %s.',
  async ([path, body, field]) => {
    const reply = await apiOf(on())('POST', path, { body });
    expectRefusal(
      reply,
      400,
      'invalid',
      `${field}: the name "__proto__" is not accepted: use another name`,
    );
  },
);

test('A number in a body that is kept comes back as it was sent, and digits in a text stay text.', async () => {
  const given = on();
  const metadata = '{"a":9007199254740991,"b":0.1,"c":"12345678901234567890","d":1e100}';
  const reply = await apiOf(given)('POST', '/v1/sessions', {
    body: `{"provider":"acp","metadata":${metadata}}`,
  });
  expect(reply.status).toBe(200);
  expect(reply.text).toContain(metadata.replace('1e100', '1e+100'));
});

test.for(['gzip', 'br', 'deflate', 'GZIP'])('A compressed body of %s is 415.', async (encoding) => {
  const { url, token } = on();
  const reply = await send(url, {
    method: 'POST',
    path: '/v1/sessions',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-encoding': encoding,
    },
    body: gzipSync('{"provider":"acp"}').toString('latin1'),
  });
  expectRefusal(reply, 415, 'unsupported_media_type');
});

test.for<[name: string, type: string, status: number]>([
  ['no charset', 'application/json', 400],
  ['the charset utf-8', 'application/json; charset=utf-8', 400],
  ['another charset', 'application/json; charset=iso-8859-1', 415],
])('A body that is not UTF-8 is refused with %s.', async ([, type, status]) => {
  const { url, token } = on();
  const headers = { authorization: `Bearer ${token}`, 'content-type': type };
  const body = Buffer.from('{"provider":"acp","title":"caf\u00e9"}', 'latin1');
  const reply = await fetch(`${url}/v1/sessions`, { method: 'POST', headers, body });
  expect(reply.status).toBe(status);
  expect(await reply.json()).toMatchObject({ error: expect.stringContaining('UTF-8') as string });
});

test('CONNECT is refused with status 405 and a body.', async () => {
  const { url, token } = on();
  const { port } = new URL(url);
  const socket = net.connect(Number(port), '127.0.0.1');
  socket.end(
    `CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  const reply = Buffer.concat(await Array.fromAsync(socket as AsyncIterable<Buffer>)).toString();
  expect(reply).toMatch(/^HTTP\/1.1 405 .*"method_not_allowed"\}$/s);
});

test('A body with the encoding "identity" is accepted.', async () => {
  const given = on();
  const headers = { 'content-encoding': 'identity' };
  const body = { provider: 'acp' };
  expect((await apiOf(given)('POST', '/v1/sessions', { body, headers })).status).toBe(200);
});

test('A public route does not show how much happens here: it has no X-Seq and no X-Epoch.', async () => {
  const { url } = on();
  for (const path of ['/health', '/openapi.yaml', '/nope'])
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await send(url, { method, path });
      expect([headers['x-seq'], headers['x-epoch']]).toEqual([undefined, undefined]);
    }
});

test('A public route takes any query, as of monitors that keep caches away.', async () => {
  const { url } = on();
  for (const path of ['/health?t=1', '/health?_=123&_=456', '/openapi.yaml?v=2'])
    expect((await send(url, { path })).status).toBe(200);
});

test('A provider that the interface does not name is 404, one that this server does not have is not.', async () => {
  const given = on();
  const api = apiOf(given);
  const unknown = await api('GET', '/v1/providers/foo/models');
  expectRefusal(unknown, 404, 'not_found', 'unknown provider "foo": expected codex, claude, acp');
  expect((await api('GET', '/v1/providers/codex/models')).status).not.toBe(404);
  expect((await api('GET', '/v1/providers/acp/models')).status).toBe(200);
});

test('A connection that is idle when the server begins to stop has its next request answered.', async () => {
  const directory = testDirectory();
  const provider = scriptedProvider();
  const config = { server: { bind_address: '127.0.0.1:0', drain_ms: 60_000 } };
  const given = await testRuntime({ providers: [provider], config, directory });
  const { url, token, client } = given;
  const { id } = await openSession(client, directory);
  await sendTurn(client, id, 'go');
  const turn = await provider.nextTurn();
  const { hostname: host, port } = new URL(url);
  const request = (line: string) =>
    `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`;
  const kept = await Promise.all(
    [0, 1].map(async () => {
      const socket = net.connect({ host, port: Number(port) });
      const said = { text: '' };
      socket.on('data', (part) => (said.text += String(part)));
      socket.write(request('GET /v1/version'));
      await expectEventually(() => said.text).toContain('"epoch"');
      said.text = '';
      return { socket, said };
    }),
  );
  const stream = await openStream(given);
  const stopping = given.runtime.stop();
  await stream.until(() => stream.events().some(({ kind }) => kind === 'runtime.stopping'));
  const [reader, changer] = kept;
  reader?.socket.write(request(`GET /v1/sessions/${id}`));
  changer?.socket.write(request('POST /v1/sessions'));
  await expectEventually(() => reader?.said.text).toMatch(/^HTTP\/1\.1 200 /);
  await expectEventually(() => changer?.said.text).toMatch(/^HTTP\/1\.1 503 /);
  await expect(openStream(given)).rejects.toThrow(/ECONNREFUSED/);
  turn.end(completed);
  await stopping;
  client.close();
});
