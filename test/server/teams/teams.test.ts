import { expect, it } from 'vitest';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import type { Session } from '../../../src/api/sessions.ts';
import type { TeamWithMembers } from '../../../src/api/teams.ts';
import { kinds, sharedHarness } from '../../support/sessions/harness.ts';
import { completed, testTeam } from '../../support/teams/team.ts';

type Reply = TeamWithMembers & { code: string; error: string };
const idsOf = ({ members }: TeamWithMembers) => members.map(({ agent_id }) => agent_id);

const on = sharedHarness();
const make = (body: object) => on().post<Reply>('/v1/teams', body);

it('A team has its lead as a member, and each session once.', async () => {
  const [lead, other] = [await on().open(), await on().open()];
  const { status, body } = await make({
    name: 'a team',
    lead_agent_id: lead.id,
    member_agent_ids: [other.id, lead.id, other.id],
  });
  expect(status).toBe(200);
  expect(body.team).toMatchObject({
    name: 'a team',
    lead_agent_id: lead.id,
    created_by: 'api',
    deleted_at: null,
  });
  expect(idsOf(body)).toEqual([lead.id, other.id]);
  expect((await on().get(`/v1/teams/${body.team.id}`)).body).toEqual(body);
  const list = await on().get<Session[]>(`/v1/sessions?team_id=${body.team.id}`);
  expect(list.body.map(({ id }) => id)).toEqual([other.id, lead.id]);
});

it('A team needs a name, a lead, and sessions that exist and are open.', async () => {
  const [lead, closed] = [await on().open(), await on().open()];
  await on().close(closed.id);
  for (const [body, status, code] of [
    [{ lead_agent_id: lead.id }, 400, 'invalid'],
    [{ name: 'x' }, 400, 'invalid'],
    [{ name: 'x', lead_agent_id: 'sess_none' }, 404, 'not_found'],
    [{ name: 'x', lead_agent_id: lead.id, member_agent_ids: ['sess_none'] }, 404, 'not_found'],
    [{ name: 'x', lead_agent_id: closed.id }, 409, 'session_closed'],
  ] as const) {
    const reply = await make(body);
    expect([body, reply.status, reply.body.code]).toEqual([body, status, code]);
  }
  expect((await on().get('/v1/sessions?team_id=team_none')).status).toBe(404);
  for (const route of ['', '/view', '/messages', '/deliveries', '/events', '/events/stream'])
    expect((await on().get(`/v1/teams/team_none${route}`)).status).toBe(404);
});

it('A request with join_existing adds its sessions to the only team with the name, or creates the team.', async () => {
  const [first, second, third] = [await on().open(), await on().open(), await on().open()];
  const join = (lead_agent_id: string, more: object = {}) =>
    make({ name: 'one team', lead_agent_id, join_existing: true, ...more });
  const { body: created } = await join(first.id);
  expect(idsOf(created)).toEqual([first.id]);
  const { body: joined } = await join(second.id, { member_agent_ids: [first.id, third.id] });
  expect(joined.team).toEqual(created.team);
  expect(idsOf(joined)).toEqual([first.id, second.id, third.id]);
  const other = await make({ name: 'one team', lead_agent_id: second.id });
  expect(other.body.team.id).not.toBe(created.team.id);
  const refused = await join(third.id);
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'conflict', error: expect.stringContaining('2 teams have the name "one team"') },
  });
  await on().del(`/v1/teams/${created.team.id}`);
  expect(idsOf((await join(third.id)).body)).toEqual([second.id, third.id]);
});

it('Members are added once, and their changes are events of the team and of their sessions.', async () => {
  const { harness, path, team, agents } = await testTeam();
  const third = await harness.open();
  const add = (body: object) => harness.post<Reply>(`${path}/members`, body);
  const added = await add({ agent_id: third.id, title: 'tester', added_by: agents[0].id });
  expect(added.body.members[2]).toMatchObject({
    team_id: team.id,
    agent_id: third.id,
    title: 'tester',
    added_by: agents[0].id,
    worktree_id: null,
  });
  expect((await add({ agent_id: third.id })).body.code).toBe('already_member');
  expect((await add({ agent_id: 'sess_none' })).status).toBe(404);
  expect((await add({ agent_id: third.id, worktree_id: 'wt_none' })).status).toBe(404);
  const gone = await harness.del<Reply>(`${path}/members/${third.id}`);
  expect(idsOf(gone.body)).toEqual(agents.map(({ id }) => id));
  for (const unknown of [{ worktree_id: '' }, { added_by: '' }])
    expect((await add({ agent_id: third.id, ...unknown })).status).toBe(404);
  expect((await harness.del(`${path}/members/${third.id}`)).status).toBe(404);
  expect(kinds(await harness.events(third.id))).toEqual([
    'session.created',
    'team.member_joined',
    'team.member_left',
  ]);
});

it('The member with the longest membership becomes lead when the lead is removed.', async () => {
  const { harness, path, agents } = await testTeam(3);
  const [lead, second, third] = agents;
  const { body } = await harness.del<Reply>(`${path}/members/${lead.id}`);
  expect(body.team.lead_agent_id).toBe(second?.id);
  const set = await harness.post<Reply>(`${path}/lead`, { lead_agent_id: third?.id });
  expect(set.body.team.lead_agent_id).toBe(third?.id);
  expect((await harness.post(`${path}/lead`, { lead_agent_id: lead.id })).status).toBe(404);
  const events = (await harness.get<RuntimeEventRecord[]>(`${path}/events`)).body;
  expect(kinds(events).slice(-3)).toEqual([
    'team.member_left',
    'team.lead_changed',
    'team.lead_changed',
  ]);
});

it('The last member cannot be removed.', async () => {
  const { harness, path, agents } = await testTeam(1);
  const { status, body } = await harness.del<Reply>(`${path}/members/${agents[0].id}`);
  expect([status, body.code]).toEqual([409, 'conflict']);
});

it('A member that leaves gets no more messages: its waiting deliveries fail.', async () => {
  const { teamHarness, harness, path, agents } = await testTeam();
  const work = await harness.startTurn(agents[1] as { id: string });
  const { delivery } = await teamHarness.say('wait');
  await harness.del(`${path}/members/${agents[1]?.id}`);
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_left' },
  });
  expect((await teamHarness.retry(delivery)).body.error?.toString()).toBeDefined();
  work.end(completed);
  await harness.until(({ kind }) => kind === 'turn.completed');
  expect(await harness.session(agents[1]?.id ?? '')).toMatchObject({ status: 'ready' });
});

it('Members and lead stay when their sessions are closed.', async () => {
  const { teamHarness, harness, path, agents } = await testTeam();
  await harness.close(agents[0].id);
  const { body } = await harness.get<Reply>(path);
  expect(body.team.lead_agent_id).toBe(agents[0].id);
  expect((await teamHarness.view()).members.map(({ state }) => state)).toEqual(['closed', 'idle']);
});

it('Deleting a team cancels waiting deliveries, and all else becomes read-only.', async () => {
  const { teamHarness, harness, path, agents } = await testTeam();
  const work = await harness.startTurn(agents[1] as { id: string });
  const { message, delivery } = await teamHarness.say('wait');
  const deleted = await harness.del(path);
  expect([deleted.status, deleted.body]).toEqual([204, undefined]);
  expect((await harness.del(path)).status).toBe(204);
  expect((await harness.del('/v1/teams/team_none')).status).toBe(404);
  expect((await teamHarness.delivery(delivery.id)).status).toBe('cancelled');
  expect((await harness.get<Reply>(path)).body.team.deleted_at).not.toBeNull();
  expect((await teamHarness.view()).messages.map(({ id }) => id)).toEqual([message.id]);
  const [sender, recipient] = agents.map(({ id }) => id);
  const input = { type: 'text', text: 'x' };
  for (const [route, body] of [
    ['/members', { agent_id: sender }],
    ['/members/spawn', { source_session_id: sender }],
    ['/lead', { lead_agent_id: sender }],
    ['/interrupt-all', {}],
    ['/messages', { sender_agent_id: sender, recipient_agent_id: recipient, input }],
    ['/broadcasts', { sender_agent_id: sender, input }],
    [`/messages/${message.id}/cancel`, {}],
    [`/deliveries/${delivery.id}/retry`, {}],
  ] as const) {
    const reply = await harness.post<Reply>(path + route, body);
    expect([route, reply.status, reply.body.code]).toEqual([route, 409, 'team_deleted']);
  }
  expect((await harness.del<Reply>(`${path}/members/${sender}`)).body.code).toBe('team_deleted');
  work.end(completed);
  await harness.until(({ kind }) => kind === 'turn.completed');
});

it('The view of a team shows the activity, last words and context use of its members.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const { message } = await teamHarness.say('hello');
  const turn = await harness.provider.nextTurn();
  const usage = (context_tokens: number | null, context_window: number | null) =>
    turn.sink.update({ type: 'usage', usage: { context_tokens, context_window } });
  await usage(50_000, 200_000);
  turn.end(completed);
  await harness.until(({ kind }) => kind === 'delivery.consumed');
  const next = await harness.startTurn(agents[1] as { id: string });
  const { message: second, delivery } = await teamHarness.say('and now');
  const view = await teamHarness.view();
  expect(view.members).toMatchObject([
    {
      agent_id: agents[0].id,
      state: 'idle',
      added_by: 'api',
      worktree: null,
      context_window_remaining_percentage: null,
      pending_deliveries: 0,
      last_message: { message_id: second.id, direction: 'sent', text: 'and now' },
    },
    {
      agent_id: agents[1]?.id,
      state: 'working',
      context_window_remaining_percentage: 75,
      pending_deliveries: 1,
      last_message: { message_id: second.id, direction: 'received' },
    },
  ]);
  expect(view.messages.map(({ id }) => id)).toEqual([second.id, message.id]);
  expect(view.deliveries_by_message_id?.[second.id]?.map(({ id }) => id)).toEqual([delivery.id]);
  const newest = await teamHarness.view('?message_limit=1&include_delivery_map=false');
  expect(newest.messages).toHaveLength(1);
  expect(newest.deliveries_by_message_id).toBeNull();
  expect((await teamHarness.view('?message_limit=0')).messages).toEqual([]);
  for (const query of ['message_limit=501', 'message_limit=-1', 'include_delivery_map=2'])
    expect((await harness.get(`${teamHarness.path}/view?${query}`)).status).toBe(400);
  const after = (
    await harness.get<RuntimeEventRecord[]>(
      `${teamHarness.path}/events?after_seq=${view.latest_seq}`,
    )
  ).body;
  expect(after).toEqual([]);
  next.end(completed);
  (await harness.provider.nextTurn()).end(completed);
  await harness.times('delivery.consumed', 2);
});

it('The diagnostics count the deliveries that are in progress.', async () => {
  const teamHarness = await testTeam();
  await teamHarness.say('hello');
  (await teamHarness.harness.provider.nextTurn()).end(completed);
  await teamHarness.harness.until(({ kind }) => kind === 'delivery.consumed');
  expect((await teamHarness.harness.get('/v1/diagnostics/comms')).body).toEqual({
    teams: 1,
    messages: 1,
    deliveries: { injected: 1 },
    spawns_under_way: 0,
  });
});
