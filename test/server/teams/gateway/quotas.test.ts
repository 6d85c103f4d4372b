import { expect, it } from 'vitest';
import type { SpawnedMember, TeamWithMembers } from '../../../../src/api/teams.ts';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import {
  kinds,
  type Harness,
  type HarnessOptions,
  testHarness,
  testSession,
  testTurn,
} from '../../../support/sessions/harness.ts';
import {
  type TeamHarness,
  teamHarnessOf,
  completed,
  makeTeam,
  testTeam,
} from '../../../support/teams/team.ts';
import { makeRepository } from '../../../support/worktrees/work.ts';
import path from 'node:path';

/** Members end their first turn at once. */
const agentOptions: HarnessOptions['agents'] = {
  onTurn(turn) {
    turn.end(completed);
  },
};

const openTeam = (teams: object): Promise<TeamHarness> =>
  testTeam(2, { agents: agentOptions, config: { teams } });

const add = (harness: Harness, caller: { id: string }, args: object = {}) =>
  harness.callTool<SpawnedMember>(caller, 'cadre_team_manage', args);

it('An agent may have at most so many live members, even if it spawns them at once.', async () => {
  const {
    harness,
    agents: [lead],
  } = await openTeam({ max_spawned_per_session: 3 });
  const replies = await Promise.all(Array.from({ length: 6 }, () => add(harness, lead)));
  const added = replies.filter(({ ok }) => ok);
  expect(added).toHaveLength(3);
  for (const { error } of replies.filter(({ ok }) => !ok)) {
    expect(error.code).toBe('limit_reached');
    expect(error.message).toMatch(/has already spawned 3 sessions that are still open/);
  }
  // Leaving the team ends no session: the member lives, and counts.
  const [one] = added.map(({ result }) => result.session.id);
  const gone = { remove_agent_ids: [one] };
  expect((await harness.callTool(lead, 'cadre_team_manage', gone)).ok).toBe(true);
  expect((await add(harness, lead)).error.code).toBe('limit_reached');
  await harness.close(one ?? '');
  expect((await add(harness, lead)).ok).toBe(true);
});

it('The limit counts members that its members have spawned, too.', async () => {
  const {
    harness,
    agents: [lead],
  } = await openTeam({ max_spawned_per_session: 2, non_lead_can_add_members: true });
  const first = await add(harness, lead);
  const second = await add(harness, first.result.session);
  expect(second.ok).toBe(true);
  for (const caller of [lead, first.result.session, second.result.session])
    expect((await add(harness, caller)).error.code).toBe('limit_reached');
});

it('The limit does not apply to the operator, by HTTP or by the tool.', async () => {
  const {
    harness,
    path: team,
    agents: [lead],
  } = await openTeam({ max_spawned_per_session: 1 });
  const spawn = { source_session_id: lead.id };
  const call = { tool_name: 'cadre_team_manage', caller_agent_id: lead.id };
  for (let i = 0; i < 2; i++) {
    expect((await harness.post(`${team}/members/spawn`, spawn)).status).toBe(200);
    const { body } = await harness.post<{ ok: boolean }>('/v1/mcp/invoke', call);
    expect(body.ok).toBe(true);
  }
  expect((await add(harness, lead)).ok).toBe(true);
  expect((await add(harness, lead)).error.code).toBe('limit_reached');
});

it('The limit counts members whose worktrees are being created, and a refused member leaves none.', async () => {
  const harness = await testHarness({
    agents: agentOptions,
    config: { teams: { max_spawned_per_session: 2 } },
  });
  const repo = makeRepository(path.join(path.dirname(harness.directory), 'repo'));
  const lead = await harness.open({ cwd: repo, permission_mode: 'full_access' });
  const body = { name: 'builders', lead_agent_id: lead.id };
  const made = await harness.post<TeamWithMembers>('/v1/teams', body);
  const teamHarness = teamHarnessOf(harness, made.body, [lead]);
  const replies = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => add(harness, lead, { worktree_name: name })),
  );
  const added = replies.filter(({ ok }) => ok);
  expect(added).toHaveLength(2);
  for (const { error } of replies.filter(({ ok }) => !ok)) expect(error.code).toBe('limit_reached');
  const worktrees = await harness.get<{ status: string }[]>('/v1/worktrees');
  expect(worktrees.body.map(({ status }) => status)).toEqual(['active', 'active']);
  const events = await harness.get<RuntimeEventRecord[]>(`${teamHarness.path}/events`);
  expect(kinds(events.body)).not.toContain('team.spawn_failed');
});

const options = { config: { approvals: { max_pending_per_session: 2 } } };

it('A tool call beyond the limit of pending approvals returns limit_reached with the alternatives.', async () => {
  const { harness, session } = await testSession(options, { permission_mode: null });
  await harness.startTurn(session);
  const call = () => harness.callTool(session, 'cadre_process_run', { command: 'true' });
  const waiting = [call(), call()];
  const second = await harness.asked(session.id, 2);
  const { error } = await call();
  expect(error.code).toBe('limit_reached');
  for (const part of ['2 pending approvals', 'approvals.max_pending_per_session', 'full_access'])
    expect(error.message).toContain(part);
  // Another session has places of its own.
  const other = await harness.open({ permission_mode: null });
  await harness.startTurn(other);
  const elsewhere = harness.callTool(other, 'cadre_process_run', { command: 'true' });
  await harness.decide(await harness.asked(other.id), 'accept');
  expect((await elsewhere).ok).toBe(true);
  await harness.decide(second, 'decline');
  const third = call();
  await harness.decide(await harness.asked(session.id, 3), 'accept');
  expect((await third).ok).toBe(true);
  void Promise.allSettled(waiting);
});

it('An approval that an agent requests beyond the limit is declined with the reason.', async () => {
  const { harness, session, turn } = await testTurn(options);
  void turn.ask();
  void turn.ask();
  await harness.asked(session.id, 2);
  expect(await turn.ask()).toMatchObject({
    decision: 'decline',
    reason: expect.stringContaining('approvals.max_pending_per_session') as string,
  });
  expect(await harness.approvals('?status=pending')).toHaveLength(2);
});

it('A max_hops of 0 delays no message.', async () => {
  const harness = await testHarness({ agents: agentOptions, config: { teams: { max_hops: 0 } } });
  const { agents } = await makeTeam(harness);
  const message = { recipient_agent_id: agents[1]?.id, message: 'x' };
  for (let i = 0; i < 3; i++) {
    const { ok } = await harness.callTool(agents[0], 'cadre_team_message', message);
    expect(ok).toBe(true);
  }
  const { body } = await harness.get<{ error: object | null }[]>(
    `/v1/teams/${(await harness.get<{ id: string }[]>('/v1/teams')).body[0]?.id}/deliveries`,
  );
  expect(body.filter(({ error }) => error !== null)).toEqual([]);
});
