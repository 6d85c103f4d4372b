import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { expect, it } from 'vitest';
import { takesKey } from '../../../../scripts/openapi/answers.ts';
import type { Endpoint } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { systemIds } from '../../../../src/core/lib/ids.ts';
import { scaled } from '../../../support/patience.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { type TestServer, testServer } from '../../../support/server.ts';
import { describeKeyed } from '../../http/describe-keyed.ts';
import { aRequestTo, keyedRoutes, replayed, withKey } from '../../http/keyed-requests.ts';
import { kinds, sharedHarness, testHarness } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';

const HOUR = 3_600_000;

// test/campaigns/idempotency has all routes.
describeKeyed([
  '/v1/sessions',
  '/v1/sessions/{session_id}/turns',
  '/v1/sessions/{session_id}/approvals/{approval_id}',
  '/v1/queue/{entry_id}/pause',
  '/v1/processes',
  '/v1/worktrees',
  '/v1/teams/{team_id}/messages',
]);

const on = sharedHarness();
let keys = 0;
const newKey = () => withKey(`key-${++keys}`);
const stored = () => on().events();

it('Every POST route has a test of its Idempotency-Key.', () => {
  const all: Endpoint[] = Object.values(endpoints);
  const posts = all.filter((one) => takesKey(one) && one.answers === 'json').map((one) => one.path);
  expect(posts.toSorted()).toEqual(keyedRoutes.toSorted());
});

it('A keyed request may have an empty body, which counts as {}.', async () => {
  const { id } = await on().open();
  const key = newKey();
  const first = await on().post(`/v1/sessions/${id}/close`, undefined, key);
  const again = await on().post(`/v1/sessions/${id}/close`, {}, key);
  expect([again.body, replayed(again)]).toEqual([first.body, 'true']);
});

it.each(['/v1/sessions', '/v1/sessions/{session_id}/turns'])(
  'Only one of 50 simultaneous requests with one key to %s is run.',
  async (route) => {
    const request = await aRequestTo(route, on());
    const key = newKey();
    const before = (await stored()).length;
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => on().post(request.path, request.body, key)),
    );
    expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(replies.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(replies.filter((reply) => replayed(reply) === null)).toHaveLength(1);
    if (route.endsWith('/turns')) await on().provider.nextTurn();
    const news = kinds((await stored()).slice(before));
    const first = route.endsWith('/turns') ? 'turn.accepted' : 'session.created';
    expect(news.filter((kind) => kind === first)).toHaveLength(1);
  },
);

it('One of 50 simultaneous POSTs with the same key is run, also if it is refused with 409.', async () => {
  const session = await on().open();
  await on().close(session.id);
  const key = newKey();
  const body = { input: { type: 'text', text: 'me too' } };
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => on().post(`/v1/sessions/${session.id}/turns`, body, key)),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array(50).fill(409));
  expect(replies.filter((reply) => replayed(reply) === null)).toHaveLength(1);
});

it('A 409 is stored: it stays one after its reason is gone.', async () => {
  const session = await on().open();
  const url = `/v1/sessions/${session.id}/turns`;
  const body = { input: { type: 'text', text: 'go' }, expected_turn_id: 'turn_of_another_time' };
  const key = newKey();
  const first = await on().post(url, body, key);
  expect([first.status, first.body.code]).toEqual([409, 'turn_conflict']);
  const again = await on().post(url, body, key);
  expect([again.status, again.body, replayed(again)]).toEqual([409, first.body, 'true']);
});

it('The error turn_in_progress is not stored, so that the request may be sent again.', async () => {
  const { session, turn } = await on().atWork();
  const url = `/v1/sessions/${session.id}/turns`;
  const body = { input: { type: 'text', text: 'me too' } };
  const key = newKey();
  for (let time = 0; time < 2; time++) {
    const refused = await on().post(url, body, key);
    expect([refused.status, refused.body.code]).toEqual([409, 'turn_in_progress']);
    expect(replayed(refused)).toBeNull();
  }
  await on().complete(turn);
  const sent = await on().post(url, body, key);
  expect([sent.status, replayed(sent)]).toEqual([200, null]);
  const again = await on().post(url, body, key);
  expect([again.status, again.body, replayed(again)]).toEqual([200, sent.body, 'true']);
  (await on().provider.nextTurn()).end(completed);
});

it('Two bodies that differ only in the order of their keys are the same request.', async () => {
  const key = newKey();
  const one = '{"provider":"acp","title":"x","metadata":{"a":[1,{"b":2,"c":3}],"d":null}}';
  const other = '{"metadata":{"d":null,"a":[1,{"c":3,"b":2}]},"title":"x","provider":"acp"}';
  const list = '{"metadata":{"d":null,"a":[{"c":3,"b":2},1]},"title":"x","provider":"acp"}';
  const [first, again, another] = [
    await on().post('/v1/sessions', JSON.parse(one), key),
    await on().post('/v1/sessions', JSON.parse(other), key),
    await on().post('/v1/sessions', JSON.parse(list), key),
  ];
  expect([again.status, again.body, replayed(again)]).toEqual([200, first.body, 'true']);
  expect([another.status, another.body.code]).toEqual([409, 'idempotency_conflict']);
});

it('A 400 is not stored.', async () => {
  const cwd = path.join(on().directory, 'not-yet');
  const key = newKey();
  const body = { provider: 'acp', cwd };
  expect((await on().post('/v1/sessions', body, key)).status).toBe(400);
  fs.mkdirSync(cwd);
  const now = await on().post('/v1/sessions', body, key);
  expect([now.status, replayed(now)]).toEqual([200, null]);
});

it.each([
  ['empty', ''],
  ['with a space', 'two words'],
  ['of 256 characters', 'x'.repeat(256)],
  ['not ASCII', 'schl\u00fcssel'],
])('A key that is %s answers 400.', async (_how, key) => {
  const reply = await on().post('/v1/sessions', { provider: 'acp' }, withKey(key));
  expect([reply.status, reply.body.code]).toEqual([400, 'invalid']);
  expect(reply.body.error).toContain('Idempotency-Key');
});

it('Two keys in one POST answer 400.', async () => {
  const { url, token } = on().given;
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = http.request(`${url}/v1/sessions`, {
      method: 'POST',
      headers: [
        ['Host', new URL(url).host],
        ['Authorization', `Bearer ${token}`],
        ['Content-Type', 'application/json'],
        ['Idempotency-Key', 'a'],
        ['Idempotency-Key', 'b'],
      ].flat(),
    });
    request.once('error', reject);
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.end(JSON.stringify({ provider: 'acp' }));
  });
  expect(status).toBe(400);
});

it('A key of 255 characters is accepted.', async () => {
  const reply = await on().post('/v1/sessions', { provider: 'acp' }, withKey('~'.repeat(255)));
  expect(reply.status).toBe(200);
});

it('An Idempotency-Key has no effect on a GET.', async () => {
  const { id } = await on().open();
  const { url, token } = on().given;
  for (const expected of ['ready', 'closed']) {
    const response = await fetch(`${url}/v1/sessions/${id}`, {
      headers: { authorization: `Bearer ${token}`, ...withKey('get') },
    });
    expect(((await response.json()) as Session).status).toBe(expected);
    expect(response.headers.get('idempotency-replayed')).toBeNull();
    await on().close(id);
  }
});

it('A 404 is not stored, because the record may exist later.', async () => {
  let fixed: string | undefined;
  const ids = {
    next(prefix: Parameters<typeof systemIds.next>[0]) {
      return prefix === 'sess' && fixed ? fixed : systemIds.next(prefix);
    },
  };
  const harness = await testHarness({ ids });
  fixed = 'sess_soon';
  const close = () => harness.post('/v1/sessions/sess_soon/close', {}, withKey('early'));
  expect((await close()).status).toBe(404);
  await harness.open();
  const now = await close();
  expect([now.status, replayed(now)]).toEqual([200, null]);
});

it('A stored response is forgotten after 24 h, and not before.', async () => {
  const harness = await testHarness();
  const create = () => harness.post<Session>('/v1/sessions', { provider: 'acp' }, withKey('day'));
  const first = await create();
  harness.clock.advance(24 * HOUR - 1);
  const late = await create();
  expect([late.body.id, replayed(late)]).toEqual([first.body.id, 'true']);
  harness.clock.advance(2);
  const next = await create();
  expect(next.body.id).not.toBe(first.body.id);
  expect(replayed(next)).toBeNull();
  expect((await create()).body.id).toBe(next.body.id);
});

it('A key can be used for another request after 24 h.', async () => {
  const harness = await testHarness();
  await harness.post('/v1/sessions', { provider: 'acp' }, withKey('day'));
  harness.clock.advance(24 * HOUR + 1);
  const { status } = await harness.post(
    '/v1/sessions',
    { provider: 'acp', title: 'else' },
    withKey('day'),
  );
  expect(status).toBe(200);
});

it('A stored response survives a kill of the server.', { timeout: scaled(30_000) }, async () => {
  const directory = testDirectory('killed');
  const create = async (server: TestServer) => {
    const response = await fetch(`${server.url}/v1/sessions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.token}`,
        'content-type': 'application/json',
        ...withKey('once'),
      },
      body: JSON.stringify({ provider: 'acp', cwd: directory }),
    });
    return {
      text: await response.text(),
      status: response.status,
      replayed: response.headers.get('idempotency-replayed'),
    };
  };
  const before = await testServer({ directory });
  const first = await create(before);
  await before.end('SIGKILL');
  const after = await testServer({ directory });
  expect(await create(after)).toEqual({ ...first, replayed: 'true' });
  const sessions = await after.client.call(endpoints.listSessions, {});
  expect(sessions).toHaveLength(1);
});
