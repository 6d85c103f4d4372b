import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { CreatedToken, Token, TokenScope } from '../../../src/api/tokens.ts';
import type { Client } from '../../../src/client/client.ts';
import { someOf } from '../../support/at-length.ts';
import { sharedRuntime, type TestRuntime, testRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider, writeFile } from '../../support/scripted-provider.ts';
import { openSession, runTurn } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { testDirectory } from '../../support/temp.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { apiOf, expectAsDescribed, send, table, unauthorized } from '../../support/http/request.ts';
import { sharedAuthRuntime } from '../../support/http/shared-auth-runtime.ts';
import { openStream } from '../../support/http/stream.ts';

const options = () => ({ providers: [scriptedProvider()] });
const on = sharedAuthRuntime();
const forbidden = {
  error: 'this token is read-only and cannot make this request: use a token with the scope admin',
  code: 'forbidden_scope',
};

function make(client: Client, scope: TokenScope, name = 'a token'): Promise<CreatedToken> {
  return client.call(endpoints.createToken, { body: { name, scope } });
}

function bearer(secret: string): { authorization: string } {
  return { authorization: `Bearer ${secret}` };
}

async function statusOf(url: string, secret: string, at = '/v1/sessions'): Promise<number> {
  return (await send(url, { path: at, headers: bearer(secret) })).status;
}

describe('a token', () => {
  test('A token has a name and a scope, and only the response to its creation has the secret.', async () => {
    const given = await testRuntime(options());
    const api = apiOf(given);
    const body = { name: 'dashboard', scope: 'read' };
    const created = (await api('POST', '/v1/tokens', { body })).json() as CreatedToken;
    expect(created).toEqual({
      id: expect.stringMatching(/^tok_[0-9a-f]{32}$/),
      name: 'dashboard',
      scope: 'read',
      created_at: expect.any(Number),
      expires_at: null,
      permission_mode: null,
      last_used_at: null,
      secret: expect.stringMatching(/^cadre_[\w-]{43}$/),
    });
    const { secret: _, ...token } = created;
    expect((await api('GET', '/v1/tokens')).json()).toEqual([token]);
    expect((await api('DELETE', `/v1/tokens/${token.id}`)).json()).toEqual(token);
    expect((await api('GET', '/v1/tokens')).json()).toEqual([]);
  });

  test('A token with the scope admin may do everything, including token changes.', async () => {
    const { url, client, directory } = await testRuntime(options());
    const { secret } = await make(client, 'admin');
    const api = apiOf({ url, token: secret });
    const body = { provider: 'acp', cwd: directory };
    expect((await api('POST', '/v1/sessions', { body })).status).toBe(200);
    const made = await api('POST', '/v1/tokens', { body: { name: 'x', scope: 'admin' } });
    expect(made.status).toBe(200);
    const { id } = made.json() as Token;
    expect((await api('DELETE', `/v1/tokens/${id}`)).status).toBe(200);
    expect((await api('GET', '/v1/tokens')).json()).toHaveLength(1);
  });

  test('Two tokens with the same name have different secrets.', async () => {
    const { url, client } = on();
    const [one, other] = [await make(client, 'read', 'ci'), await make(client, 'admin', 'ci')];
    expect(one.secret).not.toBe(other.secret);
    await client.call(endpoints.deleteToken, { params: { token_id: one.id } });
    expect(await statusOf(url, one.secret)).toBe(401);
    expect(await statusOf(url, other.secret)).toBe(200);
  });

  test('A token is accepted only in full and unchanged.', async () => {
    const { url, client } = on();
    const { id, secret } = await make(client, 'admin');
    const bare = secret.slice('cadre_'.length);
    for (const wrong of [`${secret}x`, secret.slice(0, -1), bare, secret.toUpperCase(), id])
      expect([wrong, await statusOf(url, wrong)]).toEqual([wrong, 401]);
    expect(await statusOf(url, secret)).toBe(200);
  });

  test('A revoked token is refused at once, and a second revocation returns not_found.', async () => {
    const given = on();
    const { url, client } = given;
    const api = apiOf(given);
    for (const scope of ['admin', 'read'] as const) {
      const { id, secret } = await make(client, scope);
      expect(await statusOf(url, secret)).toBe(200);
      expect((await api('DELETE', `/v1/tokens/${id}`)).status).toBe(200);
      const reply = await send(url, { path: '/v1/sessions', headers: bearer(secret) });
      expect(reply.status).toBe(401);
      expect(reply.json()).toEqual(unauthorized);
      const again = await api('DELETE', `/v1/tokens/${id}`);
      expect(again.status).toBe(404);
      expect(again.json()).toEqual({
        error: `token "${id}" not found`,
        code: 'not_found',
      });
    }
  });

  test('A token may revoke itself, and is refused afterwards.', async () => {
    const { url, client } = on();
    const { id, secret } = await make(client, 'admin');
    expect((await apiOf({ url, token: secret })('DELETE', `/v1/tokens/${id}`)).status).toBe(200);
    expect(await statusOf(url, secret)).toBe(401);
  });

  test('Tokens and their revocations survive a restart.', async () => {
    const directory = testDirectory('tokens');
    const first = await testRuntime({ ...options(), directory });
    const [kept, revoked] = [await make(first.client, 'read'), await make(first.client, 'admin')];
    await first.client.call(endpoints.deleteToken, { params: { token_id: revoked.id } });
    await first.stop();

    const { url, client } = await testRuntime({ ...options(), directory });
    const { secret, ...token } = kept;
    expect(await statusOf(url, secret)).toBe(200);
    expect(await statusOf(url, secret, '/v1/tokens')).toBe(403);
    expect(await statusOf(url, revoked.secret)).toBe(401);
    expect(await client.call(endpoints.listTokens, {})).toEqual([
      { ...token, last_used_at: expect.any(Number) },
    ]);
  });

  test.for([
    ['empty', ''],
    ['longer than 100 characters', 'x'.repeat(101)],
    ['with a line end', 'a\nb'],
    ['with an escape sequence', '\u001b[31mred'],
    ['with a control character of the upper half', 'a\u009bb'],
    ['that is no text', 7],
  ] as const)('A token name %s is refused.', async ([, name]) => {
    const given = on();
    const reply = await apiOf(given)('POST', '/v1/tokens', { body: { name, scope: 'read' } });
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({
      code: 'invalid',
      error: expect.stringMatching(/^body\.name: /),
    });
  });

  test('A token without a scope, or with an unknown scope, is refused.', async () => {
    const given = await testRuntime(options());
    for (const body of [{ name: 'x' }, { name: 'x', scope: 'write' }]) {
      const reply = await apiOf(given)('POST', '/v1/tokens', { body });
      expect(reply.status).toBe(400);
      expect(reply.json()).toMatchObject({ error: expect.stringMatching(/^body\.scope: /) });
    }
    expect(await given.client.call(endpoints.listTokens, {})).toEqual([]);
  });
});

test('The list of tokens is newest first, and its pages contain all tokens.', async () => {
  const given = await testRuntime(options());
  const made: string[] = [];
  for (let i = 0; i < 5; i++) made.push((await make(given.client, 'read', `${i}`)).id);
  const api = apiOf(given);
  const first = await api('GET', '/v1/tokens?limit=3');
  const cursor = String(first.headers['x-next-cursor']);
  const second = await api('GET', `/v1/tokens?limit=3&cursor=${cursor}`);
  const ids = [first, second].flatMap((reply) => (reply.json() as Token[]).map(({ id }) => id));
  expect(ids).toEqual(made.toReversed());
  expect(second.headers['x-next-cursor']).toBeUndefined();
});

test('An Idempotency-Key for a new token is refused, because the response contains a secret.', async () => {
  const given = await testRuntime(options());
  const reply = await apiOf(given)('POST', '/v1/tokens', {
    headers: { 'idempotency-key': 'a-key' },
    body: { name: 'x', scope: 'read' },
  });
  expect(reply.status).toBe(400);
  expect(reply.json()).toEqual({
    error:
      'the route /v1/tokens does not support Idempotency-Key, because its responses contain secrets: leave the header out',
    code: 'invalid',
  });
  expect(await given.client.call(endpoints.listTokens, {})).toEqual([]);
});

test('The same Idempotency-Key of two tokens is two different keys.', async () => {
  const { url, token, client, directory } = on();
  const { secret } = await make(client, 'admin');
  const ids: string[] = [];
  for (const bearer of [token, secret, secret]) {
    const reply = await apiOf({ url, token: bearer })('POST', '/v1/sessions', {
      headers: { 'idempotency-key': 'same' },
      body: { provider: 'acp', cwd: directory },
    });
    ids.push((reply.json() as { id: string }).id);
  }
  expect(ids[0]).not.toBe(ids[1]);
  expect(ids[1]).toBe(ids[2]);
});

describe('a token of the scope read', () => {
  const isReadable = (endpoint: Endpoint) =>
    endpoint.method === 'GET' && endpoint.access !== 'admin';
  const readable = table.filter(({ endpoint }) => isReadable(endpoint));
  const rest = table.filter(({ endpoint }) => !isReadable(endpoint));
  /** The endpoints that also get a body above their limit in the suite. */
  const longOnes = new Set(someOf(rest, 6).map(({ endpoint }) => endpoint));

  const onSpeaking = sharedRuntime(speaking());
  let things: Record<string, string> = {};
  let secret = '';
  beforeAll(async () => {
    things = await thingsToRead(onSpeaking());
    ({ secret } = await make(onSpeaking().client, 'read'));
  });

  test.for(readable)(
    'The request $request is allowed with a token of the scope read.',
    async ({ endpoint }) => {
      const { url } = onSpeaking();
      const at = fill(endpoint.path, things);
      if (endpoint.answers === 'stream') {
        const stream = await openStream({ url, token: secret }, { path: at });
        await stream.until(({ text }) => /^event: /m.test(text()));
        return stream.close();
      }
      const reply = await send(url, { path: at, headers: bearer(secret) });
      expect(reply.status).toBe(200);
      expectAsDescribed('GET', at, reply);
    },
  );

  test.for(rest)(
    'A token with the scope read is refused $request, whatever its body.',
    async ({ endpoint }) => {
      const { url } = onSpeaking();
      const at = endpoint.path.replaceAll(/\{\w+\}/g, 'some_id');
      const headers = { ...bearer(secret), 'content-type': 'application/json' };
      const { method } = endpoint;
      const long = longOnes.has(endpoint) ? ['x'.repeat(300_000)] : [];
      const bodies = method === 'POST' ? ['', '{}', '{', ...long] : [''];
      for (const body of bodies) {
        const reply = await send(url, { method, path: at, headers, body });
        expect(reply.status).toBe(403);
        expect(reply.json()).toEqual(forbidden);
      }
    },
  );

  test('A token with the scope read is refused before route, method, type and body are checked.', async () => {
    const { url, client } = on();
    const { secret } = await make(client, 'read');
    const headers = { ...bearer(secret), 'content-type': 'text/plain' };
    for (const [method, at] of [
      ['POST', '/v1/nope'],
      ['PUT', '/v1/sessions'],
      ['POST', '/v1/%zz'],
      ['GET', '/v1/tokens/tok_1'],
    ] as const) {
      const body = method === 'GET' ? {} : { body: 'nonsense' };
      const reply = await send(url, { method, path: at, headers, ...body });
      expect([method, at, reply.status]).toEqual([method, at, 403]);
      expect(reply.json()).toEqual(forbidden);
    }
    expect(await statusOf(url, secret, '/v1/nope')).toBe(404);
  });

  test('A token with the scope read gets no list of tokens, however the path is written.', async () => {
    const { url, client } = on();
    const { id, secret } = await make(client, 'read');
    const disguises = ['/v1/%74okens', '/v1/tokens?limit=1', '/v1/tokens#x', '/v1/tokens%3F'];
    disguises.push('/v1/tokens/', '/v1//tokens', '//v1/tokens', '/V1/tokens', '/v1/tokens%2F');
    for (const at of disguises) {
      const reply = await send(url, { path: at, headers: bearer(secret) });
      expect([403, 404]).toContain(reply.status);
      expect(reply.text).not.toContain(id);
    }
  });
});

test('No log line, event or file of the data directory contains the secret of a token.', async () => {
  const directory = testDirectory('tokens');
  const given = await testRuntime({ ...speaking(), directory });
  const { url, client } = given;
  const secrets: string[] = [];
  for (const scope of ['admin', 'read'] as const) {
    const { id, secret } = await make(client, scope);
    secrets.push(secret.slice('cadre_'.length));
    const headers = { ...bearer(secret), 'idempotency-key': 'a-key' };
    const asked = { path: '/v1/sessions', headers, method: 'POST' };
    await send(url, { ...asked, headers: { ...headers, 'content-type': 'application/json' } });
    await send(url, { ...asked, path: `/v1/nope?token=${secret}` });
    await send(url, { ...asked, path: '/v1/%zz' });
    await send(url, { ...asked, headers: bearer(`${secret}x`) });
    await send(url, { ...asked, headers: { authorization: `Basic ${secret}` } });
    await client.call(endpoints.listTokens, {});
    if (scope === 'read') await client.call(endpoints.deleteToken, { params: { token_id: id } });
    await send(url, { ...asked, method: 'GET' });
  }
  const events = (await apiOf(given)('GET', '/v1/events?limit=10000')).text;
  const whileItRuns = contentsOf(directory);
  client.close();
  await given.runtime.stop();
  const log = JSON.stringify(given.logLines());
  expect(log).toContain('a token was created');
  expect(log).toContain('a token was revoked');
  expect(log).toContain('a request failed to authenticate');
  for (const text of [log, events, whileItRuns, contentsOf(directory)]) {
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
});

describe('a failed authentication', () => {
  const wrong = bearer('wrong-wrong-wrong-wrong');
  const fail = (url: string, at = '/v1/sessions') => send(url, { path: at, headers: wrong });

  test('A failure is logged with its source and request id, without the submitted token.', async () => {
    const { url, logLines } = await testRuntime(options());
    await send(url, { path: '/v1/sessions', headers: { ...wrong, 'x-request-id': 'guess-1' } });
    await send(url, { path: '/v1/%zz', headers: { 'x-request-id': 'guess-2' } });
    const lines = () => logLines().filter(({ level }) => level === 'warn');
    await expectEventually(() => lines().length).toBe(2);
    for (const [i, line] of lines().entries()) {
      expect(line).toMatchObject({
        source: '127.0.0.1',
        reqId: `guess-${i + 1}`,
        msg: 'a request failed to authenticate',
      });
    }
    expect(JSON.stringify(logLines())).not.toContain('wrong-wrong');
  });

  test('Public routes and requests with too small a scope do not count as failures.', async () => {
    const { url, client, logLines } = await testRuntime(options());
    const { secret } = await make(client, 'read');
    await fail(url, '/health');
    await fail(url, '/nope');
    await statusOf(url, secret, '/v1/tokens');
    await send(url, { path: '/v1/sessions', headers: { ...wrong, host: 'evil.example' } });
    const requests = () => logLines().filter(({ msg }) => msg === 'request');
    await expectEventually(() => requests().length).toBe(5);
    expect(logLines().filter(({ level }) => level === 'warn')).toEqual([]);
  });

  test('After 20 failures a minute, a failure is answered after a second, and a valid token at once.', async () => {
    const clock = new ManualClock();
    const { url, client, token } = await testRuntime({ ...options(), clock });
    const { secret } = await make(client, 'read');
    for (let i = 0; i < 20; i++) expect((await fail(url)).status).toBe(401);
    const timers = clock.waiting;
    let answered = 0;
    const slowed = ['/v1/sessions', '/v1/nope', '/v1/%zz'].map(async (at) => {
      const reply = await fail(url, at);
      answered++;
      return reply;
    });
    await expectEventually(() => clock.waiting).toBe(timers + 3);
    for (const valid of [token, secret, token]) expect(await statusOf(url, valid)).toBe(200);
    expect(answered).toBe(0);
    clock.advance(1000);
    for (const reply of await Promise.all(slowed)) {
      expect(reply.status).toBe(401);
      expect(reply.json()).toEqual(unauthorized);
    }
  });

  test('A delayed failure is forgotten when its client disconnects, and does not delay a stop.', async () => {
    const clock = new ManualClock();
    const { url } = await testRuntime({ ...options(), clock });
    for (let i = 0; i < 20; i++) await fail(url);
    const timers = clock.waiting;
    const { hostname: host, port } = new URL(url);
    const leaving = net.connect({ host, port: Number(port) });
    leaving.write('GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await expectEventually(() => clock.waiting).toBe(timers + 1);
    leaving.destroy();
    await expectEventually(() => clock.waiting).toBe(timers);
    void fail(url).catch(() => undefined);
    await expectEventually(() => clock.waiting).toBe(timers + 1);
  });

  test('In a flood of failures, 100 responses wait, and the other connections are closed.', async () => {
    const clock = new ManualClock();
    const { url, token, logLines } = await testRuntime({ ...options(), clock });
    for (let i = 0; i < 20; i++) await fail(url);
    const timers = clock.waiting;
    const flood = Array.from({ length: 150 }, () => fail(url));
    const answered: string[] = [];
    for (const reply of flood)
      void reply.then(({ status, headers }) =>
        answered.push(`${status} ${headers.connection ?? ''}`),
      );
    await expectEventually(() => answered.length).toBe(50);
    expect(new Set(answered)).toEqual(new Set(['401 close']));
    expect(clock.waiting).toBe(timers + 100);
    expect(await statusOf(url, token)).toBe(200);
    clock.advance(1000);
    await Promise.all(flood);
    const leftOut = () => logLines().filter(({ left_out }) => left_out !== undefined);
    await expectEventually(leftOut).toEqual([expect.objectContaining({ left_out: 165 })]);
    const lines = logLines().filter(({ status }) => status === 401);
    expect(lines).toHaveLength(5);
  });
});

/** Returns options with a provider whose turns have output or an approval. */
function speaking() {
  return {
    providers: [
      scriptedProvider((turn) => {
        const [said] = turn.input;
        if (said?.type === 'text' && said.text === 'ask')
          void turn.sink.ask(writeFile, new AbortController().signal);
        else {
          void turn.sink.update({ type: 'message', text: 'hello' });
          turn.end(completed);
        }
      }),
      { ...scriptedProvider(), id: 'claude' as const },
      { ...scriptedProvider(), id: 'codex' as const },
    ],
  };
}

/** Makes a record for each parameter of a path; returns the parameters. */
async function thingsToRead(given: TestRuntime): Promise<Record<string, string>> {
  const { client, directory } = given;
  // The route of the diff needs a checkout.
  const repo_root = makeRepository(path.join(directory, 'repository'));
  const { id } = await openSession(client, repo_root);
  const { turn } = await runTurn(client, id, 'hi');
  const params = { session_id: id, turn_id: turn.turn_id };
  const [item] = await client.call(endpoints.listItems, { params });
  const body = { input: [{ type: 'text' as const, text: 'ask' }] };
  await client.call(endpoints.sendTurn, { params: { session_id: id }, body });
  const stream = await openStream(given);
  await stream.until(() => stream.events().some(({ kind }) => kind === 'approval.requested'));
  stream.close();
  const [approval] = await client.call(endpoints.listApprovals, { query: {} });
  const { process } = await client.call(endpoints.createProcess, { body: { command: 'true' } });
  const { process_id } = process;
  const { team } = await client.call(endpoints.createTeam, {
    body: { name: 'team', lead_agent_id: id },
  });
  const request = { source_session_id: id, repo_root, worktree_name: 'tree' };
  const worktree = await client.call(endpoints.createWorktree, { body: request });
  const entry = await client.call(endpoints.addToQueue, { params: { session_id: id }, body });
  const ofSession = { session_id: id };
  await client.call(endpoints.setGoal, { params: ofSession, body: { command: 'true' } });
  await client.call(endpoints.startWatch, { params: ofSession, body: { command: 'true' } });
  const contenders = [{ provider: 'claude' as const }, { provider: 'codex' as const }];
  const race = await client.call(endpoints.startRace, {
    body: { prompt: 'hi', cwd: repo_root, contenders },
  });
  const budget = await client.call(endpoints.setBudget, { body: { turns: 1000 } });
  return {
    ...params,
    budget_id: budget.id,
    race_id: race.id,
    entry_id: entry.id,
    team_id: team.id,
    worktree_id: worktree.id,
    item_id: item?.item_id ?? '',
    approval_id: approval?.id ?? '',
    process_id,
    provider: 'acp',
  };
}

function fill(pattern: string, params: Record<string, string>): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`say what stands for {${name}} in thingsToRead`);
    return value;
  });
}

/** Returns the bytes of all files below a directory. */
function contentsOf(directory: string): string {
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}
