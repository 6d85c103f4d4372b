import path from 'node:path';
import { configSchema } from '../../../src/core/config/schema.ts';
import type { Process } from '../../../src/api/processes.ts';
import type { Session } from '../../../src/api/sessions.ts';
import type { Worktree } from '../../../src/api/worktrees.ts';
import { newUuid } from '../../../src/core/lib/ids.ts';
import { ProviderError } from '../../../src/agents/provider.ts';
import { completed } from '../../support/scripted-provider.ts';
import { racesOn } from '../../support/races.ts';
import { makeTeam } from '../../support/teams/team.ts';
import { commit, git, makeRepository, write } from '../../support/worktrees/work.ts';
import { endOf, type Reply, type Harness } from '../../support/sessions/harness.ts';

interface Keyed {
  path: string;
  body: object;
  /** Another good body for the same path, where it takes one. */
  otherBody?: object;
}

/** Opens a session with a completed turn, and returns its id. */
async function withTurn(harness: Harness): Promise<string> {
  const session = await harness.open();
  await harness.complete(await harness.startTurn(session));
  return session.id;
}

/** For each POST route, what makes a request that changes something. */
const makers: Record<string, (harness: Harness) => Promise<Keyed>> = {
  '/v1/sessions': async () => ({
    path: '/v1/sessions',
    body: { provider: 'acp', title: 'one' },
    otherBody: { provider: 'acp', title: 'two' },
  }),
  '/v1/sessions/{session_id}/turns': async (harness) => {
    const { id } = await harness.open();
    return {
      path: `/v1/sessions/${id}/turns`,
      body: { input: { type: 'text', text: 'one' } },
      otherBody: { input: { type: 'text', text: 'two' } },
    };
  },
  '/v1/sessions/{session_id}/turns/{turn_id}/interrupt': async (harness) => {
    const session = await harness.open();
    await harness.startTurn(session);
    const { active_turn_id: turnId } = await harness.session(session.id);
    return { path: `/v1/sessions/${session.id}/turns/${turnId}/interrupt`, body: {} };
  },
  '/v1/sessions/{session_id}/close': async (harness) => {
    const { id } = await harness.open();
    return {
      path: `/v1/sessions/${id}/close`,
      body: { reason: 'one' },
      otherBody: { reason: 'two' },
    };
  },
  '/v1/sessions/{session_id}/resume': async (harness) => {
    const session = await harness.open();
    harness.provider.refuseOpen(new ProviderError('resume_failed', 'gone'));
    const { body } = await harness.send(session, 'go');
    await harness.until(endOf(body.turn_id));
    return { path: `/v1/sessions/${session.id}/resume`, body: {} };
  },
  '/v1/sessions/{session_id}/hand-back': async (harness) => {
    const session = await harness.open();
    (await harness.startTurn(session)).end(completed);
    await harness.until(({ kind }) => kind === 'turn.completed');
    return { path: `/v1/sessions/${session.id}/hand-back`, body: {} };
  },
  '/v1/sessions/{session_id}/queue': async (harness) => {
    const { id } = await harness.open();
    const at = harness.clock.now() + 86_400_000;
    const input = (text: string) => ({ input: { type: 'text', text }, at });
    return { path: `/v1/sessions/${id}/queue`, body: input('one'), otherBody: input('two') };
  },
  '/v1/sessions/{session_id}/handoff': async (harness) => ({
    path: `/v1/sessions/${(await harness.open()).id}/handoff`,
    body: { provider: 'acp', note: 'one' },
    otherBody: { provider: 'acp', note: 'two' },
  }),
  '/v1/sessions/{session_id}/fork': async (harness) => ({
    path: `/v1/sessions/${await withTurn(harness)}/fork`,
    body: { title: 'one' },
    otherBody: { title: 'two' },
  }),
  '/v1/sessions/{session_id}/rewind': async (harness) => {
    const id = await withTurn(harness);
    const { last_turn_id: turn_id } = await harness.session(id);
    return { path: `/v1/sessions/${id}/rewind`, body: { turn_id } };
  },
  '/v1/sessions/{session_id}/goal': async (harness) => ({
    path: `/v1/sessions/${(await harness.open()).id}/goal`,
    body: { command: 'true' },
    otherBody: { command: 'false' },
  }),
  '/v1/sessions/{session_id}/watch': async (harness) => ({
    path: `/v1/sessions/${(await harness.open()).id}/watch`,
    body: { command: 'true' },
    otherBody: { command: 'false' },
  }),
  '/v1/sessions/{session_id}/queue/pause': async (harness) => ({
    path: `/v1/sessions/${(await harness.open()).id}/queue/pause`,
    body: { reason: 'one' },
    otherBody: { reason: 'two' },
  }),
  '/v1/sessions/{session_id}/queue/resume': async (harness) => {
    const { id } = await harness.open();
    await harness.post(`/v1/sessions/${id}/queue/pause`);
    return { path: `/v1/sessions/${id}/queue/resume`, body: {} };
  },
  '/v1/sessions/{session_id}/review/comments': async (harness) => ({
    path: `/v1/sessions/${(await harness.open()).id}/review/comments`,
    body: aComment('one'),
    otherBody: aComment('two'),
  }),
  '/v1/sessions/{session_id}/review/send': async (harness) => {
    const { id } = await harness.open();
    await harness.post(`/v1/sessions/${id}/review/comments`, aComment('one'));
    return { path: `/v1/sessions/${id}/review/send`, body: {}, otherBody: { text: 'two' } };
  },
  '/v1/queue/{entry_id}/move': async (harness) => {
    return {
      path: `${await queued(harness)}/move`,
      body: { to: 'first' },
      otherBody: { to: 'last' },
    };
  },
  '/v1/queue/{entry_id}/pause': async (harness) => ({
    path: `${await queued(harness)}/pause`,
    body: { reason: 'one' },
    otherBody: { reason: 'two' },
  }),
  '/v1/queue/{entry_id}/resume': async (harness) => {
    const path = await queued(harness);
    await harness.post(`${path}/pause`);
    return { path: `${path}/resume`, body: {} };
  },
  '/v1/sessions/{session_id}/approvals/{approval_id}': async (harness) => {
    const session = await harness.open();
    const turn = await harness.startTurn(session);
    void turn.ask();
    const { id } = await harness.asked(session.id);
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
  '/v1/processes/{process_id}/kill': async (harness) => {
    const { body } = await harness.post<{ process: Process }>('/v1/processes', {
      command: 'sleep 100',
    });
    return {
      path: `/v1/processes/${body.process.process_id}/kill`,
      body: { reason: 'one' },
      otherBody: { reason: 'two' },
    };
  },
  '/v1/processes/{process_id}/restart': async (harness) => {
    const { body } = await harness.post<{ process: Process }>('/v1/processes', { command: 'true' });
    await harness.get(`/v1/processes/${body.process.process_id}/wait`);
    return { path: `/v1/processes/${body.process.process_id}/restart`, body: {} };
  },
  '/v1/processes/{process_id}/stdin': async (harness) => {
    const { body } = await harness.post<{ process: Process }>('/v1/processes', {
      command: 'cat',
      stdin: 'pipe',
    });
    return {
      path: `/v1/processes/${body.process.process_id}/stdin`,
      body: { data: 'one' },
      otherBody: { data: 'two' },
    };
  },
  '/v1/worktrees': async (harness) => {
    const { source, repo_root } = await repository(harness);
    const body = { source_session_id: source.id, repo_root, worktree_name: 'one' };
    return { path: '/v1/worktrees', body, otherBody: { ...body, worktree_name: 'two' } };
  },
  '/v1/worktrees/{worktree_id}/claims': async (harness) => {
    const { path } = await worktree(harness);
    const { id: session_id } = await harness.open();
    return {
      path: `${path}/claims`,
      body: { session_id },
      otherBody: { session_id, claim_role: 'owner' },
    };
  },
  '/v1/worktrees/{worktree_id}/release': async (harness) => {
    const { path, session_id } = await worktree(harness);
    const otherBody = { session_id, cleanup_if_last_claim: false };
    return { path: `${path}/release`, body: { session_id }, otherBody };
  },
  '/v1/worktrees/{worktree_id}/cleanup': async (harness) => {
    const { path, session_id } = await worktree(harness);
    await harness.post(`${path}/release`, { session_id, cleanup_if_last_claim: false });
    return { path: `${path}/cleanup`, body: { reason: 'one' }, otherBody: { reason: 'two' } };
  },
  '/v1/worktrees/{worktree_id}/restore': async (harness) => {
    const { path, session_id, place } = await worktree(harness);
    write(place, { 'new.txt': 'work' });
    await harness.post(`${path}/release`, { session_id });
    return { path: `${path}/restore`, body: {}, otherBody: { name: 'other' } };
  },
  '/v1/worktrees/{worktree_id}/merge': async (harness) => {
    const { path, place } = await worktree(harness);
    write(place, { 'new.txt': 'work' });
    commit(place, 'mine');
    return { path: `${path}/merge`, body: { dry_run: false }, otherBody: { dry_run: true } };
  },
  '/v1/worktrees/{worktree_id}/rebase': async (harness) => {
    const { path, repo_root } = await worktree(harness);
    write(repo_root, { 'new.txt': 'work' });
    commit(repo_root, 'theirs');
    return { path: `${path}/rebase`, body: { dry_run: false }, otherBody: { dry_run: true } };
  },
  '/v1/worktrees/{worktree_id}/pull-request': async (harness) => {
    const { path, repo_root } = await worktree(harness);
    git(repo_root, 'remote', 'add', 'origin', repo_root);
    return { path: `${path}/pull-request`, body: {}, otherBody: { push: true } };
  },
  '/v1/worktrees/gc': async () => ({
    path: '/v1/worktrees/gc',
    body: {},
    otherBody: { dry_run: false },
  }),
  '/v1/races': async (harness) => {
    const { repo_root: cwd } = await repository(harness);
    // These agents are not there, so that nothing but the race begins.
    const contenders = [{ provider: 'codex' }, { provider: 'claude' }];
    const body = { prompt: 'one', cwd, contenders };
    return { path: '/v1/races', body, otherBody: { ...body, prompt: 'two' } };
  },
  '/v1/races/{race_id}/keep': async (harness) => {
    const { id } = await aRace(harness);
    return {
      path: `/v1/races/${id}/keep`,
      body: { contender: 'acp-a' },
      otherBody: { contender: 'acp-b' },
    };
  },
  '/v1/races/{race_id}/stop': async (harness) => {
    const races = racesOn(harness);
    const { body: race } = await races.start();
    await races.turns();
    return { path: `/v1/races/${race.id}/stop`, body: {} };
  },
  '/v1/worktree-trust': async (harness) => {
    const { repo_root } = await repository(harness);
    const body = { repo_root, sha256: 'a'.repeat(64) };
    return { path: '/v1/worktree-trust', body, otherBody: { ...body, sha256: 'b'.repeat(64) } };
  },
  '/v1/worktree-trust/look': async (harness) => {
    const [one, other] = [await repository(harness), await repository(harness)];
    const path = '/v1/worktree-trust/look';
    return { path, body: { repo_root: one.repo_root }, otherBody: { repo_root: other.repo_root } };
  },
  '/v1/worktree-trust/withdraw': async (harness) => {
    const { repo_root } = await repository(harness);
    const body = { repo_root, sha256: 'a'.repeat(64) };
    await harness.post('/v1/worktree-trust', body);
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
  '/v1/hooks/{hook_name}/test': async (harness) => {
    await withHooks(harness, [hookOff]);
    return { path: '/v1/hooks/resting/test', body: {} };
  },
  '/v1/hooks/{hook_name}/skip': async (harness) => {
    await withHooks(harness, [{ ...hookOff, enabled: true }]);
    await withHooks(harness, [hookOff]);
    await harness.open();
    return { path: '/v1/hooks/resting/skip', body: { all: true }, otherBody: {} };
  },
  '/v1/teams': async (harness) => {
    const { id } = await harness.open();
    const body = { name: 'one', lead_agent_id: id };
    return { path: '/v1/teams', body, otherBody: { ...body, name: 'two' } };
  },
  '/v1/teams/{team_id}/members': async (harness) => {
    const { path } = await makeTeam(harness);
    const { id: agent_id } = await harness.open();
    return { path: `${path}/members`, body: { agent_id }, otherBody: { agent_id, title: 'two' } };
  },
  '/v1/teams/{team_id}/members/spawn': async (harness) => {
    const { path, agents } = await makeTeam(harness);
    const body = { source_session_id: agents[0].id, title: 'one' };
    return { path: `${path}/members/spawn`, body, otherBody: { ...body, title: 'two' } };
  },
  '/v1/teams/{team_id}/lead': async (harness) => {
    const { path, agents } = await makeTeam(harness);
    const [one, two] = agents.map(({ id }) => ({ lead_agent_id: id }));
    return { path: `${path}/lead`, body: two ?? {}, otherBody: one ?? {} };
  },
  '/v1/teams/{team_id}/messages': async (harness) => {
    const { path, agents } = await makeTeam(harness);
    const [sender, recipient] = agents.map(({ id }) => id);
    const who = { sender_agent_id: sender, recipient_agent_id: recipient };
    const saying = (text: string) => ({ ...who, input: { type: 'text', text } });
    return { path: `${path}/messages`, body: saying('one'), otherBody: saying('two') };
  },
  '/v1/teams/{team_id}/broadcasts': async (harness) => {
    const { path, agents } = await makeTeam(harness);
    const saying = (text: string) => ({
      sender_agent_id: agents[0].id,
      input: { type: 'text', text },
    });
    return { path: `${path}/broadcasts`, body: saying('one'), otherBody: saying('two') };
  },
  '/v1/teams/{team_id}/messages/{message_id}/cancel': async (harness) => {
    const teamHarness = await makeTeam(harness);
    await harness.startTurn(teamHarness.agents[1] as Session);
    const { message } = await teamHarness.say('wait');
    return { path: `${teamHarness.path}/messages/${message.id}/cancel`, body: {} };
  },
  '/v1/teams/{team_id}/deliveries/{delivery_id}/retry': async (harness) => {
    const teamHarness = await makeTeam(harness);
    await harness.startTurn(teamHarness.agents[1] as Session);
    const { delivery } = await teamHarness.say('now or never', { policy: 'start_new_turn_only' });
    return { path: `${teamHarness.path}/deliveries/${delivery.id}/retry`, body: {} };
  },
  '/v1/teams/{team_id}/interrupt-all': async (harness) => {
    const { path, agents } = await makeTeam(harness);
    await harness.startTurn(agents[1] as Session);
    return { path: `${path}/interrupt-all`, body: {} };
  },
};

/** A new repository, and a session to work in it. */
async function repository(harness: Harness) {
  const repo_root = makeRepository(path.join(harness.directory, newUuid()));
  return { repo_root, source: await harness.open() };
}

async function worktree(harness: Harness) {
  const { repo_root, source } = await repository(harness);
  const body = { source_session_id: source.id, repo_root, worktree_name: 'tree' };
  const made = await harness.post<Worktree>('/v1/worktrees', body);
  const { id, path: place } = made.body;
  return { path: `/v1/worktrees/${id}`, session_id: source.id, place, repo_root };
}

/** A race that has ended, with two contenders that can be kept. */
async function aRace(harness: Harness) {
  const races = racesOn(harness);
  const { body: race } = await races.start();
  for (const turn of Object.values(await races.turns())) turn.end(completed);
  return races.ended(race.id);
}

/** Returns a review comment on a line of a diff. */
function aComment(text: string) {
  return { path: 'a.ts', first_line: 1, lines: ['+x'], text };
}

/** Returns the path of the second entry of a queue. */
async function queued(harness: Harness): Promise<string> {
  const { id } = await harness.open();
  const at = harness.clock.now() + 86_400_000;
  const add = () =>
    harness.post<{ id: string }>(`/v1/sessions/${id}/queue`, {
      input: { type: 'text', text: 'x' },
      at,
    });
  await add();
  return `/v1/queue/${(await add()).body.id}`;
}

/** A hook without deliveries: its event kind does not occur, and its secret file does not exist. */
const hookOff = {
  name: 'resting',
  enabled: false,
  kinds: ['storage.trimmed'],
  url: 'http://127.0.0.1:1',
  secret_file: '/nowhere/secret',
};

/** Reloads a server with hooks, and waits until they are active. */
async function withHooks({ given, get }: Harness, hooks: object[]): Promise<void> {
  const server = { bind_address: '127.0.0.1:0', drain_ms: 200 };
  given.runtime.reload(() => configSchema.parse({ server, hooks }));
  await get('/v1/hooks');
}

/** The POST routes that take an Idempotency-Key. */
export const keyedRoutes: readonly string[] = Object.keys(makers);

/** Returns a request to a keyed route that changes something, after it has made the records that the request needs. */
export function aRequestTo(route: string, harness: Harness): Promise<Keyed> {
  const make = makers[route];
  if (!make) throw new Error(`no request is known to ${route}`);
  return make(harness);
}

export const withKey = (key: string) => ({ 'Idempotency-Key': key });
export const replayed = ({ headers }: Reply<unknown>) => headers.get('idempotency-replayed');
