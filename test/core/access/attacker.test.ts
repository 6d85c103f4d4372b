import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import type { z } from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import {
  sharedHarness,
  type Harness,
  type HarnessOptions,
  testHarness,
} from '../../support/sessions/harness.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { table, unauthorized } from '../../support/http/request.ts';
import { atLength, someOf } from '../../support/at-length.ts';

/** The endpoints to attack (a tenth of them in the suite), and paths that do not exist. */
const endpointsAttacked = someOf(table, 10);
const targets = [
  ...endpointsAttacked.map(({ endpoint: { method, path, access }, request }) => {
    return { request, method, path, isOpen: access === 'public' };
  }),
  ...['GET /v1/nope', 'POST /v1/nope', 'PUT /v1/sessions', 'GET /v1/%zz'].map((request) => {
    return { request, ...split(request), isOpen: false };
  }),
  ...['GET /', 'GET /nope', 'POST /health'].map((request) => {
    return { request, ...split(request), isOpen: true };
  }),
];

function split(request: string): { method: string; path: string } {
  const [method = '', path = ''] = request.split(' ');
  return { method, path };
}

/** Host headers of a request for another name. PORT stands for the port of the server. */
const foreignHosts: readonly (readonly string[])[] = [
  ['evil.example'],
  ['evil.example:PORT'],
  ['127.0.0.1.evil.example:PORT'],
  ['localhost.evil:PORT'],
  ['[::1].evil:PORT'],
  ['evil.localhost:PORT'],
  [],
  [''],
  ['evil.example:PORT', '127.0.0.1:PORT'],
  ['127.0.0.1:PORT', 'evil.example:PORT'],
  ['127.0.0.1:PORT, evil.example:PORT'],
  ['evil.example@127.0.0.1:PORT'],
  ['127.0.0.1:PORT@evil.example'],
  ['http://127.0.0.1:PORT'],
  ['127.0.0.1:PORT/evil.example'],
  ['127.0.0.1 evil.example'],
  ['127.0.0.1:'],
  ['127.0.0.1:PORTPORT'],
  ['localhost.:PORT'],
  ['127.0.0.1.:PORT'],
  ['2130706433:PORT'],
  ['0x7f000001:PORT'],
  ['0177.0.0.1:PORT'],
  ['127.1:PORT'],
  ['127.0.0.2:PORT'],
  ['0.0.0.0:PORT'],
  ['[::]:PORT'],
  ['::1'],
  ['[0:0:0:0:0:0:0:1]:PORT'],
  ['[::ffff:127.0.0.1]:PORT'],
  ['[::1%25lo]:PORT'],
];

/** Origins that are not allowed, including the server's own address, which serves no pages. */
const foreignOrigins = [
  'http://evil.example',
  'null',
  '',
  'http://localhost.evil',
  'http://127.0.0.1.evil.example:PORT',
  'https://127.0.0.1:1',
  'https://127.0.0.1:PORT',
  'http://127.0.0.1:PORT',
  'http://localhost:PORT',
  'http://[::1]:PORT',
  'file://',
  'chrome-extension://abcdefghijklmnop',
];

/** Returns a different tenth of the attacks for each target, and all attacks in a test at length. */
function someFor<T>(target: (typeof targets)[number], attacks: readonly T[]): T[] {
  const turn = targets.indexOf(target);
  const share = atLength(10, 1);
  return attacks.filter((_, at) => (at + turn) % share === 0);
}

/** Bodies that a page may send to any address without a preflight. */
const simpleBodies: readonly [type: string, body: string][] = [
  ['text/plain', '{"provider":"acp"}'],
  ['text/plain;charset=UTF-8', '{"reason":"x"}'],
  ['application/x-www-form-urlencoded', 'provider=acp&reason=x'],
  [
    'multipart/form-data; boundary=x',
    '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n--x--',
  ],
];

const hostRefusal = { error: expect.any(String), code: 'forbidden_host' };
const originRefusal = { error: expect.any(String), code: 'forbidden_origin' };

const victim = attacked();

test.for(targets)(
  'A page under a foreign host gets nothing from $request, with or without a token.',
  async (target) => {
    const { harness, raw, unchanged } = victim();
    const before = await unchanged();
    for (const hosts of someFor(target, foreignHosts)) {
      for (const headers of [[], [`Authorization: Bearer ${harness.given.token}`]]) {
        const reply = await raw({ ...target, hosts, headers });
        expect([hosts, reply.status, reply.body]).toEqual([hosts, 403, hostRefusal]);
        expect(reply.cors).toEqual([]);
      }
    }
    expect(await unchanged()).toEqual(before);
  },
);

test.for(targets)(
  'A request to $request with the full URL of another host is refused.',
  async (target) => {
    const { raw } = victim();
    for (const origin of [
      'http://evil.example',
      'http://evil.example:PORT',
      'http://127.0.0.1:PORT',
    ]) {
      const reply = await raw({
        ...target,
        path: `${origin}${target.path}`,
        hosts: ['evil.example'],
      });
      expect([origin, reply.status, reply.body]).toEqual([origin, 403, hostRefusal]);
    }
  },
);

test('A request with the full URL of another host and the own Host is refused.', async () => {
  const { harness, raw } = victim();
  const headers = [`Authorization: Bearer ${harness.given.token}`];
  const reply = await raw({ method: 'GET', path: 'http://evil.example/v1/version', headers });
  expect(reply.status).toBe(403);
});

describe('a page of another origin', () => {
  const victim = attacked();

  test.for(targets)(
    'A page of another origin gets nothing from $request, with or without a token.',
    async (target) => {
      const { harness, raw, unchanged } = victim();
      const before = await unchanged();
      for (const origin of someFor(target, foreignOrigins)) {
        for (const token of [[], [`Authorization: Bearer ${harness.given.token}`]]) {
          const reply = await raw({ ...target, headers: [`Origin: ${origin}`, ...token] });
          expect([origin, reply.status, reply.body]).toEqual([origin, 403, originRefusal]);
          expect(reply.cors).toEqual([]);
        }
      }
      expect(await unchanged()).toEqual(before);
    },
  );

  test.for(targets)(
    'A preflight of another origin for $request is refused without CORS headers.',
    async (target) => {
      const { raw, unchanged } = victim();
      const before = await unchanged();
      const asking = [
        `Access-Control-Request-Method: ${target.method}`,
        'Access-Control-Request-Headers: authorization, content-type',
        'Access-Control-Request-Private-Network: true',
      ];
      const preflight = { ...target, method: 'OPTIONS' };
      for (const origin of someFor(target, foreignOrigins)) {
        const reply = await raw({ ...preflight, headers: [`Origin: ${origin}`, ...asking] });
        expect([origin, reply.status, reply.body]).toEqual([origin, 403, originRefusal]);
        expect(reply.cors).toEqual([]);
      }
      const bound = await raw({ ...preflight, hosts: ['evil.example:PORT'], headers: asking });
      expect([bound.status, bound.body, bound.cors]).toEqual([403, hostRefusal, []]);
      expect(await unchanged()).toEqual(before);
    },
  );

  test.for(targets)(
    'A simple request to $request from another origin is refused and changes nothing.',
    async (target) => {
      const { raw, unchanged } = victim();
      const before = await unchanged();
      for (const [type, body] of simpleBodies) {
        for (const origin of someFor(target, foreignOrigins)) {
          const headers = [`Content-Type: ${type}`, `Origin: ${origin}`];
          const reply = await raw({ ...target, method: 'POST', headers, body });
          expect([type, reply.status, reply.body]).toEqual([type, 403, originRefusal]);
          expect(reply.cors).toEqual([]);
        }
      }
      expect(await unchanged()).toEqual(before);
    },
  );

  test.for(targets)(
    'A request to $request without an Origin header needs the token.',
    async (target) => {
      const { harness, raw, unchanged } = victim();
      const before = await unchanged();
      // After this minute, the failures of the test before do not delay these responses.
      harness.clock.advance(60_000);
      for (const [type, body] of simpleBodies) {
        const headers = [`Content-Type: ${type}`];
        const form = await raw({ ...target, method: 'POST', headers, body });
        if (target.path.startsWith('/v1')) expect(form.body).toEqual(unauthorized);
        expect([401, 404, 405]).toContain(form.status);
        expect(form.cors).toEqual([]);
      }
      const headers = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors', 'Cookie: token=x'];
      const image = await raw({ ...target, method: 'GET', headers });
      if (target.isOpen) expect([200, 404]).toContain(image.status);
      else expect([image.status, image.body]).toEqual([401, unauthorized]);
      expect(image.cors).toEqual([]);
      expect(await unchanged()).toEqual(before);
    },
  );
});

describe('an allowed host and origin', () => {
  const config = {
    server: {
      bind_address: '127.0.0.1:0',
      allowed_hosts: ['box.lan'],
      allowed_origins: ['https://app.example'],
    },
  };
  const allowed = ['Origin: https://app.example'];
  const nearHosts = [
    'xbox.lan',
    'a.box.lan',
    'box.lan.',
    'box.lan.evil',
    'box-lan',
    'box.lan@evil',
  ];
  const nearOrigins = ['http://app.example', 'https://app.example:443', 'https://app.example/'];
  nearOrigins.push('https://APP.example', 'https://app.example.evil', 'https://a.app.example');
  nearOrigins.push('https://app.example, https://app.example', 'app.example', 'null');

  const victim = attacked({ config });

  const open = ['access-control-allow-origin', 'access-control-expose-headers'];

  test.for(targets)(
    'Only the allowed host and origin reach $request, and similar names do not.',
    async (target) => {
      const { harness, raw } = victim();
      const token = `Authorization: Bearer ${harness.given.token}`;
      for (const hosts of [['box.lan'], ['BOX.lan:PORT'], ['127.0.0.1:PORT']]) {
        // An admitted request is refused for its query. Public routes accept any query.
        const asked = { ...target, path: `${target.path}?nonsense=1`, hosts };
        const reply = await raw({ ...asked, headers: [...allowed, token] });
        expect(target.isOpen ? [200, 404, 405] : [400, 404, 405]).toContain(reply.status);
        expect(reply.cors.map((name) => name.toLowerCase())).toEqual(open);
      }
      for (const host of nearHosts) {
        const reply = await raw({ ...target, hosts: [host], headers: [...allowed, token] });
        expect([host, reply.status, reply.body]).toEqual([host, 403, hostRefusal]);
        expect(reply.cors).toEqual([]);
      }
      for (const origin of nearOrigins) {
        const headers = [`Origin: ${origin}`, token];
        const reply = await raw({ ...target, hosts: ['box.lan'], headers });
        expect([origin, reply.status, reply.body]).toEqual([origin, 403, originRefusal]);
        expect(reply.cors).toEqual([]);
      }
      const twice = await raw({ ...target, headers: [...allowed, 'Origin: http://evil.example'] });
      expect([twice.status, twice.body]).toEqual([403, originRefusal]);
    },
  );
});

describe('a request with the token', () => {
  const victim = attacked();
  const reads = endpointsAttacked.filter(({ endpoint: { method } }) => method === 'GET');
  const changes = endpointsAttacked.filter(({ endpoint: { method } }) => method !== 'GET');

  test.for(reads)(
    'A read of $request with the token and the right host is admitted.',
    ({ endpoint }) => expectLetIn(victim(), endpoint),
  );

  // Each request may change data that the next one needs, so that each has its own harness.
  test.for(changes)(
    'A change by $request with the token and the right host is admitted.',
    async ({ endpoint }) => {
      const harness = await testHarness();
      return expectLetIn(await victimOf(harness), endpoint);
    },
  );
});

async function expectLetIn(
  { harness, raw }: Victim,
  endpoint: (typeof table)[number]['endpoint'],
): Promise<void> {
  const { method, path: place } = endpoint;
  const headers = [`Authorization: Bearer ${harness.given.token}`];
  const body = JSON.stringify(
    goodBodyOf(endpoint, () => path.join(harness.directory, '..', 'repo')),
  );
  if (endpoint.body) headers.push('Content-Type: application/json');
  const request = { method, path: place, headers };
  const reply = await raw({ ...request, ...(endpoint.body ? { body } : {}) });
  // A route of a provider that this server does not have answers an admitted request with this error.
  const { code = null } = (reply.body ?? {}) as { code?: string | null };
  const done = [200, 202, 204, 404, 409].includes(reply.status);
  expect(done ? 'provider_unavailable' : code).toBe('provider_unavailable');
}

/** A request whose bytes the test determines. */
interface Raw {
  method: string;
  /** The path; its parameters are filled in. */
  path: string;
  /** The values of the Host headers (default: the address of the server). */
  hosts?: readonly string[];
  headers?: readonly string[];
  body?: string;
}

interface RawReply {
  status: number;
  body: unknown;
  /** The names of the CORS headers of the response. */
  cors: string[];
}

/** A runtime with records of each kind, and the requests of an attacker. */
interface Victim {
  harness: Harness;
  raw: (request: Raw) => Promise<RawReply>;
  /** Reads the newest event; each change adds one. */
  unchanged: () => Promise<unknown>;
  /** Reads all records that an attack could change. */
  holdings: () => Promise<unknown>;
}

/** Returns a victim for all tests of a `describe`; expects that they change nothing. */
function attacked(options: HarnessOptions = {}): () => Victim {
  const harness = sharedHarness(options);
  let victim: Victim | undefined;
  let before: unknown;
  beforeAll(async () => {
    victim = await victimOf(harness());
    before = await victim.holdings();
  });
  afterAll(async () => {
    expect(await victim?.holdings()).toEqual(before);
  });
  return () => victim ?? expect.unreachable();
}

async function victimOf(harness: Harness): Promise<Victim> {
  const params = await something(harness);
  const fill = (path: string) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '0123');
  const lists = table.filter(
    ({ endpoint: { method, answers, query } }) =>
      method === 'GET' && answers === 'json' && ('cursor' in query || 'after_seq' in query),
  );
  const read = async (path: string) => {
    const { headers, body } = await harness.get<unknown>(path);
    return [path, headers.get('x-seq'), body];
  };
  return {
    harness,
    raw: (request) => sendRaw(harness.given.url, { ...request, path: fill(request.path) }),
    unchanged: () => read('/v1/events?limit=1'),
    holdings: () => Promise.all(lists.map(({ endpoint }) => read(fill(endpoint.path)))),
  };
}

/** Starts a turn with a pending approval, and makes a team, a message and a token. Returns the parameters of paths. */
async function something(harness: Harness): Promise<Record<string, string>> {
  const { client } = harness.given;
  const { session, turn } = await harness.atWork();
  await turn.sink.update({ type: 'message', text: 'hello' });
  void turn.ask();
  const approval = await harness.asked(session.id);
  const params = { session_id: session.id, turn_id: approval.turn_id };
  const [item] = await client.call(endpoints.listItems, { params });
  const token = await client.call(endpoints.createToken, { body: { name: 'ci', scope: 'admin' } });
  const { team } = await client.call(endpoints.createTeam, {
    body: { name: 'a team', lead_agent_id: session.id },
  });
  const { message, deliveries } = await client.call(endpoints.broadcast, {
    params: { team_id: team.id },
    body: {
      sender_agent_id: session.id,
      input: { type: 'text', text: 'hello' },
      include_sender: true,
    },
  });
  return {
    ...params,
    team_id: team.id,
    agent_id: session.id,
    message_id: message.id,
    delivery_id: deliveries[0]?.id ?? '',
    approval_id: approval.id,
    item_id: item?.item_id ?? '',
    token_id: token.id,
    provider: 'acp',
  };
}

function goodBodyOf({ body }: (typeof table)[number]['endpoint'], place: () => string): object {
  const good = {
    tool_name: 'cadre_process_status',
    caller_agent_id: `sess_${'0'.repeat(32)}`,
    provider: 'acp',
    input: [{ type: 'text', text: 'hi' }],
    decision: 'accept',
    effect: 'deny',
    name: 'a-name',
    prompt: 'hi',
    contenders: [{ provider: 'acp' }, { provider: 'acp' }],
    contender: 'acp-1',
    scope: 'read',
    command: 'true',
    api_key: 'sk-not-a-key',
    auth_json: {},
    session_id: '0123',
    source_session_id: '0123',
    worktree_name: 'tree',
    lead_agent_id: '0123',
    agent_id: '0123',
    sender_agent_id: '0123',
    recipient_agent_id: '0123',
    tokens: 1000,
    sha256: '0'.repeat(64),
    file: 'a.txt',
    enabled: true,
    turn_id: 'turn_0123',
    first_line: 1,
    lines: ['+x'],
    text: 'why',
  };
  const shape = (body as { shape?: Record<string, z.ZodType> } | null)?.shape ?? {};
  // The same field has different values in different bodies, such as the scope of a token or an approval.
  const known = Object.fromEntries(
    Object.entries(good).filter(([name, value]) => shape[name]?.safeParse(value).success),
  );
  if ('first_line' in shape) return { ...known, path: 'a.ts' };
  if ('contenders' in shape) return { ...known, cwd: makeRepository(place()) };
  return 'repo_root' in shape ? { ...known, repo_root: makeRepository(place()) } : known;
}

/** Sends a request without a client library, which would correct it; resolves with the response or its head. */
async function sendRaw(url: string, request: Raw): Promise<RawReply> {
  const { hostname, port } = new URL(url);
  const { method, path, hosts = [`${hostname}:${port}`], headers = [], body } = request;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...hosts.map((host) => `Host: ${host}`),
    ...headers,
    ...(body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    'Connection: close',
  ].map((line) => `${line.replaceAll('PORT', port)}\r\n`);
  const socket = net.connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.write(`${lines.join('')}\r\n${body ?? ''}`);
  let text = '';
  for await (const part of socket.setEncoding('utf8')) {
    text += part as string;
    if (/content-type: text\/event-stream[^]*\r\n\r\n/i.test(text)) break;
  }
  const end = text.indexOf('\r\n\r\n');
  const head = text.slice(0, end);
  const isChunked = /^transfer-encoding: chunked$/im.test(head.replaceAll('\r', ''));
  const given = isChunked ? unchunked(text.slice(end + 4)) : text.slice(end);
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    body: /content-type: application\/json/i.test(head) ? JSON.parse(given) : null,
    cors: head.match(/^access-control-[\w-]+/gim) ?? [],
  };
}

/** Joins the chunks of an ASCII body. */
function unchunked(text: string): string {
  const [, size = '0'] = /^([0-9a-f]+)\r\n/i.exec(text) ?? [];
  const [from, length] = [size.length + 2, Number.parseInt(size, 16)];
  if (length === 0) return '';
  return text.slice(from, from + length) + unchunked(text.slice(from + length + 2));
}

describe('an Expect header', () => {
  const victim = attacked();

  test('A request with a foreign Host and an Expect header gets no 100 Continue and is refused.', async () => {
    const { raw } = victim();
    const reply = await raw({
      method: 'POST',
      path: '/v1/sessions',
      hosts: ['evil.example'],
      headers: ['Expect: 100-continue', 'Content-Type: application/json'],
      body: '{}',
    });
    expect([reply.status, reply.body]).toEqual([403, hostRefusal]);
  });

  test.for(['100-continue', 'something'])(
    'The header "Expect: %s" does not bypass the checks.',
    async (what) => {
      const { raw } = victim();
      const headers = [`Expect: ${what}`];
      const reply = await raw({ method: 'GET', path: '/v1/version', headers });
      expect(reply.status).toBe(401);
    },
  );
});
