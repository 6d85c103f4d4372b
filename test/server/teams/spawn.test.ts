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
  type Harness,
  testHarness,
  testSession,
} from '../../support/sessions/harness.ts';
import { testServer } from '../../support/server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { testDirectory } from '../../support/temp.ts';
import path from 'node:path';
import { openSession } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { type TeamHarness, teamHarnessOf, completed, testTeam } from '../../support/teams/team.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';
import { scaled } from '../../support/patience.ts';

type Spawned = SpawnedMember & Refusal;

function spawn({ harness, path: team, agents }: TeamHarness, more: object = {}) {
  const body = { source_session_id: agents[0].id, ...more };
  return harness.post<Spawned>(`${team}/members/spawn`, body);
}

/** A team whose lead works in a repository. */
async function inRepository(harness: Harness): Promise<TeamHarness> {
  const repo = makeRepository(path.join(path.dirname(harness.directory), 'repo'));
  const lead = await harness.open({ cwd: repo });
  const made = await harness.post<TeamWithMembers>('/v1/teams', {
    name: 'builders',
    lead_agent_id: lead.id,
  });
  return teamHarnessOf(harness, made.body, [lead]);
}

async function claimsOn(harness: Harness, worktree: { id: string } | null): Promise<Claim[]> {
  const { body } = await harness.get<{ claims: Claim[] }>(`/v1/worktrees/${worktree?.id}`);
  return body.claims;
}

it('A member has the sandbox of its spawner.', async () => {
  const { harness, session: lead } = await testSession(undefined, {
    sandbox: { mode: 'require', network: 'none' },
  });
  const body = { name: 'builders', lead_agent_id: lead.id };
  const made = await harness.post<TeamWithMembers>('/v1/teams', body);
  const spawned = await spawn(teamHarnessOf(harness, made.body, [lead]), { prompt: 'write tests' });
  expect(spawned.body.session.sandbox).toEqual(lead.sandbox);
  (await harness.provider.nextTurn()).end(completed);
});

it('A spawn opens a session like the session of its caller, and sends it its task.', async () => {
  const { teamHarness, harness, agents, team } = await testTeam();
  const { status, body } = await spawn(teamHarness, { title: 'tester', prompt: 'write tests' });
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
  const turn = await harness.provider.nextTurn();
  expect(turn.session.id).toBe(body.session.id);
  expect(turn.text).toContain('\nwrite tests\n');
  turn.end(completed);
  const [delivery] = body.onboarding.delivery_ids;
  await teamHarness.moved({ id: delivery ?? '' }, 'consumed');
  const { injected_turn_id } = await teamHarness.delivery(delivery ?? '');
  const { source } = await harness.turn(body.session.id, injected_turn_id ?? '');
  expect(source).toBe('onboarding');
  const events = (await harness.get<UntypedEvent[]>(`${teamHarness.path}/events`)).body;
  expect(kinds(events).slice(3)).toEqual([
    'team.member_joined',
    'team.message_created',
    'delivery.pending',
    'delivery.injecting',
    'delivery.injected',
    'delivery.consumed',
  ]);
  const joined = events.filter(({ kind }) => kind === 'team.member_joined');
  expect(joined.map(({ payload }) => payload.operation_id)).toEqual([
    null,
    null,
    body.operation_id,
  ]);
});

it('A spawn that is impossible is refused, and nothing changes.', async () => {
  const { teamHarness, harness } = await testTeam();
  const [stranger, closed] = [await harness.open(), teamHarness.agents[1]];
  await harness.close(closed?.id ?? '');
  for (const [more, status, code] of [
    [{ source_session_id: stranger.id }, 404, 'not_found'],
    [{ source_session_id: closed?.id }, 409, 'session_closed'],
    [{ provider: 'codex' }, 400, 'provider_unavailable'],
    [{ model_preset: 'none' }, 400, 'unknown_model_preset'],
    [{ worktree: { mode: 'reuse' } }, 400, 'invalid'],
    [{ worktree: { mode: 'create', name: '../up' } }, 400, 'invalid'],
  ] as const) {
    const reply = await spawn(teamHarness, more);
    expect([more, reply.status, reply.body.code]).toEqual([more, status, code]);
  }
  expect((await harness.get<Session[]>('/v1/sessions')).body).toHaveLength(3);
  expect((await teamHarness.view()).messages).toEqual([]);
});

it('A member with a worktree works there.', async () => {
  const harness = await testHarness();
  const teamHarness = await inRepository(harness);
  const worktree = { mode: 'create', name: 'feature' };
  const { body } = await spawn(teamHarness, { prompt: 'build', worktree });
  expect(body.worktree).toMatchObject({
    worktree_name: 'feature',
    team_id: teamHarness.team.id,
    operation_id: body.operation_id,
    source_session_id: teamHarness.agents[0].id,
    status: 'active',
  });
  expect(body.session).toMatchObject({
    cwd: body.worktree?.path,
    worktree_id: body.worktree?.id,
  });
  expect(body.member.worktree_id).toBe(body.worktree?.id);
  expect(await claimsOn(harness, body.worktree)).toMatchObject([
    { session_id: body.session.id, claim_role: 'owner', released_at: null },
  ]);
  (await harness.provider.nextTurn()).end(completed);
  await harness.until(({ kind }) => kind === 'delivery.consumed');
  const [, row] = (await teamHarness.view()).members;
  expect(row?.worktree?.id).toBe(body.worktree?.id);

  const again = await spawn(teamHarness, { worktree });
  expect([again.status, again.body.code]).toEqual([409, 'conflict']);
  await harness.until(({ kind }) => kind === 'team.spawn_failed');
  expect(await claimsOn(harness, body.worktree)).toHaveLength(1);
  const reused = await spawn(teamHarness, { worktree: { mode: 'reuse', name: 'feature' } });
  expect(reused.body.worktree?.id).toBe(body.worktree?.id);
  expect(await claimsOn(harness, body.worktree)).toMatchObject([
    { session_id: body.session.id },
    { session_id: reused.body.session.id, claim_role: 'consumer' },
  ]);
  (await harness.provider.nextTurn()).end(completed);
  await harness.times('delivery.consumed', 2);
});

it('A spawn does not change the spawning session: its worktree stays, and it claims no other.', async () => {
  const harness = await testHarness();
  const teamHarness = await inRepository(harness);
  const [lead] = teamHarness.agents;
  const own = await harness.post<Worktree>('/v1/worktrees', {
    source_session_id: lead.id,
    worktree_name: 'own',
  });
  const claimed = async () => (await harness.session(lead.id)).worktree_id;
  expect(await claimed()).toBe(own.body.id);
  const spawned: (Worktree | null)[] = [];
  for (const name of ['one', 'two']) {
    const { body } = await spawn(teamHarness, { worktree: { mode: 'create', name } });
    spawned.push(body.worktree);
    (await harness.provider.nextTurn()).end(completed);
    expect(await claimed()).toBe(own.body.id);
  }
  const [row] = (await teamHarness.view()).members;
  expect(row?.worktree?.id).toBe(own.body.id);
  for (const worktree of spawned) {
    const [claim, ...others] = await claimsOn(harness, worktree);
    expect(others).toEqual([]);
    // The member's claim is the last one: with it the worktree goes.
    const released = await harness.post<{ worktree: Worktree }>(
      `/v1/worktrees/${worktree?.id}/release`,
      { session_id: claim?.session_id, cleanup_if_last_claim: false },
    );
    expect(released.body.worktree.status).toBe('retained');
  }
});

it('A spawn that is refused or fails leaves no claim on an existing worktree.', async () => {
  const harness = await testHarness({
    failpoint(name) {
      if (name === 'spawn.prepared') throw new AppError('conflict', 'not now');
    },
  });
  const teamHarness = await inRepository(harness);
  const { body: there } = await harness.post<Worktree>('/v1/worktrees', {
    source_session_id: (await harness.open({ cwd: teamHarness.agents[0].cwd })).id,
    worktree_name: 'there',
  });
  for (const mode of ['create', 'reuse']) {
    const { status } = await spawn(teamHarness, { worktree: { mode, name: 'there' } });
    expect([mode, status]).toEqual([mode, 409]);
  }
  await harness.times('team.spawn_failed', 2);
  expect(await claimsOn(harness, there)).toHaveLength(1);
  expect((await harness.session(teamHarness.agents[0].id)).worktree_id).toBeNull();
  const { body } = await harness.get<Worktree>(`/v1/worktrees/${there.id}`);
  expect(body.status).toBe('active');
});

const policies = ['retain_on_last_claim', 'delete_on_last_claim', 'delete_if_clean'];
it.each(someOf(policies, 3))(
  'A spawn is undone in reverse order if its last step fails, also under the policy %s.',
  async (policy) => {
    const harness = await testHarness({
      config: { worktrees: { deletion_policy_default: policy } },
      failpoint(name) {
        if (name === 'spawn.prepared') throw new AppError('conflict', 'not now');
      },
    });
    const teamHarness = await inRepository(harness);
    const { status, body } = await spawn(teamHarness, {
      worktree: { mode: 'create', name: 'one' },
    });
    expect([status, body.error]).toEqual([409, 'not now']);
    const failed = await harness.until(({ kind }) => kind === 'team.spawn_failed');
    expect(failed.payload.error).toEqual({ code: 'conflict', message: 'not now' });
    const worktrees = (await harness.get<Worktree[]>('/v1/worktrees')).body;
    expect(worktrees.map((one) => one.status)).toEqual(['cleaned']);
    expect((await harness.get<Session[]>('/v1/sessions')).body).toHaveLength(1);
    expect((await harness.session(teamHarness.agents[0].id)).worktree_id).toBeNull();
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
    const events = async () =>
      (await server.client.call(endpoints.replayTeamEvents, { params, query: {} })).map(
        ({ kind }) => kind,
      );
    await expect.poll(events, { timeout: scaled(15_000) }).toContain('team.spawn_failed');
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
