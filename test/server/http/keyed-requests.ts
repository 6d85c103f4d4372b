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
import { endOf, type Reply, type Stage } from '../../support/sessions/harness.ts';

interface Keyed {
  path: string;
  body: object;
  /** Another good body for the same path, where it takes one. */
  otherBody?: object;
}

/** Opens a session with a completed turn, and returns its id. */
async function withTurn(stage: Stage): Promise<string> {
  const session = await stage.open();
  await stage.complete(await stage.play(session));
  return session.id;
}

/** For each POST route, what makes a request that changes something. */
const makers: Record<string, (stage: Stage) => Promise<Keyed>> = {
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
  '/v1/sessions/{session_id}/hand-back': async (stage) => {
    const session = await stage.open();
    (await stage.play(session)).end(completed);
    await stage.until(({ kind }) => kind === 'turn.completed');
    return { path: `/v1/sessions/${session.id}/hand-back`, body: {} };
  },
  '/v1/sessions/{session_id}/queue': async (stage) => {
    const { id } = await stage.open();
    const at = stage.clock.now() + 86_400_000;
    const input = (text: string) => ({ input: { type: 'text', text }, at });
    return { path: `/v1/sessions/${id}/queue`, body: input('one'), otherBody: input('two') };
  },
  '/v1/sessions/{session_id}/handoff': async (stage) => ({
    path: `/v1/sessions/${(await stage.open()).id}/handoff`,
    body: { provider: 'acp', note: 'one' },
    otherBody: { provider: 'acp', note: 'two' },
  }),
  '/v1/sessions/{session_id}/fork': async (stage) => ({
    path: `/v1/sessions/${await withTurn(stage)}/fork`,
    body: { title: 'one' },
    otherBody: { title: 'two' },
  }),
  '/v1/sessions/{session_id}/rewind': async (stage) => {
    const id = await withTurn(stage);
    const { last_turn_id: turn_id } = await stage.session(id);
    return { path: `/v1/sessions/${id}/rewind`, body: { turn_id } };
  },
  '/v1/sessions/{session_id}/goal': async (stage) => ({
    path: `/v1/sessions/${(await stage.open()).id}/goal`,
    body: { command: 'true' },
    otherBody: { command: 'false' },
  }),
  '/v1/sessions/{session_id}/watch': async (stage) => ({
    path: `/v1/sessions/${(await stage.open()).id}/watch`,
    body: { command: 'true' },
    otherBody: { command: 'false' },
  }),
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
  '/v1/races': async (stage) => {
    const { repo_root: cwd } = await repository(stage);
    // These agents are not there, so that nothing but the race begins.
    const contenders = [{ provider: 'codex' }, { provider: 'claude' }];
    const body = { prompt: 'one', cwd, contenders };
    return { path: '/v1/races', body, otherBody: { ...body, prompt: 'two' } };
  },
  '/v1/races/{race_id}/keep': async (stage) => {
    const { id } = await aRace(stage);
    return {
      path: `/v1/races/${id}/keep`,
      body: { contender: 'acp-a' },
      otherBody: { contender: 'acp-b' },
    };
  },
  '/v1/races/{race_id}/stop': async (stage) => {
    const races = racesOn(stage);
    const { body: race } = await races.start();
    await races.turns();
    return { path: `/v1/races/${race.id}/stop`, body: {} };
  },
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

/** A race that has ended, with two contenders that can be kept. */
async function aRace(stage: Stage) {
  const races = racesOn(stage);
  const { body: race } = await races.start();
  for (const turn of Object.values(await races.turns())) turn.end(completed);
  return races.ended(race.id);
}

/** Returns a review comment on a line of a diff. */
function aComment(text: string) {
  return { path: 'a.ts', first_line: 1, lines: ['+x'], text };
}

/** Returns the path of the second entry of a queue. */
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

/** A hook without deliveries: its event kind does not occur, and its secret file does not exist. */
const hookOff = {
  name: 'resting',
  enabled: false,
  kinds: ['storage.trimmed'],
  url: 'http://127.0.0.1:1',
  secret_file: '/nowhere/secret',
};

/** Reloads a server with hooks, and waits until they are active. */
async function withHooks({ given, get }: Stage, hooks: object[]): Promise<void> {
  const server = { bind_address: '127.0.0.1:0', drain_ms: 200 };
  given.runtime.reload(() => configSchema.parse({ server, hooks }));
  await get('/v1/hooks');
}

/** The POST routes that take an Idempotency-Key. */
export const keyedRoutes: readonly string[] = Object.keys(makers);

/** Returns a request to a keyed route that changes something, after it has made the records that the request needs. */
export function aRequestTo(route: string, stage: Stage): Promise<Keyed> {
  const make = makers[route];
  if (!make) throw new Error(`no request is known to ${route}`);
  return make(stage);
}

export const withKey = (key: string) => ({ 'Idempotency-Key': key });
export const replayed = ({ headers }: Reply<unknown>) => headers.get('idempotency-replayed');
