import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { endpoints } from '../../src/api/index.ts';
import { takesKey } from '../../scripts/openapi/answers.ts';
import type { Process } from '../../src/api/processes.ts';
import type { Session } from '../../src/api/sessions.ts';
import type { Worktree } from '../../src/api/worktrees.ts';
import type { FailpointName } from '../../src/lib/failpoint.ts';
import { newUuid, systemIds } from '../../src/lib/ids.ts';
import { ProviderError } from '../../src/providers/provider.ts';
import { completed } from '../support/scripted-provider.ts';
import { configSchema } from '../../src/config/schema.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { makeTeam } from '../support/teams/team.ts';
import { commit, git, makeRepository, write } from '../support/worktrees/work.ts';
import { FullDisk } from '../support/sessions/faults.ts';
import {
  endOf,
  kinds,
  onStage,
  type Reply,
  sharedStage,
  type Stage,
} from '../support/sessions/stage.ts';
import { scaled } from '../support/patience.ts';

const HOUR = 3_600_000;

interface Keyed {
  path: string;
  body: object;
  /** Another good body for the same path, where it takes one. */
  otherBody?: object;
}

/** For each POST route, a request that changes something. */
const requests: Record<string, (stage: Stage) => Promise<Keyed>> = {
  '/v1/sessions': async () => ({
    path: '/v1/sessions',
    body: { provider: 'acp', title: 'one' },
    otherBody: { provider: 'acp', title: 'two' },
  }),
  '/v1/sessions/{session_id}/turns': async (stage) => {
    const { id } = await stage.open();
    return {
      path: `/v1/sessions/${id}/turns`,
      body: { input: { type: 'text', text: 'one' } },
      otherBody: { input: { type: 'text', text: 'two' } },
    };
  },
  '/v1/sessions/{session_id}/turns/{turn_id}/interrupt': async (stage) => {
    const session = await stage.open();
    await stage.play(session);
    const { active_turn_id: turnId } = await stage.session(session.id);
    return { path: `/v1/sessions/${session.id}/turns/${turnId}/interrupt`, body: {} };
  },
  '/v1/sessions/{session_id}/close': async (stage) => {
    const { id } = await stage.open();
    return {
      path: `/v1/sessions/${id}/close`,
      body: { reason: 'one' },
      otherBody: { reason: 'two' },
    };
  },
  '/v1/sessions/{session_id}/resume': async (stage) => {
    const session = await stage.open();
    stage.provider.refuseOpen(new ProviderError('resume_failed', 'gone'));
    const { body } = await stage.send(session, 'go');
    await stage.until(endOf(body.turn_id));
    return { path: `/v1/sessions/${session.id}/resume`, body: {} };
  },
  '/v1/sessions/{session_id}/queue': async (stage) => {
    const { id } = await stage.open();
    const at = stage.clock.now() + 86_400_000;
    const input = (text: string) => ({ input: { type: 'text', text }, at });
    return { path: `/v1/sessions/${id}/queue`, body: input('one'), otherBody: input('two') };
  },
  '/v1/sessions/{session_id}/queue/pause': async (stage) => ({
    path: `/v1/sessions/${(await stage.open()).id}/queue/pause`,
    body: { reason: 'one' },
    otherBody: { reason: 'two' },
  }),
  '/v1/sessions/{session_id}/queue/resume': async (stage) => {
    const { id } = await stage.open();
    await stage.post(`/v1/sessions/${id}/queue/pause`);
    return { path: `/v1/sessions/${id}/queue/resume`, body: {} };
  },
  '/v1/sessions/{session_id}/review/comments': async (stage) => ({
    path: `/v1/sessions/${(await stage.open()).id}/review/comments`,
    body: aComment('one'),
    otherBody: aComment('two'),
  }),
  '/v1/sessions/{session_id}/review/send': async (stage) => {
    const { id } = await stage.open();
    await stage.post(`/v1/sessions/${id}/review/comments`, aComment('one'));
    return { path: `/v1/sessions/${id}/review/send`, body: {}, otherBody: { text: 'two' } };
  },
  '/v1/queue/{entry_id}/move': async (stage) => {
    return {
      path: `${await queued(stage)}/move`,
      body: { to: 'first' },
      otherBody: { to: 'last' },
    };
  },
  '/v1/queue/{entry_id}/pause': async (stage) => ({
    path: `${await queued(stage)}/pause`,
    body: { reason: 'one' },
    otherBody: { reason: 'two' },
  }),
  '/v1/queue/{entry_id}/resume': async (stage) => {
    const path = await queued(stage);
    await stage.post(`${path}/pause`);
    return { path: `${path}/resume`, body: {} };
  },
  '/v1/sessions/{session_id}/approvals/{approval_id}': async (stage) => {
    const session = await stage.open();
    const turn = await stage.play(session);
    void turn.ask();
    const { id } = await stage.asked(session.id);
    return {
      path: `/v1/sessions/${session.id}/approvals/${id}`,
      body: { decision: 'accept' },
      otherBody: { decision: 'decline' },
    };
  },
  '/v1/processes': async () => ({
    path: '/v1/processes',
    body: { command: 'true' },
    otherBody: { command: 'false' },
  }),
  '/v1/processes/{process_id}/kill': async (stage) => {
    const { body } = await stage.post<{ process: Process }>('/v1/processes', {
      command: 'sleep 100',
    });
    return {
      path: `/v1/processes/${body.process.process_id}/kill`,
      body: { reason: 'one' },
      otherBody: { reason: 'two' },
    };
  },
  '/v1/processes/{process_id}/restart': async (stage) => {
    const { body } = await stage.post<{ process: Process }>('/v1/processes', { command: 'true' });
    await stage.get(`/v1/processes/${body.process.process_id}/wait`);
    return { path: `/v1/processes/${body.process.process_id}/restart`, body: {} };
  },
  '/v1/processes/{process_id}/stdin': async (stage) => {
    const { body } = await stage.post<{ process: Process }>('/v1/processes', {
      command: 'cat',
      stdin: 'pipe',
    });
    return {
      path: `/v1/processes/${body.process.process_id}/stdin`,
      body: { data: 'one' },
      otherBody: { data: 'two' },
    };
  },
  '/v1/worktrees': async (stage) => {
    const { source, repo_root } = await repository(stage);
    const body = { source_session_id: source.id, repo_root, worktree_name: 'one' };
    return { path: '/v1/worktrees', body, otherBody: { ...body, worktree_name: 'two' } };
  },
  '/v1/worktrees/{worktree_id}/claims': async (stage) => {
    const { path } = await worktree(stage);
    const { id: session_id } = await stage.open();
    return {
      path: `${path}/claims`,
      body: { session_id },
      otherBody: { session_id, claim_role: 'owner' },
    };
  },
  '/v1/worktrees/{worktree_id}/release': async (stage) => {
    const { path, session_id } = await worktree(stage);
    const otherBody = { session_id, cleanup_if_last_claim: false };
    return { path: `${path}/release`, body: { session_id }, otherBody };
  },
  '/v1/worktrees/{worktree_id}/cleanup': async (stage) => {
    const { path, session_id } = await worktree(stage);
    await stage.post(`${path}/release`, { session_id, cleanup_if_last_claim: false });
    return { path: `${path}/cleanup`, body: { reason: 'one' }, otherBody: { reason: 'two' } };
  },
  '/v1/worktrees/{worktree_id}/restore': async (stage) => {
    const { path, session_id, place } = await worktree(stage);
    write(place, { 'new.txt': 'work' });
    await stage.post(`${path}/release`, { session_id });
    return { path: `${path}/restore`, body: {}, otherBody: { name: 'other' } };
  },
  '/v1/worktrees/{worktree_id}/merge': async (stage) => {
    const { path, place } = await worktree(stage);
    write(place, { 'new.txt': 'work' });
    commit(place, 'mine');
    return { path: `${path}/merge`, body: { dry_run: false }, otherBody: { dry_run: true } };
  },
  '/v1/worktrees/{worktree_id}/rebase': async (stage) => {
    const { path, repo_root } = await worktree(stage);
    write(repo_root, { 'new.txt': 'work' });
    commit(repo_root, 'theirs');
    return { path: `${path}/rebase`, body: { dry_run: false }, otherBody: { dry_run: true } };
  },
  '/v1/worktrees/{worktree_id}/pull-request': async (stage) => {
    const { path, repo_root } = await worktree(stage);
    git(repo_root, 'remote', 'add', 'origin', repo_root);
    return { path: `${path}/pull-request`, body: {}, otherBody: { push: true } };
  },
  '/v1/worktrees/gc': async () => ({
    path: '/v1/worktrees/gc',
    body: {},
    otherBody: { dry_run: false },
  }),
  '/v1/worktree-trust': async (stage) => {
    const { repo_root } = await repository(stage);
    const body = { repo_root, sha256: 'a'.repeat(64) };
    return { path: '/v1/worktree-trust', body, otherBody: { ...body, sha256: 'b'.repeat(64) } };
  },
  '/v1/worktree-trust/look': async (stage) => {
    const [one, other] = [await repository(stage), await repository(stage)];
    const path = '/v1/worktree-trust/look';
    return { path, body: { repo_root: one.repo_root }, otherBody: { repo_root: other.repo_root } };
  },
  '/v1/worktree-trust/withdraw': async (stage) => {
    const { repo_root } = await repository(stage);
    const body = { repo_root, sha256: 'a'.repeat(64) };
    await stage.post('/v1/worktree-trust', body);
    return { path: '/v1/worktree-trust/withdraw', body, otherBody: { repo_root } };
  },
  '/v1/budgets': async () => ({
    path: '/v1/budgets',
    body: { turns: 1000 },
    otherBody: { turns: 2000 },
  }),
  '/v1/approval-rules': async () => ({
    path: '/v1/approval-rules',
    body: { effect: 'deny', command: 'one' },
    otherBody: { effect: 'deny', command: 'two' },
  }),
  '/v1/approval-rules/test': async () => ({
    path: '/v1/approval-rules/test',
    body: { command: 'one' },
    otherBody: { command: 'two' },
  }),
  '/v1/hooks/{hook_name}/test': async (stage) => {
    await withHooks(stage, [hookOff]);
    return { path: '/v1/hooks/resting/test', body: {} };
  },
  '/v1/hooks/{hook_name}/skip': async (stage) => {
    await withHooks(stage, [{ ...hookOff, enabled: true }]);
    await withHooks(stage, [hookOff]);
    await stage.open();
    return { path: '/v1/hooks/resting/skip', body: { all: true }, otherBody: {} };
  },
  '/v1/teams': async (stage) => {
    const { id } = await stage.open();
    const body = { name: 'one', lead_agent_id: id };
    return { path: '/v1/teams', body, otherBody: { ...body, name: 'two' } };
  },
  '/v1/teams/{team_id}/members': async (stage) => {
    const { path } = await makeTeam(stage);
    const { id: agent_id } = await stage.open();
    return { path: `${path}/members`, body: { agent_id }, otherBody: { agent_id, title: 'two' } };
  },
  '/v1/teams/{team_id}/members/spawn': async (stage) => {
    const { path, agents } = await makeTeam(stage);
    const body = { source_session_id: agents[0].id, title: 'one' };
    return { path: `${path}/members/spawn`, body, otherBody: { ...body, title: 'two' } };
  },
  '/v1/teams/{team_id}/lead': async (stage) => {
    const { path, agents } = await makeTeam(stage);
    const [one, two] = agents.map(({ id }) => ({ lead_agent_id: id }));
    return { path: `${path}/lead`, body: two ?? {}, otherBody: one ?? {} };
  },
  '/v1/teams/{team_id}/messages': async (stage) => {
    const { path, agents } = await makeTeam(stage);
    const [sender, recipient] = agents.map(({ id }) => id);
    const who = { sender_agent_id: sender, recipient_agent_id: recipient };
    const saying = (text: string) => ({ ...who, input: { type: 'text', text } });
    return { path: `${path}/messages`, body: saying('one'), otherBody: saying('two') };
  },
  '/v1/teams/{team_id}/broadcasts': async (stage) => {
    const { path, agents } = await makeTeam(stage);
    const saying = (text: string) => ({
      sender_agent_id: agents[0].id,
      input: { type: 'text', text },
    });
    return { path: `${path}/broadcasts`, body: saying('one'), otherBody: saying('two') };
  },
  '/v1/teams/{team_id}/messages/{message_id}/cancel': async (stage) => {
    const cast = await makeTeam(stage);
    await stage.play(cast.agents[1] as Session);
    const { message } = await cast.say('wait');
    return { path: `${cast.path}/messages/${message.id}/cancel`, body: {} };
  },
  '/v1/teams/{team_id}/deliveries/{delivery_id}/retry': async (stage) => {
    const cast = await makeTeam(stage);
    await stage.play(cast.agents[1] as Session);
    const { delivery } = await cast.say('now or never', { policy: 'start_new_turn_only' });
    return { path: `${cast.path}/deliveries/${delivery.id}/retry`, body: {} };
  },
  '/v1/teams/{team_id}/interrupt-all': async (stage) => {
    const { path, agents } = await makeTeam(stage);
    await stage.play(agents[1] as Session);
    return { path: `${path}/interrupt-all`, body: {} };
  },
};

/** A new repository, and a session to work in it. */
async function repository(stage: Stage) {
  const repo_root = makeRepository(path.join(stage.directory, newUuid()));
  return { repo_root, source: await stage.open() };
}

async function worktree(stage: Stage) {
  const { repo_root, source } = await repository(stage);
  const body = { source_session_id: source.id, repo_root, worktree_name: 'tree' };
  const made = await stage.post<Worktree>('/v1/worktrees', body);
  const { id, path: place } = made.body;
  return { path: `/v1/worktrees/${id}`, session_id: source.id, place, repo_root };
}

/** A comment on a line that the client says it has seen. */
function aComment(text: string) {
  return { path: 'a.ts', first_line: 1, lines: ['+x'], text };
}

/** The path of an entry of a queue, before which its session has another. */
async function queued(stage: Stage): Promise<string> {
  const { id } = await stage.open();
  const at = stage.clock.now() + 86_400_000;
  const add = () =>
    stage.post<{ id: string }>(`/v1/sessions/${id}/queue`, {
      input: { type: 'text', text: 'x' },
      at,
    });
  await add();
  return `/v1/queue/${(await add()).body.id}`;
}

/** A hook that nothing is told of; its secret is nowhere, so that it cannot be sent to either. */
const hookOff = {
  name: 'resting',
  enabled: false,
  kinds: ['storage.trimmed'],
  url: 'http://127.0.0.1:1',
  secret_file: '/nowhere/secret',
};

/** Has a server take over hooks, and waits until they are there. */
async function withHooks({ given, get }: Stage, hooks: object[]): Promise<void> {
  const server = { bind_address: '127.0.0.1:0', drain_ms: 200 };
  given.runtime.reload(() => configSchema.parse({ server, hooks }));
  await get('/v1/hooks');
}

const routes = Object.keys(requests);

/** Whether an agent of the stage is given a turn, which has to end before the next one is looked for. */
const beginsATurn = (route: string) => /\/(turns|review\/send)$/.test(route);

const withKey = (key: string) => ({ 'Idempotency-Key': key });
const replayed = ({ headers }: Reply<unknown>) => headers.get('idempotency-replayed');

/** What teams do goes on after the answer: they have a stage of their own, and only what they are asked for counts. */
const groups = [
  {
    what: 'of teams',
    routes: routes.filter((route) => route.startsWith('/v1/teams')),
    later: /^(?!team\.)/,
  },
  {
    what: 'of all else',
    routes: routes.filter((route) => !route.startsWith('/v1/teams')),
    later: /^(turn\.completed|process\.(?!queued|kill_requested))/,
  },
];

describe.for(groups)('a POST with an Idempotency-Key, $what,', ({ routes: own, later }) => {
  const on = sharedStage();
  let keys = 0;
  const newKey = () => withKey(`key-${++keys}`);
  /** Events that a request makes at once; what comes of it later may come at any time. */
  const asked = async () => (await on().events()).filter(({ kind }) => !later.test(kind));

  it.each(own)('to %s gives the stored answer again, and no other one', async (route) => {
    const request = await requests[route]?.(on());
    if (!request) throw new Error(route);
    // The same body elsewhere, where it would be as good.
    const twin = await requests[route]?.(on());
    const key = newKey();
    const first = await on().post(request.path, request.body, key);
    expect(first.status).toBeLessThan(300);
    expect(replayed(first)).toBeNull();
    if (beginsATurn(route)) (await on().provider.nextTurn()).end(completed);
    const count = (await asked()).length;
    const expectStored = async () => {
      const again = await on().post(request.path, request.body, key);
      expect([again.status, again.body]).toEqual([first.status, first.body]);
      expect(replayed(again)).toBe('true');
    };
    await expectStored();
    const others = [on().post('/v1/sessions', { provider: 'acp', title: 'another' }, key)];
    if (request.otherBody) others.push(on().post(request.path, request.otherBody, key));
    if (twin && twin.path !== request.path) others.push(on().post(twin.path, request.body, key));
    for (const { status, body } of await Promise.all(others))
      expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
    // That was no answer of the key's own.
    await expectStored();
    expect(await asked()).toHaveLength(count);
  });
});

describe('a POST with an Idempotency-Key', () => {
  const on = sharedStage();
  let keys = 0;
  const newKey = () => withKey(`key-${++keys}`);
  const stored = () => on().events();

  it('is known for every POST route', () => {
    const all: Endpoint[] = Object.values(endpoints);
    const posts = all
      .filter((one) => takesKey(one) && one.answers === 'json')
      .map((one) => one.path);
    expect(posts.toSorted()).toEqual(routes.toSorted());
  });

  it('may have an empty body, which counts as {}', async () => {
    const { id } = await on().open();
    const key = newKey();
    const first = await on().post(`/v1/sessions/${id}/close`, undefined, key);
    const again = await on().post(`/v1/sessions/${id}/close`, {}, key);
    expect([again.body, replayed(again)]).toEqual([first.body, 'true']);
  });

  it.each(['/v1/sessions', '/v1/sessions/{session_id}/turns'])(
    'to %s is run once of 50 at a time',
    async (route) => {
      const request = await requests[route]?.(on());
      if (!request) throw new Error(route);
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

  it('that is refused with 409 is run once of 50 at a time, too', async () => {
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

  it('keeps a 409: it stays one when what was in the way is gone', async () => {
    const session = await on().open();
    const url = `/v1/sessions/${session.id}/turns`;
    const body = { input: { type: 'text', text: 'go' }, expected_turn_id: 'turn_of_another_time' };
    const key = newKey();
    const first = await on().post(url, body, key);
    expect([first.status, first.body.code]).toEqual([409, 'turn_conflict']);
    const again = await on().post(url, body, key);
    expect([again.status, again.body, replayed(again)]).toEqual([409, first.body, 'true']);
  });

  it('does not keep turn_in_progress: nothing was done, and it may be sent again', async () => {
    const session = await on().open();
    const turn = await on().play(session);
    const { active_turn_id: turnId } = await on().session(session.id);
    const url = `/v1/sessions/${session.id}/turns`;
    const body = { input: { type: 'text', text: 'me too' } };
    const key = newKey();
    for (let time = 0; time < 2; time++) {
      const refused = await on().post(url, body, key);
      expect([refused.status, refused.body.code]).toEqual([409, 'turn_in_progress']);
      expect(replayed(refused)).toBeNull();
    }
    turn.end(completed);
    await on().until(endOf(turnId ?? ''));
    const sent = await on().post(url, body, key);
    expect([sent.status, replayed(sent)]).toEqual([200, null]);
    const again = await on().post(url, body, key);
    expect([again.status, again.body, replayed(again)]).toEqual([200, sent.body, 'true']);
    (await on().provider.nextTurn()).end(completed);
  });

  it('is the same request whatever the order of the keys in its body', async () => {
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

  it('does not keep a 400', async () => {
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
  ])('that is %s is 400', async (_how, key) => {
    const reply = await on().post('/v1/sessions', { provider: 'acp' }, withKey(key));
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid']);
    expect(reply.body.error).toContain('Idempotency-Key');
  });

  it('that is given twice is 400', async () => {
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

  it('of 255 characters is taken', async () => {
    const reply = await on().post('/v1/sessions', { provider: 'acp' }, withKey('~'.repeat(255)));
    expect(reply.status).toBe(200);
  });

  it('means nothing on a GET', async () => {
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
});

describe('an answer that was kept', () => {
  it('does not include a 404: the thing may be there later', () => {
    let fixed: string | undefined;
    const ids = {
      next(prefix: Parameters<typeof systemIds.next>[0]) {
        return prefix === 'sess' && fixed ? fixed : systemIds.next(prefix);
      },
    };
    return onStage(
      async (stage) => {
        fixed = 'sess_soon';
        const close = () => stage.post('/v1/sessions/sess_soon/close', {}, withKey('early'));
        expect((await close()).status).toBe(404);
        await stage.open();
        const now = await close();
        expect([now.status, replayed(now)]).toEqual([200, null]);
      },
      { ids },
    );
  });

  it('is forgotten after 24 h, and not before', () =>
    onStage(async (stage) => {
      const create = () => stage.post<Session>('/v1/sessions', { provider: 'acp' }, withKey('day'));
      const first = await create();
      stage.clock.advance(24 * HOUR - 1);
      const late = await create();
      expect([late.body.id, replayed(late)]).toEqual([first.body.id, 'true']);
      stage.clock.advance(2);
      const next = await create();
      expect(next.body.id).not.toBe(first.body.id);
      expect(replayed(next)).toBeNull();
      expect((await create()).body.id).toBe(next.body.id);
    }));

  it('lets its key be used for something else after 24 h', () =>
    onStage(async (stage) => {
      await stage.post('/v1/sessions', { provider: 'acp' }, withKey('day'));
      stage.clock.advance(24 * HOUR + 1);
      const { status } = await stage.post(
        '/v1/sessions',
        { provider: 'acp', title: 'else' },
        withKey('day'),
      );
      expect(status).toBe(200);
    }));

  it('is still given after the server was killed', { timeout: scaled(30_000) }, async () => {
    await using directory = tempDirectory('killed');
    const create = async (server: Awaited<ReturnType<typeof startServer>>) => {
      const response = await fetch(`${server.url}/v1/sessions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.token}`,
          'content-type': 'application/json',
          ...withKey('once'),
        },
        body: JSON.stringify({ provider: 'acp', cwd: directory.path }),
      });
      return {
        text: await response.text(),
        status: response.status,
        replayed: response.headers.get('idempotency-replayed'),
      };
    };
    const before = await startServer(directory.path);
    const first = await create(before);
    await before.end('SIGKILL');
    const after = await startServer(directory.path);
    try {
      expect(await create(after)).toEqual({ ...first, replayed: 'true' });
      const sessions = await after.client.call(endpoints.listSessions, {});
      expect(sessions).toHaveLength(1);
    } finally {
      await after.end('SIGKILL');
      await untilNothingCarries(directory.path);
    }
  });
});

describe('effect and answer are one transaction:', () => {
  const tellTale =
    /^(session|queue|review|budget|turn|approval|team|delivery|worktree|hook)\.|^process\.(queued|kill_requested)/;
  // Without a wish to remove, it tells what it would do; a look changes nothing; input goes to a process alone.
  const changing = routes.filter(
    (route) =>
      !/worktrees\/gc$|pull-request$|worktree-trust\/look$|(?:approval-rules|hooks\/\{hook_name\})\/test$|stdin$/.test(
        route,
      ),
  );
  // What takes several steps keeps its answer with the last.
  const inOne = routes.filter(
    (route) => !/worktrees$|release$|cleanup$|restore$|merge$|rebase$/.test(route),
  );

  it.each(changing)('where the store refuses, %s leaves neither', async (route) => {
    using disk = new FullDisk();
    await onStage(async (stage) => {
      const request = await requests[route]?.(stage);
      if (!request) throw new Error(route);
      // Trust in content and rules have rows and no events.
      const told = async () => [
        kinds(await stage.events()).filter((kind) => tellTale.test(kind)).length,
        (await stage.get<object[]>('/v1/worktree-trust')).body.length,
        (await stage.get<object[]>('/v1/approval-rules')).body.length,
      ];
      const before = await told();
      disk.full = true;
      const refused = await stage.post(request.path, request.body, withKey('k'));
      expect([refused.status, refused.body.code]).toEqual([500, 'storage_full']);
      expect(await told()).toEqual(before);
      disk.full = false;
      const now = await stage.post(request.path, request.body, withKey('k'));
      expect([now.status < 300, replayed(now)]).toEqual([true, null]);
      expect(await told()).not.toEqual(before);
      expect(replayed(await stage.post(request.path, request.body, withKey('k')))).toBe('true');
    });
  });

  it.each(inOne)('%s needs no second one to keep its answer', async (route) => {
    let commits = Infinity;
    const failpoint = (name: FailpointName) => {
      if (name === 'commit.before' && --commits < 0) throw new Error('no second transaction');
    };
    await onStage(
      async (stage) => {
        const request = await requests[route]?.(stage);
        if (!request) throw new Error(route);
        commits = 1;
        const first = await stage.post(request.path, request.body, withKey('k'));
        commits = Infinity;
        expect(first.status).toBeLessThan(300);
        const again = await stage.post(request.path, request.body, withKey('k'));
        expect([again.body, replayed(again)]).toEqual([first.body, 'true']);
      },
      { failpoint },
    );
  });
});
