import { once } from 'node:events';
import net from 'node:net';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { connectionLimit } from '../../../src/server/http/app.ts';
import { sharedRuntime, type TestRuntime, testRuntime } from '../../support/runtime.ts';
import { testServer } from '../../support/server.ts';
import { scaled } from '../../support/patience.ts';

/** No limit that a slow machine meets. */
const SOON = { timeout: scaled(15_000) };

interface Wire {
  socket: net.Socket;
  said: () => string;
  /** Resolves when the server has ended it. */
  ended: Promise<unknown>;
}

/** A connection that sends only the given bytes. */
async function connect({ url }: { url: string }, text = ''): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  let said = '';
  socket.setEncoding('utf8').on('data', (part: string) => (said += part));
  socket.on('error', () => undefined);
  const ended = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  socket.write(text);
  return { socket, said: () => said, ended };
}

const post = (given: { token: string }, token = given.token) =>
  `POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"provi';
const stream = ({ token }: { token: string }) =>
  `GET /v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`;

const health = async ({ url }: { url: string }) =>
  (await fetch(`${url}/health`, { headers: { connection: 'close' } })).status;

const quick = {
  config: {
    server: { bind_address: '127.0.0.1:0', drain_ms: 200, request_timeout_ms: scaled(300) },
  },
};
const narrow = {
  config: { server: { bind_address: '127.0.0.1:0', drain_ms: 200, max_connections: 8 } },
};

const on = sharedRuntime(quick);

test('A request that does not arrive is cut: a body that comes slowly, with an answer.', async () => {
  const given = on();
  const { said, ended } = await connect(given, post(given));
  await ended;
  expect(said()).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(said()).toContain('{"error":"the request did not arrive in time","code":"invalid"}');
  expect(given.logLines().filter(({ level }) => level === 'error')).toEqual([]);
});

test.for(['', 'GET /health HTTP/1.1\r\nHost: 127', 'P'])(
  'A request that does not arrive is cut: a head that does not end, %j.',
  async (head) => {
    const given = on();
    const { ended } = await connect(given, head);
    await ended;
    expect(await health(given)).toBe(200);
  },
);

test('A request that does not arrive does not mean a stream, which lives on for as long as it likes.', async () => {
  const given = on();
  const follower = await connect(given, stream(given));
  for (let i = 0; i < 4; i++) await (await connect(given)).ended;
  const before = follower.said().length;
  const { client } = given;
  await client.call(endpoints.createProcess, { body: { command: 'true' } });
  await expect.poll(() => follower.said().length, SOON).toBeGreaterThan(before);
  expect(follower.socket.readyState).toBe('open');
  follower.socket.destroy();
});

const onUsual = sharedRuntime();

test.for<[name: string, text: (given: TestRuntime) => string, status: number]>([
  ['without a valid token', (given) => post(given, 'wrong'), 401],
  [
    'for another host',
    (given) => post(given).replace('Host: 127.0.0.1', 'Host: evil.example'),
    403,
  ],
  ['for no route', (given) => post(given).replace('/v1/sessions', '/v1/nothing'), 404],
  ['of another type', (given) => post(given).replace('application/json', 'text/plain'), 415],
  ['that says it is too large', (given) => post(given).replace('1000', '10000000'), 413],
])(
  'A request %s is answered before its body, and its connection ends.',
  async ([, text, status]) => {
    const given = onUsual();
    const { said, ended } = await connect(given, text(given));
    // No time limit of a request is in play here: it is a minute.
    await ended;
    expect(said()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(said().toLowerCase()).toContain('connection: close');
  },
);

test('A client that sends the whole of a too large body reads the refusal.', async () => {
  const given = onUsual();
  const headers = { authorization: `Bearer ${given.token}`, 'content-type': 'application/json' };
  for (let round = 0; round < 5; round++) {
    const body = Buffer.alloc(12 * 1024 * 1024, 32);
    const reply = await fetch(`${given.url}/v1/sessions`, { method: 'POST', headers, body });
    expect([reply.status, await reply.json()]).toEqual([
      413,
      { error: 'the request body is larger than this route allows', code: 'payload_too_large' },
    ]);
  }
});

test('A request that is refused before its body has come keeps its connection where there is none to come.', async () => {
  const given = onUsual();
  const { socket, said } = await connect(given, stream({ token: 'wrong' }));
  await expect.poll(said, SOON).toContain('missing or invalid bearer token');
  socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await expect.poll(said, SOON).toContain('{"status":"');
  socket.destroy();
});

test('Connections above the limit end the oldest that are not used, and no stream.', async () => {
  const given = await testRuntime(narrow);
  const followers = [await connect(given, stream(given)), await connect(given, stream(given))];
  for (const { said } of followers) await expect.poll(said, SOON).toContain('retry: 1000');
  const silent = [];
  for (let i = 0; i < 40; i++) {
    silent.push(await connect(given, i % 2 === 0 ? '' : post(given)));
    if (i % 10 === 0) expect(await health(given)).toBe(200);
  }
  await Promise.all(silent.slice(0, 30).map(({ ended }) => ended));
  expect(await health(given)).toBe(200);
  expect(followers.map(({ socket }) => socket.readyState)).toEqual(['open', 'open']);
  for (const { socket } of [...followers, ...silent]) socket.destroy();
});

test('Connections above the limit are ended themselves where all others are used.', async () => {
  const given = await testRuntime(narrow);
  const followers = [];
  for (let i = 0; i < 8; i++) followers.push(await connect(given, stream(given)));
  for (const { said } of followers) await expect.poll(said, SOON).toContain('retry: 1000');
  await (
    await connect(given)
  ).ended;
  expect(followers.every(({ socket }) => socket.readyState === 'open')).toBe(true);
  followers[0]?.socket.destroy();
  await expect.poll(() => health(given).catch(() => 0), SOON).toBe(200);
  for (const { socket } of followers) socket.destroy();
});

test(
  'Connections above the limit do not use up the file descriptors: 400 silent ones against a server that may have 200.',
  { timeout: scaled(60_000) },
  async () => {
    const server = await testServer({
      wrap: ['/bin/sh', '-c', 'ulimit -n 200 && exec "$@"', 'sh'],
    });
    const silent = [];
    for (let i = 0; i < 400; i++) silent.push(await connect(server));
    for (let i = 0; i < 10; i++) expect(await health(server)).toBe(200);
    const body = { command: 'echo still here' };
    const { process } = await server.client.call(endpoints.createProcess, { body });
    const params = { process_id: process.process_id };
    const waited = await server.client.call(endpoints.waitForProcess, { params });
    expect(waited.process.status).toBe('completed');
    for (const { socket } of silent) socket.destroy();
  },
);

test.for([
  [8192, 1_048_576, 8192],
  [8192, 1024, 512],
  [8192, 200, 100],
  [100, 1_048_576, 100],
  [8192, 1, 1],
])(
  'With %i configured connections and %i descriptors, %i connections may be open.',
  ([configured, descriptors, wanted]) => {
    expect(connectionLimit(configured ?? 0, descriptors)).toBe(wanted);
  },
);

test('A server with the address localhost listens on one address, so that its limits apply to all connections.', async () => {
  const config = { server: { bind_address: 'localhost:0' } };
  const given = await testRuntime({ config });
  const { hostname, port } = new URL(given.url);
  expect(hostname).toBe('127.0.0.1');
  const other = net.connect(Number(port), '::1');
  await expect(once(other, 'connect')).rejects.toThrow(/ECONNREFUSED|EADDRNOTAVAIL/);
  expect(await health(given)).toBe(200);
});
