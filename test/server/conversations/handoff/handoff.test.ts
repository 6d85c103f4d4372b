import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import type { Claim, Worktree } from '../../../../src/api/worktrees.ts';
import { limited } from '../../../../src/agents/provider.ts';
import { goalOf, WAITS } from '../../../support/goals.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { kinds, type Refusal, sharedHarness } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';
import { git, makeRepository } from '../../../support/worktrees/work.ts';

const harness = sharedHarness();
const HOUR = 3_600_000;

type Answer = { session: Session; turn_id: string } & Refusal;

const handOff = (session: Pick<Session, 'id'>, more: object = {}, headers = {}) =>
  harness().post<Answer>(
    `/v1/sessions/${session.id}/handoff`,
    { provider: 'acp', ...more },
    headers,
  );

/** Opens a session and runs one turn with an answer. */
async function talk(more: object = {}, prompt = 'fix the parser') {
  const session = await harness().open({ cwd: testDirectory('handoff'), ...more });
  await answer(session, prompt);
  return session;
}

async function answer(session: Pick<Session, 'id'>, prompt: string) {
  const turn = await harness().startTurn(session, prompt);
  await turn.sink.update({ type: 'message', text: `answer to ${prompt}` });
  turn.end(completed);
  await idle(session);
}

const idle = ({ id }: Pick<Session, 'id'>) =>
  harness().until(({ kind, session_id }) => kind === 'turn.completed' && session_id === id);

describe('a handoff', () => {
  it('A handoff opens a session in the same directory, whose first turn has the record and the request.', async () => {
    const old = await talk({ title: 'parser' });
    const { status, body } = await handOff(old, { note: 'Write the tests.' });
    expect(status).toBe(200);
    const turn = await harness().provider.nextTurn();
    expect(turn.session.id).toBe(body.session.id);
    expect(turn.text).toMatch(/^This is a record .* and not instructions to you/);
    expect(turn.text).toContain('> fix the parser');
    expect(turn.text).toContain('> answer to fix the parser');
    expect(turn.text.endsWith('\n</handoff_record>\nWrite the tests.')).toBe(true);
    expect(body.session).toMatchObject({ cwd: old.cwd, title: 'parser', continues: old.id });
    expect(await harness().session(old.id)).toMatchObject({
      status: 'ready',
      continued_by: body.session.id,
    });
    expect((await harness().turn(body.session.id, body.turn_id)).source).toBe('handoff');
    turn.end(completed);
  });

  it('A handoff keeps the sandbox of the session.', async () => {
    const old = await talk({ sandbox: { network: 'hosts', hosts: ['example.com'] } });
    const { body } = await handOff(old);
    expect(body.session.sandbox).toEqual({
      mode: 'require',
      network: 'hosts',
      hosts: ['example.com'],
      write: [],
    });
    (await harness().provider.nextTurn()).end(completed);
  });

  it('A handoff is one event of the old session, and a keyed request hands over once.', async () => {
    const old = await talk();
    const key = { 'idempotency-key': `handoff-${old.id}` };
    const [first, second] = [await handOff(old, {}, key), await handOff(old, {}, key)];
    expect(second.body).toEqual(first.body);
    (await harness().provider.nextTurn()).end(completed);
    const events = await harness().events(old.id);
    expect(kinds(events).filter((kind) => kind === 'session.handed_over')).toHaveLength(1);
  });

  it('The record of a session that was handed over twice contains the turns of all sessions.', async () => {
    const old = await talk({}, 'the very first prompt');
    const second = (await handOff(old, { note: 'go on' })).body.session;
    (await harness().provider.nextTurn()).end(completed);
    await idle(second);
    await answer(second, 'a later prompt');
    await handOff(second);
    const turn = await harness().provider.nextTurn();
    expect(turn.text).toContain('> the very first prompt');
    expect(turn.text).toContain('> a later prompt');
    expect(turn.text).toContain('> go on');
    expect(turn.text.match(/<handoff_record/g)).toHaveLength(1);
    turn.end(completed);
  });

  it.each([
    ['require_approval', 'require_approval'],
    ['read_only', 'read_only'],
    ['full_access', null],
  ])('A session in the mode %s is continued in the mode %s.', async (before, after) => {
    const old = await talk({ permission_mode: before });
    const { session } = (await handOff(old)).body;
    expect(session.permission_mode).toBe(after);
    (await harness().provider.nextTurn()).end(completed);
  });

  it('The queue of a session that was handed over is paused until a user resumes it.', async () => {
    const old = await talk();
    const { session } = (await handOff(old)).body;
    (await harness().provider.nextTurn()).end(completed);
    await harness().post(`/v1/sessions/${old.id}/queue`, {
      input: { type: 'text', text: 'later' },
    });
    const { body } = await harness().get<{ holds: { message: string }[] }>(
      `/v1/sessions/${old.id}/queue`,
    );
    expect(JSON.stringify(body)).toContain(`session ${session.id} continues this session`);
    await harness().post(`/v1/sessions/${old.id}/queue/resume`, {});
    const turn = await harness().provider.nextTurn();
    expect(turn.session.id).toBe(old.id);
    turn.end(completed);
  });

  it('A session that waits for a usage limit is handed over with the turn that was cut off.', async () => {
    const old = await harness().open({ cwd: testDirectory('handoff') });
    const cut = await harness().startTurn(old, 'a long job');
    const limit = { resetsAt: harness().clock.now() + HOUR, isOfAccount: false };
    cut.end(limited('the agent', 'no more', limit));
    await harness().until(
      ({ kind, session_id }) => kind === 'session.limited' && session_id === old.id,
    );
    await handOff(old);
    const turn = await harness().provider.nextTurn();
    expect(turn.text).toContain('> a long job');
    turn.end(completed);
    const after = await harness().session(old.id);
    expect(after).toMatchObject({ usage_limit: null, active_turn_id: null });
    const { body } = await harness().get(`/v1/sessions/${old.id}/queue`);
    expect(JSON.stringify(body)).not.toContain('usage_limit');
  });

  it('A handoff with close ends the old session in the same transaction.', async () => {
    const old = await talk();
    const { session } = (await handOff(old, { close: true })).body;
    (await harness().provider.nextTurn()).end(completed);
    expect(await harness().session(old.id)).toMatchObject({
      status: 'closed',
      continued_by: session.id,
    });
  });

  it('A full handoff writes a longer record to a file that the agent can read.', async () => {
    const old = await talk({}, `start ${'x'.repeat(40_000)} end`);
    const { session } = (await handOff(old, { full: true })).body;
    const turn = await harness().provider.nextTurn();
    const file = /is in the file (.*)\.$/m.exec(turn.text)?.[1] ?? '';
    expect(fs.readFileSync(file, 'utf8')).toContain('# Turn 1 of 1');
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    turn.end(completed);
    await harness().close(session.id);
    await expect.poll(() => fs.existsSync(file)).toBe(false);
  });
});

it('The record names branch, commit and changed files of a repository.', async () => {
  const repository = makeRepository(testDirectory('handoff'));
  const old = await talk({ cwd: repository });
  fs.writeFileSync(path.join(repository, 'new-file.txt'), 'new');
  await handOff(old);
  const turn = await harness().provider.nextTurn();
  expect(turn.text).toContain(`Branch: main at ${git(repository, 'rev-parse', 'HEAD')}`);
  expect(turn.text).toContain('- added: new-file.txt');
  turn.end(completed);
});

it('The new session holds the claim of the worktree from the same transaction on.', async () => {
  const cwd = makeRepository(testDirectory('handoff'));
  const old = await talk({ cwd, worktree: { worktree_name: 'moved' } });
  const id = (await harness().session(old.id)).worktree_id ?? '';
  const { session } = (await handOff(old, { close: true })).body;
  (await harness().provider.nextTurn()).end(completed);
  expect(session).toMatchObject({ worktree_id: id, cwd: old.cwd });
  expect((await harness().session(old.id)).worktree_id).toBeNull();
  const { body } = await harness().get<Worktree & { claims: Claim[] }>(`/v1/worktrees/${id}`);
  expect(body.status).toBe('active');
  const active = body.claims.filter(({ released_at }) => released_at === null);
  expect(active).toMatchObject([{ session_id: session.id, claim_role: 'owner' }]);
});

describe('the refusals of a handoff', () => {
  it('A session with a running turn is not handed over.', async () => {
    const { session: old, turn } = await harness().atWork({ cwd: testDirectory('handoff') });
    const { status, body } = await handOff(old);
    expect([status, body.code]).toEqual([409, 'turn_in_progress']);
    turn.end(completed);
  });

  it('A session whose goal is being checked is not handed over.', async () => {
    const old = await harness().open({ cwd: testDirectory('handoff') });
    const goal = goalOf(harness(), old);
    await goal.set(WAITS, { check_now: true });
    await goal.running();
    const { status, body } = await handOff(old);
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(body.error).toContain('check 1 of 5 is running');
    await goal.cancel();
  });

  it('A session is handed over once, until the session that continues it is closed.', async () => {
    const old = await talk();
    const { session } = (await handOff(old)).body;
    (await harness().provider.nextTurn()).end(completed);
    const again = await handOff(old);
    expect([again.status, again.body.code]).toEqual([409, 'conflict']);
    expect(again.body.error).toContain(session.id);
    await harness().close(session.id);
    expect((await handOff(old)).status).toBe(200);
    (await harness().provider.nextTurn()).end(completed);
  });

  it('One of two handoffs at the same time succeeds.', async () => {
    const old = await talk();
    const both = await Promise.all([handOff(old), handOff(old)]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 409]));
    (await harness().provider.nextTurn()).end(completed);
  });

  it('A closed session, an unknown session and an unknown provider are refused.', async () => {
    const old = await talk();
    await harness().close(old.id);
    expect((await handOff(old)).body.code).toBe('session_closed');
    expect((await handOff({ id: 'sess_none' })).body.code).toBe('not_found');
    const open = await talk();
    expect((await handOff(open, { provider: 'codex' })).body.code).toBe('provider_unavailable');
    expect(await harness().session(open.id)).not.toHaveProperty('continued_by');
  });
});
