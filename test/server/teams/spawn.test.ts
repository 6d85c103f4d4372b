import { expect, it } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import type { Session } from '../../../src/api/sessions.ts';
import type { SpawnedMember, TeamWithMembers } from '../../../src/api/teams.ts';
import type { Claim, Worktree } from '../../../src/api/worktrees.ts';
import { AppError } from '../../../src/api/errors.ts';
import { someOf } from '../../support/at-length.ts';
import {
  kinds,
  type Refusal,
  type Stage,
  testStage,
  testSession,
} from '../../support/sessions/harness.ts';
import { testServer } from '../../support/server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { testDirectory } from '../../support/temp.ts';
import path from 'node:path';
import { openSession } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { type Cast, castOf, completed, testTeam } from '../../support/teams/team.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';
import { scaled } from '../../support/patience.ts';

type Spawned = SpawnedMember & Refusal;

function spawn({ stage, path: team, agents }: Cast, more: object = {}) {
  const body = { source_session_id: agents[0].id, ...more };
  return stage.post<Spawned>(`${team}/members/spawn`, body);
}

/** A team whose lead works in a repository. */
async function inRepository(stage: Stage): Promise<Cast> {
  const repo = makeRepository(path.join(path.dirname(stage.directory), 'repo'));
  const lead = await stage.open({ cwd: repo });
  const made = await stage.post<TeamWithMembers>('/v1/teams', {
    name: 'builders',
    lead_agent_id: lead.id,
  });
  return castOf(stage, made.body, [lead]);
}

async function claimsOn(stage: Stage, worktree: { id: string } | null): Promise<Claim[]> {
  const { body } = await stage.get<{ claims: Claim[] }>(`/v1/worktrees/${worktree?.id}`);
  return body.claims;
}

it('A member has the sandbox of its spawner.', async () => {
  const { stage, session: lead } = await testSession(undefined, {
    sandbox: { mode: 'require', network: 'none' },
  });
  const body = { name: 'builders', lead_agent_id: lead.id };
  const made = await stage.post<TeamWithMembers>('/v1/teams', body);
  const spawned = await spawn(castOf(stage, made.body, [lead]), { prompt: 'write tests' });
  expect(spawned.body.session.sandbox).toEqual(lead.sandbox);
  (await stage.provider.nextTurn()).end(completed);
});

it('A spawn opens a session like the session of its caller, and sends it its task.', async () => {
  const { cast, stage, agents, team } = await testTeam();
  const { status, body } = await spawn(cast, { title: 'tester', prompt: 'write tests' });
  expect(status).toBe(200);
  expect(body.operation_id).toMatch(/^op_[0-9a-f]{32}$/);
  expect(body.session).toMatchObject({
    provider: 'acp',
    cwd: agents[0].cwd,
    permission_mode: agents[0].permission_mode,
    title: 'tester',
  });
  expect(body.member).toMatchObject({
    team_id: team.id,
    agent_id: body.session.id,
    title: 'tester',
    added_by: agents[0].id,
    worktree_id: null,
  });
  expect(body.worktree).toBeNull();
  const turn = await stage.provider.nextTurn();
  expect(turn.session.id).toBe(body.session.id);
  expect(turn.text).toContain('\nwrite tests\n');
  turn.end(completed);
  const [delivery] = body.onboarding.delivery_ids;
  await cast.moved({ id: delivery ?? '' }, 'consumed');
  const { injected_turn_id } = await cast.delivery(delivery ?? '');
  const { source } = await stage.turn(body.session.id, injected_turn_id ?? '');
  expect(source).toBe('onboarding');
  const told = (await stage.get<UntypedEvent[]>(`${cast.path}/events`)).body;
  expect(kinds(told).slice(3)).toEqual([
    'team.member_joined',
    'team.message_created',
    'delivery.pending',
    'delivery.injecting',
    'delivery.injected',
    'delivery.consumed',
  ]);
  const joined = told.filter(({ kind }) => kind === 'team.member_joined');
  expect(joined.map(({ payload }) => payload.operation_id)).toEqual([
    null,
    null,
    body.operation_id,
  ]);
});

it('A spawn that is impossible is refused, and nothing changes.', async () => {
  const { cast, stage } = await testTeam();
  const [stranger, closed] = [await stage.open(), cast.agents[1]];
  await stage.close(closed?.id ?? '');
  for (const [more, status, code] of [
    [{ source_session_id: stranger.id }, 404, 'not_found'],
    [{ source_session_id: closed?.id }, 409, 'session_closed'],
    [{ provider: 'codex' }, 400, 'provider_unavailable'],
    [{ model_preset: 'none' }, 400, 'unknown_model_preset'],
    [{ worktree: { mode: 'reuse' } }, 400, 'invalid'],
    [{ worktree: { mode: 'create', name: '../up' } }, 400, 'invalid'],
  ] as const) {
    const reply = await spawn(cast, more);
    expect([more, reply.status, reply.body.code]).toEqual([more, status, code]);
  }
  expect((await stage.get<Session[]>('/v1/sessions')).body).toHaveLength(3);
  expect((await cast.view()).messages).toEqual([]);
});

it('A member with a worktree works there.', async () => {
  const stage = await testStage();
  const cast = await inRepository(stage);
  const worktree = { mode: 'create', name: 'feature' };
  const { body } = await spawn(cast, { prompt: 'build', worktree });
  expect(body.worktree).toMatchObject({
    worktree_name: 'feature',
    team_id: cast.team.id,
    operation_id: body.operation_id,
    source_session_id: cast.agents[0].id,
    status: 'active',
  });
  expect(body.session).toMatchObject({
    cwd: body.worktree?.path,
    worktree_id: body.worktree?.id,
  });
  expect(body.member.worktree_id).toBe(body.worktree?.id);
  expect(await claimsOn(stage, body.worktree)).toMatchObject([
    { session_id: body.session.id, claim_role: 'owner', released_at: null },
  ]);
  (await stage.provider.nextTurn()).end(completed);
  await stage.until(({ kind }) => kind === 'delivery.consumed');
  const [, row] = (await cast.view()).members;
  expect(row?.worktree?.id).toBe(body.worktree?.id);

  const again = await spawn(cast, { worktree });
  expect([again.status, again.body.code]).toEqual([409, 'conflict']);
  await stage.until(({ kind }) => kind === 'team.spawn_failed');
  expect(await claimsOn(stage, body.worktree)).toHaveLength(1);
  const reused = await spawn(cast, { worktree: { mode: 'reuse', name: 'feature' } });
  expect(reused.body.worktree?.id).toBe(body.worktree?.id);
  expect(await claimsOn(stage, body.worktree)).toMatchObject([
    { session_id: body.session.id },
    { session_id: reused.body.session.id, claim_role: 'consumer' },
  ]);
  (await stage.provider.nextTurn()).end(completed);
  await stage.times('delivery.consumed', 2);
});

it('A spawn does not change the spawning session: its worktree stays, and it claims no other.', async () => {
  const stage = await testStage();
  const cast = await inRepository(stage);
  const [lead] = cast.agents;
  const own = await stage.post<Worktree>('/v1/worktrees', {
    source_session_id: lead.id,
    worktree_name: 'own',
  });
  const claimed = async () => (await stage.session(lead.id)).worktree_id;
  expect(await claimed()).toBe(own.body.id);
  const spawned: (Worktree | null)[] = [];
  for (const name of ['one', 'two']) {
    const { body } = await spawn(cast, { worktree: { mode: 'create', name } });
    spawned.push(body.worktree);
    (await stage.provider.nextTurn()).end(completed);
    expect(await claimed()).toBe(own.body.id);
  }
  const [row] = (await cast.view()).members;
  expect(row?.worktree?.id).toBe(own.body.id);
  for (const worktree of spawned) {
    const [claim, ...others] = await claimsOn(stage, worktree);
    expect(others).toEqual([]);
    // The member's claim is the last one: with it the worktree goes.
    const released = await stage.post<{ worktree: Worktree }>(
      `/v1/worktrees/${worktree?.id}/release`,
      { session_id: claim?.session_id, cleanup_if_last_claim: false },
    );
    expect(released.body.worktree.status).toBe('retained');
  }
});

it('A spawn that is refused or fails leaves no claim on an existing worktree.', async () => {
  const stage = await testStage({
    failpoint(name) {
      if (name === 'spawn.prepared') throw new AppError('conflict', 'not now');
    },
  });
  const cast = await inRepository(stage);
  const { body: there } = await stage.post<Worktree>('/v1/worktrees', {
    source_session_id: (await stage.open({ cwd: cast.agents[0].cwd })).id,
    worktree_name: 'there',
  });
  for (const mode of ['create', 'reuse']) {
    const { status } = await spawn(cast, { worktree: { mode, name: 'there' } });
    expect([mode, status]).toEqual([mode, 409]);
  }
  await stage.times('team.spawn_failed', 2);
  expect(await claimsOn(stage, there)).toHaveLength(1);
  expect((await stage.session(cast.agents[0].id)).worktree_id).toBeNull();
  const { body } = await stage.get<Worktree>(`/v1/worktrees/${there.id}`);
  expect(body.status).toBe('active');
});

const policies = ['retain_on_last_claim', 'delete_on_last_claim', 'delete_if_clean'];
it.each(someOf(policies, 3))(
  'A spawn is undone in reverse order if its last step fails, also under the policy %s.',
  async (policy) => {
    const stage = await testStage({
      config: { worktrees: { deletion_policy_default: policy } },
      failpoint(name) {
        if (name === 'spawn.prepared') throw new AppError('conflict', 'not now');
      },
    });
    const cast = await inRepository(stage);
    const { status, body } = await spawn(cast, { worktree: { mode: 'create', name: 'one' } });
    expect([status, body.error]).toEqual([409, 'not now']);
    const failed = await stage.until(({ kind }) => kind === 'team.spawn_failed');
    expect(failed.payload.error).toEqual({ code: 'conflict', message: 'not now' });
    const worktrees = (await stage.get<Worktree[]>('/v1/worktrees')).body;
    expect(worktrees.map((one) => one.status)).toEqual(['cleaned']);
    expect((await stage.get<Session[]>('/v1/sessions')).body).toHaveLength(1);
    expect((await stage.session(cast.agents[0].id)).worktree_id).toBeNull();
  },
);

// In the suite where there is most to undo.
it.each(someOf(['spawn.prepared', 'spawn.begun', 'worktree.added'], 3))(
  'A server that is killed at %s leaves nothing of a spawn, once it has started again.',
  { timeout: scaled(60_000) },
  async (point) => {
    const place = testDirectory('spawn');
    const data = path.join(place, 'data');
    const repo = makeRepository(path.join(place, 'repo'));
    let server = await testServer({
      directory: data,
      env: { CADRE_FAILPOINTS: `${point}=kill` },
    });
    const lead = await openSession(server.client, repo);
    const { team } = await server.client.call(endpoints.createTeam, {
      body: { name: 'builders', lead_agent_id: lead.id },
    });
    const params = { team_id: team.id };
    const body = {
      source_session_id: lead.id,
      worktree: { mode: 'create' as const, name: 'feature' },
    };
    await expectError(server.client.call(endpoints.spawnMember, { params, body }), 'unreachable');
    await server.end('SIGKILL');
    server = await testServer({ directory: data });
    const told = async () =>
      (await server.client.call(endpoints.replayTeamEvents, { params, query: {} })).map(
        ({ kind }) => kind,
      );
    await expect.poll(told, { timeout: scaled(15_000) }).toContain('team.spawn_failed');
    const { members } = await server.client.call(endpoints.getTeam, { params });
    expect(members.map(({ agent_id }) => agent_id)).toEqual([lead.id]);
    expect(await server.client.call(endpoints.listSessions, {})).toHaveLength(1);
    const worktrees = await server.client.call(endpoints.listWorktrees, {});
    expect(worktrees.filter(({ status }) => status !== 'cleaned')).toEqual([]);
    const { worktree_id } = await server.client.call(endpoints.getSession, {
      params: { session_id: lead.id },
    });
    expect(worktree_id).toBeNull();
    const diagnostics = await server.client.call(endpoints.getCommsDiagnostics, {});
    expect(diagnostics.spawns_under_way).toBe(0);
  },
);
