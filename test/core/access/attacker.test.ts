import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import type { z } from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import {
  sharedStage,
  type Stage,
  type StageOptions,
  testStage,
} from '../../support/sessions/stage.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { table, unauthorized } from '../../support/http/request.ts';
import { atLength, someOf } from '../../support/at-length.ts';

/** Everything there is to attack: each endpoint, of which the suite takes a tenth, and what there is not. */
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

/** Host headers of a request that got here under another name; PORT stands for ours. */
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

/** Origins of pages that nobody allowed; even our own address serves no pages. */
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

/** Of some attacks each target meets a tenth, by turns; at length, all. */
function someFor<T>(target: (typeof targets)[number], attacks: readonly T[]): T[] {
  const turn = targets.indexOf(target);
  const share = atLength(10, 1);
  return attacks.filter((_, at) => (at + turn) % share === 0);
}

/** What a page may send anywhere without a preflight. */
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

describe('a page whose name was bound to our address', () => {
  const victim = attacked();

  test.for(targets)('gets nothing from $request, with a token or without.', async (target) => {
    const { stage, raw, unchanged } = victim();
    const before = await unchanged();
    for (const hosts of someFor(target, foreignHosts)) {
      for (const headers of [[], [`Authorization: Bearer ${stage.given.token}`]]) {
        const reply = await raw({ ...target, hosts, headers });
        expect([hosts, reply.status, reply.body]).toEqual([hosts, 403, hostRefusal]);
        expect(reply.cors).toEqual([]);
      }
    }
    expect(await unchanged()).toEqual(before);
  });

  test.for(targets)(
    'gets nothing from $request by the full address of another.',
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

  // There is more than one answer to who is asked, and one of them is not us.
  test.for<[what: string, request: Partial<Raw>]>([
    ['a second Host', { hosts: ['127.0.0.1:PORT', 'evil.example:PORT'] }],
    ['the full address of another and our Host', { path: 'http://evil.example/v1/version' }],
  ])('gets nothing by %s.', async ([, request]) => {
    const { stage, raw } = victim();
    const headers = [`Authorization: Bearer ${stage.given.token}`];
    const reply = await raw({ method: 'GET', path: '/v1/version', headers, ...request });
    expect(reply.status).toBe(403);
  });
});

describe('a page of another origin', () => {
  const victim = attacked();

  test.for(targets)('gets nothing from $request, with a token or without.', async (target) => {
    const { stage, raw, unchanged } = victim();
    const before = await unchanged();
    for (const origin of someFor(target, foreignOrigins)) {
      for (const token of [[], [`Authorization: Bearer ${stage.given.token}`]]) {
        const reply = await raw({ ...target, headers: [`Origin: ${origin}`, ...token] });
        expect([origin, reply.status, reply.body]).toEqual([origin, 403, originRefusal]);
        expect(reply.cors).toEqual([]);
      }
    }
    expect(await unchanged()).toEqual(before);
  });

  test.for(targets)('is refused its preflight for $request, and told nothing.', async (target) => {
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
  });

  test.for(targets)('changes nothing at $request with what needs no preflight.', async (target) => {
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
  });

  test.for(targets)(
    'needs the token for $request where its browser does not name it.',
    async (target) => {
      const { stage, raw, unchanged } = victim();
      const before = await unchanged();
      // The failures of the test before are forgotten, so that these are not answered later.
      stage.clock.advance(60_000);
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

describe('a host and an origin that the configuration allows', () => {
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

  test.for(targets)('reach $request, and none that looks like them does.', async (target) => {
    const { stage, raw } = victim();
    const token = `Authorization: Bearer ${stage.given.token}`;
    for (const hosts of [['box.lan'], ['BOX.lan:PORT'], ['127.0.0.1:PORT']]) {
      // What is let in is refused for its query, at the earliest; public routes take any.
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
  });
});

describe('who has the token and the right address', () => {
  const victim = attacked();
  const reads = endpointsAttacked.filter(({ endpoint: { method } }) => method === 'GET');
  const changes = endpointsAttacked.filter(({ endpoint: { method } }) => method !== 'GET');

  test.for(reads)('is let in by $request: the attacks would have read something.', ({ endpoint }) =>
    expectLetIn(victim(), endpoint),
  );

  // Each of these may change what the next one needs.
  test.for(changes)(
    'is let in by $request: the attacks would have done something.',
    async ({ endpoint }) => {
      const stage = await testStage();
      return expectLetIn(await victimOf(stage), endpoint);
    },
  );
});

async function expectLetIn(
  { stage, raw }: Victim,
  endpoint: (typeof table)[number]['endpoint'],
): Promise<void> {
  const { method, path: place } = endpoint;
  const headers = [`Authorization: Bearer ${stage.given.token}`];
  const body = JSON.stringify(goodBodyOf(endpoint, () => path.join(stage.directory, '..', 'repo')));
  if (endpoint.body) headers.push('Content-Type: application/json');
  const request = { method, path: place, headers };
  const reply = await raw({ ...request, ...(endpoint.body ? { body } : {}) });
  // A provider that this server does not have says so, to those who are in.
  const { code = null } = (reply.body ?? {}) as { code?: string | null };
  const done = [200, 202, 204, 404, 409].includes(reply.status);
  expect(done ? 'provider_unavailable' : code).toBe('provider_unavailable');
}

/** A request, to the byte. */
interface Raw {
  method: string;
  /** Its parameters are filled in. */
  path: string;
  /** The values of its Host headers; else the right one. */
  hosts?: readonly string[];
  headers?: readonly string[];
  body?: string;
}

interface RawReply {
  status: number;
  body: unknown;
  /** The names of the headers by which a server opens itself to pages of others. */
  cors: string[];
}

/** A runtime with something of everything, and an attacker on its machine. */
interface Victim {
  stage: Stage;
  raw: (request: Raw) => Promise<RawReply>;
  /** The seq of the newest event: whatever is changed adds one. */
  unchanged: () => Promise<unknown>;
  /** All that an attack could have changed. */
  holdings: () => Promise<unknown>;
}

/** A victim for all tests of a `describe`; whatever it holds is the same after them as before. */
function attacked(options: StageOptions = {}): () => Victim {
  const stage = sharedStage(options);
  let victim: Victim | undefined;
  let before: unknown;
  beforeAll(async () => {
    victim = await victimOf(stage());
    before = await victim.holdings();
  });
  afterAll(async () => {
    expect(await victim?.holdings()).toEqual(before);
  });
  return () => victim ?? expect.unreachable();
}

async function victimOf(stage: Stage): Promise<Victim> {
  const params = await something(stage);
  const fill = (path: string) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '0123');
  const lists = table.filter(
    ({ endpoint: { method, answers, query } }) =>
      method === 'GET' && answers === 'json' && ('cursor' in query || 'after_seq' in query),
  );
  const read = async (path: string) => {
    const { headers, body } = await stage.get<unknown>(path);
    return [path, headers.get('x-seq'), body];
  };
  return {
    stage,
    raw: (request) => sendRaw(stage.given.url, { ...request, path: fill(request.path) }),
    unchanged: () => read('/v1/events?limit=1'),
    holdings: () => Promise.all(lists.map(({ endpoint }) => read(fill(endpoint.path)))),
  };
}

/** Has a turn under way that waits for an approval, a message that waits for its end, and a token. Answers what stands for the parameters of paths. */
async function something(stage: Stage): Promise<Record<string, string>> {
  const { client } = stage.given;
  const session = await stage.open();
  const turn = await stage.play(session);
  await turn.sink.update({ type: 'message', text: 'hello' });
  void turn.ask();
  const approval = await stage.asked(session.id);
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
  // The scope of a token is not the scope of an approval.
  const known = Object.fromEntries(
    Object.entries(good).filter(([name, value]) => shape[name]?.safeParse(value).success),
  );
  if ('first_line' in shape) return { ...known, path: 'a.ts' };
  return 'repo_root' in shape ? { ...known, repo_root: makeRepository(place()) } : known;
}

/** Sends a request that no client library has put right; resolves with its answer, of a stream with its head. */
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

/** What came in chunks, of ASCII alone, as one. */
function unchunked(text: string): string {
  const [, size = '0'] = /^([0-9a-f]+)\r\n/i.exec(text) ?? [];
  const [from, length] = [size.length + 2, Number.parseInt(size, 16)];
  if (length === 0) return '';
  return text.slice(from, from + length) + unchunked(text.slice(from + length + 2));
}

describe('an expectation', () => {
  const victim = attacked();

  test('of a foreign Host is not told to go on with its body, and is refused.', async () => {
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

  test.for(['100-continue', 'something'])('of "%s" is no way round the checks.', async (what) => {
    const { raw } = victim();
    const headers = [`Expect: ${what}`];
    const reply = await raw({ method: 'GET', path: '/v1/version', headers });
    expect(reply.status).toBe(401);
  });
});
