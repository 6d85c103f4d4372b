import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { endpoints } from '../../src/api/index.ts';
import { takesKey } from '../../src/api/openapi-answers.ts';
import type { Process } from '../../src/api/processes.ts';
import type { Session } from '../../src/api/sessions.ts';
import type { FailpointName } from '../../src/lib/failpoint.ts';
import { systemIds } from '../../src/lib/ids.ts';
import { ProviderError } from '../../src/providers/provider.ts';
import { completed } from '../support/scripted-provider.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { type Cast, makeTeam } from '../teams/support/team.ts';
import { FullDisk } from './support/faults.ts';
import { endOf, kinds, onStage, type Reply, sharedStage, type Stage } from './support/stage.ts';

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
  '/v1/teams': async (stage) => {
    const { id } = await stage.open();
    return {
      path: '/v1/teams',
      body: { name: 'one', lead_agent_id: id },
      otherBody: { name: 'two', lead_agent_id: id },
    };
  },
  '/v1/teams/{team_id}/members': async (stage) => {
    const [{ path: team }, one, two] = [
      await makeTeam(stage),
      await stage.open(),
      await stage.open(),
    ];
    const otherBody = { agent_id: two.id };
    return { path: `${team}/members`, body: { agent_id: one.id }, otherBody };
  },
  '/v1/teams/{team_id}/members/spawn': async (stage) => {
    const { path: team, agents } = await makeTeam(stage);
    const source_session_id = agents[0].id;
    return {
      path: `${team}/members/spawn`,
      body: { source_session_id, title: 'one' },
      otherBody: { source_session_id, title: 'two' },
    };
  },
  '/v1/teams/{team_id}/lead': async (stage) => {
    const { path: team, agents } = await makeTeam(stage);
    const [lead_agent_id, other] = [agents[1]?.id, { lead_agent_id: agents[0].id }];
    return { path: `${team}/lead`, body: { lead_agent_id }, otherBody: other };
  },
  '/v1/teams/{team_id}/interrupt-all': async (stage) => ({
    path: `${(await busyTeam(stage)).path}/interrupt-all`,
    body: {},
  }),
  '/v1/teams/{team_id}/messages': async (stage) => {
    const { path: team, agents } = await busyTeam(stage);
    const [sender_agent_id, recipient_agent_id] = agents.map(({ id }) => id);
    const said = (text: string) => ({
      sender_agent_id,
      recipient_agent_id,
      input: { type: 'text', text },
    });
    return { path: `${team}/messages`, body: said('one'), otherBody: said('two') };
  },
  '/v1/teams/{team_id}/broadcasts': async (stage) => {
    const { path: team, agents } = await busyTeam(stage);
    const said = (text: string) => ({
      sender_agent_id: agents[0].id,
      input: { type: 'text', text },
    });
    return { path: `${team}/broadcasts`, body: said('one'), otherBody: said('two') };
  },
  '/v1/teams/{team_id}/messages/{message_id}/cancel': async (stage) => {
    const team = await busyTeam(stage);
    const { message } = await team.say('one');
    return { path: `${team.path}/messages/${message.id}/cancel`, body: {} };
  },
  '/v1/teams/{team_id}/deliveries/{delivery_id}/retry': async (stage) => {
    const team = await busyTeam(stage);
    const { delivery } = await team.say('one', { policy: 'start_new_turn_only' });
    return { path: `${team.path}/deliveries/${delivery.id}/retry`, body: {} };
  },
};

/** A team whose second member is at work: what is said to it waits. */
async function busyTeam(stage: Stage): Promise<Cast> {
  const team = await makeTeam(stage);
  await stage.play(team.agents[1] as Session);
  return team;
}

const routes = Object.keys(requests);

const startsTurn = (route: string) => /\/(turns|spawn)$/.test(route);

const withKey = (key: string) => ({ 'Idempotency-Key': key });
const replayed = ({ headers }: Reply<unknown>) => headers.get('idempotency-replayed');

describe('a POST with an Idempotency-Key', () => {
  const on = sharedStage();
  let keys = 0;
  const newKey = () => withKey(`key-${++keys}`);
  const stored = () => on().events();
  /** Events that a request makes at once; what comes of it later may come at any time. */
  const asked = async () =>
    (await stored()).filter(
      ({ kind }) =>
        !/^(turn\.(started|completed)|delivery\.(injected|consumed)|process\.(?!queued|kill_requested))/.test(
          kind,
        ),
    );

  it('is known for every POST route', () => {
    const all: Endpoint[] = Object.values(endpoints);
    const posts = all
      .filter((one) => takesKey(one) && one.answers === 'json')
      .map((one) => one.path)
      // They need a repository.
      .filter((one) => !one.startsWith('/v1/worktrees'));
    expect(posts.toSorted()).toEqual(routes.toSorted());
  });

  it.each(routes)('to %s gives the stored answer again', async (route) => {
    const request = await requests[route]?.(on());
    if (!request) throw new Error(route);
    const key = newKey();
    const first = await on().post(request.path, request.body, key);
    expect(first.status).toBeLessThan(300);
    expect(replayed(first)).toBeNull();
    if (startsTurn(route)) (await on().provider.nextTurn()).end(completed);
    const count = (await asked()).length;
    for (const _again of [1, 2]) {
      const again = await on().post(request.path, request.body, key);
      expect([again.status, again.body]).toEqual([first.status, first.body]);
      expect(replayed(again)).toBe('true');
    }
    expect(await asked()).toHaveLength(count);
  });

  it.each(routes)('to %s is 409 idempotency_conflict for another body or path', async (route) => {
    const request = await requests[route]?.(on());
    if (!request) throw new Error(route);
    const key = newKey();
    await on().post(request.path, request.body, key);
    if (startsTurn(route)) (await on().provider.nextTurn()).end(completed);
    const others = [on().post('/v1/sessions', { provider: 'acp', title: 'another' }, key)];
    if (request.otherBody) others.push(on().post(request.path, request.otherBody, key));
    // The same body elsewhere, where it would be as good.
    const twin = await requests[route]?.(on());
    if (twin && twin.path !== request.path) others.push(on().post(twin.path, request.body, key));
    for (const { status, body } of await Promise.all(others))
      expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
    // That was no answer of the key's own.
    const again = await on().post(request.path, request.body, key);
    expect([again.status < 300, replayed(again)]).toEqual([true, 'true']);
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
    await on().play(session);
    const key = newKey();
    const body = { input: { type: 'text', text: 'me too' } };
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => on().post(`/v1/sessions/${session.id}/turns`, body, key)),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(50).fill(409));
    expect(replies.filter((reply) => replayed(reply) === null)).toHaveLength(1);
  });

  it('keeps a 409: it stays one when the session is free again', async () => {
    const session = await on().open();
    const turn = await on().play(session);
    const { active_turn_id: turnId } = await on().session(session.id);
    const url = `/v1/sessions/${session.id}/turns`;
    const body = { input: { type: 'text', text: 'me too' } };
    const key = newKey();
    const first = await on().post(url, body, key);
    expect([first.status, first.body.code]).toEqual([409, 'turn_in_progress']);
    turn.end(completed);
    await on().until(endOf(turnId ?? ''));
    const again = await on().post(url, body, key);
    expect([again.status, again.body, replayed(again)]).toEqual([409, first.body, 'true']);
    expect((await on().post(url, body, newKey())).status).toBe(200);
    (await on().provider.nextTurn()).end(completed);
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

  it('is still given after the server was killed', { timeout: 30_000 }, async () => {
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
  const tellTale = /^(session|turn|approval|team|delivery)\.|^process\.(queued|kill_requested)/;

  it.each(routes)('where the store refuses, %s leaves neither', async (route) => {
    using disk = new FullDisk();
    await onStage(async (stage) => {
      const request = await requests[route]?.(stage);
      if (!request) throw new Error(route);
      const told = async () =>
        kinds(await stage.events()).filter((kind) => tellTale.test(kind)).length;
      const before = await told();
      disk.full = true;
      const refused = await stage.post(request.path, request.body, withKey('k'));
      expect([refused.status, refused.body.code]).toEqual([500, 'storage_full']);
      expect(await told()).toBe(before);
      disk.full = false;
      const now = await stage.post(request.path, request.body, withKey('k'));
      expect([now.status < 300, replayed(now)]).toEqual([true, null]);
      expect(await told()).toBeGreaterThan(before);
      expect(replayed(await stage.post(request.path, request.body, withKey('k')))).toBe('true');
    });
  });

  it.each(routes)('%s needs no second one to keep its answer', async (route) => {
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
