import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { anError } from '../../support/an-error.ts';
import type { Delivery, Message } from '../../../src/api/team-messages.ts';
import type { TeamView } from '../../../src/api/team-view.ts';
import type { SpawnedMember } from '../../../src/api/teams.ts';
import { type HarnessOptions, testHarness, testSession } from '../../support/sessions/harness.ts';
import type { Worktree } from '../../../src/api/worktrees.ts';
import { makeRepository, write } from '../../support/worktrees/work.ts';
import { type TeamHarness, completed, testTeam } from '../../support/teams/team.ts';

type Result = TeamView &
  SpawnedMember & {
    message: Message;
    deliveries: Delivery[];
    results: { agent_id: string; ok: boolean }[];
  };
type Envelope = { ok: boolean; result: Result; error: { code: string; message: string } };

const openTeam = (teams: object = {}, more: HarnessOptions = {}, size = 3): Promise<TeamHarness> =>
  testTeam(size, { ...more, config: { teams } });

async function call(teamHarness: TeamHarness, caller: number, tool: string, args: object = {}) {
  const { body } = await teamHarness.harness.post<Envelope>('/v1/mcp/invoke', {
    tool_name: `cadre_team_${tool}`,
    caller_agent_id: teamHarness.agents[caller]?.id,
    args,
  });
  return body;
}

/** In a turn that was accepted, which begins at once where the agent of its session is idle. */
const IN_A_TURN = /^inject(ing|ed)$/;

it('The tools show a member its only team, and nobody else.', async () => {
  const teamHarness = await openTeam();
  const { result } = await call(teamHarness, 1, 'status');
  expect(result.team.id).toBe(teamHarness.team.id);
  expect(result.members).toHaveLength(3);
  const stranger = await teamHarness.harness.open();
  const asStranger = { ...teamHarness, agents: [stranger] as TeamHarness['agents'] };
  expect((await call(asStranger, 0, 'status')).error.code).toBe('bad_request');
  const named = { team_id: teamHarness.team.id };
  expect((await call(asStranger, 0, 'status', named)).error.code).toBe('unauthorized');
  expect((await call(teamHarness, 0, 'status', { team_id: 'team_none' })).error.code).toBe(
    'not_found',
  );
  await teamHarness.harness.post('/v1/teams', {
    name: 'other',
    lead_agent_id: teamHarness.agents[1]?.id,
  });
  expect((await call(teamHarness, 1, 'status')).error.code).toBe('bad_request');
  expect((await call(teamHarness, 1, 'status', named)).ok).toBe(true);
});

it('The tools send messages like the HTTP API.', async () => {
  const teamHarness = await openTeam();
  const { harness, agents } = teamHarness;
  const { result } = await call(teamHarness, 0, 'message', {
    recipient_agent_id: agents[1]?.id,
    message: 'hello',
    priority: 'high',
  });
  expect(result.message).toMatchObject({
    sender_agent_id: agents[0].id,
    recipient_agent_id: agents[1]?.id,
    priority: 'high',
  });
  await teamHarness.consumed(result.deliveries[0] as Delivery);
  const all = await call(teamHarness, 0, 'message', {
    recipient_agent_id: 'broadcast',
    message: 'hello all',
  });
  expect(all.result.deliveries).toHaveLength(2);
  for (let i = 0; i < 2; i++) (await harness.provider.nextTurn()).end(completed);
  await harness.times('delivery.consumed', 3);
});

it('The tools refuse an argument for the caller, and unknown values.', async () => {
  const teamHarness = await openTeam();
  const good = { recipient_agent_id: 'broadcast', message: 'x' };
  for (const wrong of [
    { sender_agent_id: teamHarness.agents[1]?.id },
    { caller_agent_id: teamHarness.agents[1]?.id },
    { priority: 'urgent' },
    { message: '' },
  ]) {
    const { error } = await call(teamHarness, 0, 'message', { ...good, ...wrong });
    expect([wrong, error.code]).toEqual([wrong, 'bad_request']);
  }
});

it('The tools do not exist if teams are disabled, and the routes do.', async () => {
  const teamHarness = await openTeam({ enabled: false });
  expect((await call(teamHarness, 0, 'status')).error.code).toBe('feature_disabled');
  expect((await teamHarness.view()).team.id).toBe(teamHarness.team.id);
});

const add = (teamHarness: TeamHarness, caller: number, args: object = {}) =>
  call(teamHarness, caller, 'manage', args);
const remove = (teamHarness: TeamHarness, caller: number, ...removed: number[]) =>
  call(teamHarness, caller, 'manage', {
    remove_agent_ids: removed.map((one) => teamHarness.agents[one]?.id),
  });

it('Membership is changed by the lead, and by each member for itself.', async () => {
  const teamHarness = await openTeam();
  expect((await add(teamHarness, 1)).error.code).toBe('unauthorized');
  expect((await remove(teamHarness, 1, 2)).error.code).toBe('unauthorized');
  expect((await remove(teamHarness, 1, 1)).result.results).toEqual([
    { agent_id: teamHarness.agents[1]?.id, ok: true },
  ]);
  const leaving = [1, 2].map((one) => teamHarness.agents[one]?.id);
  // Some models pass null for every optional argument.
  const nothing = { team_id: null, title: null, prompt: null, worktree_name: null };
  const { result } = await add(teamHarness, 0, { ...nothing, remove_agent_ids: leaving });
  expect(result.results).toMatchObject([{ ok: false, error: { code: 'not_found' } }, { ok: true }]);
});

it("Membership may be changed by others if that is configured, except the lead's.", async () => {
  const teamHarness = await openTeam({
    non_lead_can_add_members: true,
    non_lead_can_remove_members: true,
  });
  const { harness } = teamHarness;
  const added = await add(teamHarness, 1, { prompt: 'help me' });
  expect(added.result.member.added_by).toBe(teamHarness.agents[1]?.id);
  (await harness.provider.nextTurn()).end(completed);
  await harness.until(({ kind }) => kind === 'delivery.consumed');
  expect((await remove(teamHarness, 1, 0)).error.code).toBe('unauthorized');
  expect((await remove(teamHarness, 1, 2)).ok).toBe(true);
});

it('A preset replaces provider, model and effort, and an unknown one is refused with the list.', async () => {
  const teamHarness = await openTeam({
    model_presets: [{ name: 'deep', provider: 'acp', model: 'large', thinking_effort: 'high' }],
  });
  const { harness } = teamHarness;
  const { result } = await add(teamHarness, 0, { model_preset: 'deep', title: 'thinker' });
  expect(result.session).toMatchObject({
    provider: 'acp',
    model: 'large',
    thinking_effort: 'high',
    permission_mode: 'require_approval',
    metadata: { model_preset: 'deep', thinking_effort: 'high' },
  });
  expect(result.member.title).toBe('thinker');
  const turn = await harness.provider.nextTurn();
  expect(turn.settings).toMatchObject({ model: 'large', thinkingEffort: 'high' });
  turn.end(completed);
  await harness.until(({ kind }) => kind === 'delivery.consumed');
  const unknown = await add(teamHarness, 0, { model_preset: 'shallow' });
  expect(unknown.error).toMatchObject(anError('unknown_model_preset', 'deep'));
  const both = await add(teamHarness, 0, { model_preset: 'deep', provider: 'acp' });
  expect(both.error.code).toBe('bad_request');
});

const input = [{ type: 'text', text: 'go' }];

it.for([
  ['full_access', 'read_only'],
  ['full_access', 'require_approval'],
  ['full_access', 'default'],
  ['read_only', 'full_access'],
  [null, 'workspace_write'],
  ['full_access', 'a-mode-of-its-agent'],
  ['read_only', null],
  [null, null],
] as const)(
  'A member that a session in mode %s spawns by a turn in mode %s has the mode of the turn.',
  async ([own, turn]) => {
    const teamHarness = await openTeam();
    const { harness } = teamHarness;
    const lead = await harness.open({ permission_mode: own });
    await harness.post('/v1/teams', { name: 'bound', lead_agent_id: lead.id });
    await harness.send(lead, { input, permission_mode: turn });
    await harness.provider.nextTurn();
    const { result } = await harness.callTool<SpawnedMember>(lead, 'cadre_team_manage');
    expect(result.session.permission_mode).toBe(turn ?? own);
    const received = await harness.provider.nextTurn();
    expect(received.settings.permissionMode).toBe(turn ?? own);
  },
);

it('A spawned member runs no script of the repository, whatever the mode.', async () => {
  const harness = await testHarness();
  const repo = makeRepository(path.join(path.dirname(harness.directory), 'repo'));
  const marker = path.join(repo, 'marker');
  write(repo, { '.cadre/worktree-init.sh': `touch '${marker}'\n` });
  for (const [mode, isMade] of [
    ['read_only', false],
    ['workspace_write', true],
  ] as const) {
    const lead = await harness.open({ cwd: repo, permission_mode: mode });
    await harness.post('/v1/teams', { name: mode, lead_agent_id: lead.id });
    const { ok, result } = await harness.callTool<SpawnedMember>(lead, 'cadre_team_manage', {
      worktree_name: mode,
    });
    expect([mode, ok]).toEqual([mode, isMade]);
    if (isMade) expect(fs.existsSync(result.worktree?.path ?? '')).toBe(true);
    expect(fs.existsSync(marker)).toBe(false);
  }
  expect((await harness.get<Worktree[]>('/v1/worktrees')).body).toHaveLength(1);
});

it('A spawn with a worktree shows repository, name and branch before anything is created.', async () => {
  const harness = await testHarness();
  const repo = makeRepository(path.join(path.dirname(harness.directory), 'repo'));
  const lead = await harness.open({ cwd: repo, permission_mode: null });
  const made = await harness.post<{ team: { id: string } }>('/v1/teams', {
    name: 'askers',
    lead_agent_id: lead.id,
  });
  await harness.startTurn(lead);
  const args = { title: 'tester', prompt: 'test', worktree_name: 'feature' };
  const adding = harness.callTool<SpawnedMember>(lead, 'cadre_team_manage', args);
  const approval = await harness.asked(lead.id);
  expect(approval).toMatchObject({
    kind: 'tool',
    title: `add a member "tester", create the worktree feature (cadre/feature) of ${repo}`,
    request: {
      tool: 'cadre_team_manage',
      team_id: made.body.team.id,
      ...args,
      worktree: { repo_root: repo, worktree_name: 'feature', branch: 'cadre/feature' },
    },
  });
  expect((await harness.get<Worktree[]>('/v1/worktrees')).body).toEqual([]);
  await harness.decide(approval, 'accept');
  expect((await adding).result.worktree).toMatchObject({ branch: 'cadre/feature' });
});

it('An agent adds a member in a worktree of its team, but not in the worktree of a session outside the team.', async () => {
  const harness = await testHarness();
  const repo = makeRepository(path.join(path.dirname(harness.directory), 'repo'));
  const lead = await harness.open({ cwd: repo, permission_mode: 'full_access' });
  await harness.post('/v1/teams', { name: 'outside', lead_agent_id: lead.id });
  const other = await harness.open({ cwd: repo });
  const theirs = { source_session_id: other.id, worktree_name: 'theirs' };
  expect((await harness.post('/v1/worktrees', theirs)).status).toBe(200);
  const add = (worktree_name: string) =>
    harness.callTool<SpawnedMember>(lead, 'cadre_team_manage', { worktree_name });
  const refused = await add('theirs');
  expect(refused.ok).toBe(false);
  expect(JSON.stringify(refused)).toContain(
    'worktree theirs already exists, and no member of the team has a claim on it',
  );
  const [own, again] = [await add('own'), await add('own')];
  expect([own.ok, again.ok]).toEqual([true, true]);
  expect(again.result.worktree?.id).toBe(own.result.worktree?.id);
});

it('The approval of a member in an existing worktree says that the member uses the worktree.', async () => {
  const harness = await testHarness();
  const repo = makeRepository(path.join(path.dirname(harness.directory), 'repo'));
  const lead = await harness.open({ cwd: repo, permission_mode: null });
  await harness.post('/v1/teams', { name: 'users', lead_agent_id: lead.id });
  const own = { source_session_id: lead.id, worktree_name: 'feature' };
  expect((await harness.post('/v1/worktrees', own)).status).toBe(200);
  await harness.startTurn(lead);
  const adding = harness.callTool<SpawnedMember>(lead, 'cadre_team_manage', {
    worktree_name: 'feature',
  });
  const approval = await harness.asked(lead.id);
  expect(approval.title).toBe(`add a member, use the worktree feature (cadre/feature) of ${repo}`);
  await harness.decide(approval, 'decline');
  expect((await adding).ok).toBe(false);
});

it('A spawn that is impossible is refused before an approval is requested.', async () => {
  const { harness, session: lead } = await testSession(undefined, { permission_mode: null });
  await harness.post('/v1/teams', { name: 'askers', lead_agent_id: lead.id });
  await harness.startTurn(lead);
  for (const args of [{ model_preset: 'none' }, { provider: 'codex' }, { image_paths: ['/x'] }]) {
    const { ok } = await harness.callTool(lead, 'cadre_team_manage', args);
    expect([args, ok]).toEqual([args, false]);
  }
  expect(await harness.approvals()).toEqual([]);
});

const png = (directory: string) => {
  const file = path.join(directory, 'a.png');
  fs.writeFileSync(file, Buffer.from('89504e470d0a1a0a00', 'hex'));
  return file;
};

it('Images are copied, and arrive at the recipient after the text.', async () => {
  const teamHarness = await openTeam({}, { agents: { capabilities: { images: true } } });
  const { harness, agents } = teamHarness;
  const file = png(harness.directory);
  const { message } = await teamHarness.say('look', { image_paths: [file] });
  expect(message).toMatchObject({ image_paths: [file], images: [{ type: 'image' }] });
  const turn = await harness.provider.nextTurn();
  expect(turn.input.map(({ type }) => type)).toEqual(['text', 'image']);
  expect(turn.input[1]).toEqual(message.images[0]);
  turn.end(completed);
  await harness.until(({ kind }) => kind === 'delivery.consumed');
  const { result } = await call(teamHarness, 0, 'message', {
    recipient_agent_id: agents[1]?.id,
    message: 'look again',
    image_paths: [file],
  });
  expect(result.message.images).toEqual(message.images);
  (await harness.provider.nextTurn()).end(completed);
  await harness.times('delivery.consumed', 2);
});

it('Images are refused, with nothing stored, if only a running agent could report support for them.', async () => {
  const teamHarness = await openTeam(
    {},
    { agents: { capabilities: { images: true }, imagesByAgent: true } },
  );
  const { harness, agents } = teamHarness;
  const image_paths = [png(harness.directory)];
  const code = 'unsupported_provider_images';
  const direct = await teamHarness.trySay({
    sender_agent_id: agents[0].id,
    recipient_agent_id: agents[1]?.id,
    input: { type: 'text', text: 'x' },
    image_paths,
  });
  expect([direct.status, direct.body.code]).toEqual([400, code]);
  expect((await teamHarness.broadcast('x', { image_paths })).body.code).toBe(code);
  const spawn = { source_session_id: agents[0].id, image_paths };
  const spawned = await harness.post(`${teamHarness.path}/members/spawn`, spawn);
  expect([spawned.status, spawned.body]).toEqual([
    400,
    { error: 'provider acp does not support images: leave the images out', code },
  ]);
  const said = { recipient_agent_id: 'broadcast', message: 'x', image_paths };
  expect((await call(teamHarness, 0, 'message', said)).error.code).toBe(code);
  expect((await call(teamHarness, 0, 'manage', { image_paths })).error.code).toBe(code);
  expect((await teamHarness.view()).messages).toEqual([]);
  expect((await teamHarness.view()).members).toHaveLength(3);
  expect(fs.existsSync(path.join(harness.directory, 'blobs'))).toBe(false);
});

it('Messages of agents are deferred after max_hops in a row, until a user sends one of them a prompt.', async () => {
  const teamHarness = await openTeam({ max_hops: 2 });
  const { harness, agents } = teamHarness;
  const say = (text: string) =>
    call(teamHarness, 0, 'message', { recipient_agent_id: agents[1]?.id, message: text });
  for (const text of ['one', 'two']) {
    expect((await say(text)).result.deliveries[0]?.status).toMatch(IN_A_TURN);
    (await harness.provider.nextTurn()).end(completed);
  }
  await harness.times('delivery.consumed', 2);
  const { result } = await say('three');
  expect(result.deliveries).toMatchObject([{ status: 'deferred', error: { code: 'hop_limit' } }]);
  const byPerson = await teamHarness.say('from a person');
  expect(byPerson.delivery.status).toMatch(IN_A_TURN);
  (await harness.provider.nextTurn()).end(completed);
  await harness.times('delivery.consumed', 3);
  const spoken = await harness.startTurn(agents[2] as { id: string }, 'go on');
  const both = [spoken, await harness.provider.nextTurn()];
  const received = both.map(({ text }) => text).toSorted();
  expect(received).toEqual([expect.stringContaining('\nthree\n'), 'go on']);
  for (const turn of both) turn.end(completed);
  await harness.times('delivery.consumed', 4);
  expect((await say('four')).result.deliveries[0]?.status).toMatch(IN_A_TURN);
  (await harness.provider.nextTurn()).end(completed);
  await harness.times('delivery.consumed', 5);
});
