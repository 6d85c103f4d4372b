import { expect, it } from 'vitest';
import { limited, type ReportedLimit } from '../../../../src/agents/provider.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import type { Client } from '../../../../src/client/client.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { testRuntime } from '../../../support/runtime.ts';
import {
  completed,
  type ScriptedProvider,
  scriptedProvider,
} from '../../../support/scripted-provider.ts';
import { testDirectory } from '../../../support/temp.ts';
import { send } from '../../../support/turns.ts';
import { makeRepository } from '../../../support/worktrees/work.ts';

const HOUR = 3_600_000;
const HANDOFF = 'handoff:codex';

interface Place {
  client: Client;
  clock: ManualClock;
  claude: ScriptedProvider;
  codex: ScriptedProvider;
  cwd: string;
}

/** Opens a server with two providers, and a repository. */
async function place(
  options: { after_limit?: string; problem?: () => string | null; noRepository?: boolean } = {},
): Promise<Place> {
  const clock = new ManualClock();
  const claude = scriptedProvider({ id: 'claude' });
  const codex = scriptedProvider({
    id: 'codex',
    ...(options.problem && { problem: options.problem }),
  });
  const sessions = options.after_limit ? { after_limit: options.after_limit } : {};
  const runtime = await testRuntime({ clock, providers: [claude, codex], config: { sessions } });
  const directory = testDirectory('at-limit');
  const cwd = options.noRepository ? directory : makeRepository(directory);
  return { client: runtime.client, clock, claude, codex, cwd };
}

function open({ client, cwd }: Place, more: object = {}): Promise<Session> {
  return client.call(endpoints.createSession, { body: { provider: 'claude', cwd, ...more } });
}

/** Sends a turn that ends at a usage limit, which resets in an hour. */
async function meetLimit(
  { client, clock }: Place,
  provider: ScriptedProvider,
  { id }: Pick<Session, 'id'>,
  more: Partial<ReportedLimit> = {},
): Promise<void> {
  await send(client, id, 'a long job');
  const turn = await provider.nextTurn();
  const limit = { resetsAt: clock.now() + HOUR, isOfAccount: true, ...more };
  turn.end(limited('the agent', 'no more', limit));
}

function get({ client }: Place, session_id: string): Promise<Session> {
  return client.call(endpoints.getSession, { params: { session_id } });
}

const waitOf = async (at: Place, { id }: Pick<Session, 'id'>) => (await get(at, id)).usage_limit;

/** Allows the provider codex to continue sessions of the repository. Returns the digest of the consent. */
async function allow({ client, cwd: repo_root }: Place): Promise<string> {
  const body = { repo_root, handoff: 'codex' };
  const { brings } = await client.call(endpoints.lookAtBrought, { body });
  const sha256 = brings[0]?.sha256 ?? '';
  await client.call(endpoints.trustContent, { body: { repo_root, sha256 } });
  return sha256;
}

it('A session at a usage limit is handed over once if its repository allows the agent.', async () => {
  const at = await place();
  await allow(at);
  const session = await open(at, { after_limit: HANDOFF });
  await meetLimit(at, at.claude, session);
  const turn = await at.codex.nextTurn();
  expect(turn.text).toContain('> a long job');
  turn.end(completed);
  const old = await get(at, session.id);
  expect(old).toMatchObject({ usage_limit: null, continued_by: turn.session.id });
  expect(await get(at, turn.session.id)).toMatchObject({
    provider: 'codex',
    continues: session.id,
    cwd: session.cwd,
  });
  const params = { session_id: session.id };
  const queue = await at.client.call(endpoints.getSessionQueue, { params });
  expect(queue.holds).toMatchObject([
    { code: 'paused', message: `session ${turn.session.id} continues this session` },
  ]);
  at.clock.advance(2 * HOUR);
  expect(await at.client.call(endpoints.listSessions, { query: {} })).toHaveLength(2);
  const turns = await at.client.call(endpoints.listTurns, { params, query: {} });
  expect(turns.map(({ status }) => status)).toEqual(['failed']);
});

it('A session of a repository without consent waits, and is handed over once a user allows the agent.', async () => {
  const at = await place({ after_limit: HANDOFF });
  const session = await open(at);
  await meetLimit(at, at.claude, session);
  await expectEventually(async () => (await waitOf(at, session))?.waits_because).toBe('consent');
  expect(await waitOf(at, session)).toMatchObject({ resumes_at: null, hands_over_to: 'codex' });
  const queue = await at.client.call(endpoints.getSessionQueue, {
    params: { session_id: session.id },
  });
  expect(queue.holds[0]?.message).toContain('nobody has allowed codex');
  at.clock.advance(2 * HOUR);
  expect((await get(at, session.id)).status).toBe('ready');
  await allow(at);
  const turn = await at.codex.nextTurn();
  expect(turn.session.id).toBe((await get(at, session.id)).continued_by);
  turn.end(completed);
});

it('A withdrawn consent keeps the next session of the repository with its agent.', async () => {
  const at = await place({ after_limit: HANDOFF });
  const sha256 = await allow(at);
  await at.client.call(endpoints.untrustContent, { body: { repo_root: at.cwd, sha256 } });
  const session = await open(at);
  await meetLimit(at, at.claude, session);
  await expectEventually(async () => (await waitOf(at, session))?.waits_because).toBe('consent');
});

it('A session in a directory without a repository waits.', async () => {
  const at = await place({ after_limit: HANDOFF, noRepository: true });
  const session = await open(at);
  await meetLimit(at, at.claude, session);
  await expectEventually(async () => (await waitOf(at, session))?.waits_because).toBe('consent');
});

it('A session of the agent that the configuration names resumes when the limit has reset.', async () => {
  const at = await place({ after_limit: HANDOFF });
  await allow(at);
  const session = await open(at, { provider: 'codex' });
  await meetLimit(at, at.codex, session);
  await expectEventually(() => waitOf(at, session)).toMatchObject({
    waits_because: null,
    resumes_at: at.clock.now() + HOUR,
  });
  at.clock.advance(HOUR);
  const turn = await at.codex.nextTurn();
  expect(turn.session.id).toBe(session.id);
  turn.end(completed);
});

it('A session is not handed over to an agent whose own limit holds.', async () => {
  const at = await place();
  await allow(at);
  const other = await open(at, { provider: 'codex' });
  await meetLimit(at, at.codex, other);
  await expectEventually(async () => (await waitOf(at, other))?.turn_id).toBeTruthy();
  const session = await open(at, { after_limit: HANDOFF });
  await meetLimit(at, at.claude, session);
  await expectEventually(() => waitOf(at, session)).toMatchObject({ waits_because: null });
  expect(at.codex.opened()).toBe(1);
});

it.each([true, false])(
  'A session that was made by a handoff at a limit is not handed back (limit of the account: %s).',
  async (isOfAccount) => {
    const at = await place({ after_limit: 'handoff:claude' });
    await allow(at);
    const body = { repo_root: at.cwd, handoff: 'claude' };
    const { brings } = await at.client.call(endpoints.lookAtBrought, { body });
    await at.client.call(endpoints.trustContent, {
      body: { repo_root: at.cwd, sha256: brings[0]?.sha256 ?? '' },
    });
    const session = await open(at, { after_limit: HANDOFF });
    await meetLimit(at, at.claude, session, { isOfAccount });
    const turn = await at.codex.nextTurn();
    const limit = { resetsAt: at.clock.now() + HOUR, isOfAccount };
    turn.end(limited('the agent', 'no more either', limit));
    await expectEventually(() => waitOf(at, turn.session)).toMatchObject({ waits_because: null });
    expect(await at.client.call(endpoints.listSessions, { query: {} })).toHaveLength(2);
    at.clock.advance(HOUR);
    (await at.codex.nextTurn()).end(completed);
  },
);

it('A session whose next agent became unusable resumes when the limit has reset, and shows the reason.', async () => {
  let problem: string | null = null;
  const at = await place({ problem: () => problem });
  await allow(at);
  const session = await open(at, { after_limit: HANDOFF });
  problem = 'command "codex" not found';
  await meetLimit(at, at.claude, session);
  await expectEventually(() => waitOf(at, session)).toMatchObject({
    waits_because: null,
    handoff_failure: expect.stringContaining('command "codex" not found') as string,
  });
  at.clock.advance(HOUR);
  const turn = await at.claude.nextTurn();
  expect(turn.text).toBe('a long job');
  turn.end(completed);
});

it('A session that waits for its limit is handed over when a user chooses the handoff.', async () => {
  const at = await place();
  await allow(at);
  const session = await open(at);
  await meetLimit(at, at.claude, session);
  await expectEventually(() => waitOf(at, session)).toMatchObject({ waits_because: null });
  const params = { session_id: session.id };
  await at.client.call(endpoints.updateSession, { params, body: { after_limit: HANDOFF } });
  const turn = await at.codex.nextTurn();
  expect(turn.session.id).toBe((await get(at, session.id)).continued_by);
  turn.end(completed);
});

it.each([
  ['handoff:kodex', 'unknown agent "kodex": name a provider (codex, claude, acp)'],
  ['handoff:claude', 'claude is the agent of the session itself'],
  ['handoff:codex', 'codex: command "codex" not found'],
  ['handoff:', 'must be resume, wait or handoff:AGENT'],
])('A session with the setting %s is refused.', async (after_limit, why) => {
  const at = await place({ problem: () => 'command "codex" not found' });
  await expect(open(at, { after_limit })).rejects.toThrow(why);
  const { id: session_id } = await open(at);
  const update = at.client.call(endpoints.updateSession, {
    params: { session_id },
    body: { after_limit },
  });
  await expect(update).rejects.toThrow(why);
});
