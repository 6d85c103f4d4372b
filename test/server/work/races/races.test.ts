import fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Race } from '../../../../src/api/races.ts';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import { limited } from '../../../../src/agents/provider.ts';
import { budgetsOf } from '../../../support/budgets.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { retain } from '../../../support/retention/harness.ts';
import { racesOn, TWO, work } from '../../../support/races.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { kinds, sharedHarness, testHarness } from '../../../support/sessions/harness.ts';
import { commit, git, write } from '../../../support/worktrees/work.ts';

const harness = sharedHarness();
const failed = { status: 'failed' as const, error: { code: 'agent_error', message: 'no luck' } };
const statuses = ({ contenders }: Race) =>
  Object.fromEntries(contenders.map(({ contender, status }) => [contender, status]));

describe('a race', () => {
  it('All contenders get the prompt, each in a worktree that starts from the same commit.', async () => {
    const races = racesOn(harness());
    const base = git(races.cwd, 'rev-parse', 'HEAD');
    const { body: race } = await races.start({ name: 'fix' });
    expect(race).toMatchObject({
      name: 'fix',
      status: 'running',
      base_ref: 'main',
      base_commit: base,
      kept: null,
    });
    const turns = await races.turns();
    expect(Object.keys(turns).toSorted()).toEqual(['acp-a', 'acp-b']);
    for (const [name, turn] of Object.entries(turns)) {
      expect(turn.text).toBe('go');
      expect(turn.session.title).toBe(`fix-${name}`);
      expect(git(turn.session.cwd, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe(`cadre/fix-${name}`);
      expect(git(turn.session.cwd, 'rev-parse', 'HEAD')).toBe(base);
    }
    expect(statuses(await races.get(race.id))).toEqual({ 'acp-a': 'running', 'acp-b': 'running' });
    for (const turn of Object.values(turns)) turn.end(completed);
    const ended = await races.ended(race.id);
    expect([ended.status, statuses(ended)]).toEqual([
      'ended',
      { 'acp-a': 'completed', 'acp-b': 'completed' },
    ]);
    const { id } = race;
    const events = (await harness().events()).filter(({ kind, payload }) => {
      const of = payload as { race_id?: string; race?: Race };
      return kind.startsWith('race.') && (of.race_id ?? of.race?.id) === id;
    });
    expect(kinds(events)).toEqual([
      'race.started',
      'race.contender_started',
      'race.contender_started',
      'race.judged',
      'race.judged',
      'race.ended',
    ]);
  });

  it('The check runs in each worktree, and the result contains the changes of the contender.', async () => {
    const races = racesOn(harness());
    const { body: race } = await races.start({ check: 'test -f done' });
    const { 'acp-a': good, 'acp-b': bad } = await races.turns();
    if (!good || !bad) throw new Error('a turn is missing');
    work(good, 'done');
    write(good.session.cwd, { 'a.txt': 'other\n' });
    commit(good.session.cwd, 'mine');
    work(good, 'more');
    good.end(completed);
    bad.end(completed);
    const ended = await races.ended(race.id);
    expect(ended).toMatchObject({ status: 'ended', ended_at: expect.any(Number) });
    expect(await races.contender(race.id, 'acp-a')).toMatchObject({
      status: 'passed',
      failure: null,
      checks: 1,
      exit_code: 0,
      files_changed: 3,
      additions: 3,
      deletions: 1,
    });
    expect(await races.contender(race.id, 'acp-b')).toMatchObject({
      status: 'failed',
      failure: { code: 'check_failed', message: 'the check failed (exit code 1)' },
      exit_code: 1,
      files_changed: 0,
    });
    const { body: tree } = await harness().get<Worktree>(
      `/v1/worktrees/${ended.contenders[0]?.worktree_id}`,
    );
    // A merge without a target goes to the branch.
    expect(tree.base_ref).toBe('main');
  });

  it('With several checks, the output of a failed check becomes the next turn of its contender.', async () => {
    const races = racesOn(harness());
    const { body: race } = await races.start({ check: 'test -f done', max_checks: 2 });
    const turns = await races.turns();
    work(turns['acp-b'] as never, 'done');
    for (const turn of Object.values(turns)) turn.end(completed);
    const next = await harness().provider.nextTurn();
    expect(next.session.model).toBe('a');
    expect(next.text).toContain('<failed_check round="1 of 2">');
    work(next, 'done');
    next.end(completed);
    const ended = await races.ended(race.id);
    expect(statuses(ended)).toEqual({ 'acp-a': 'passed', 'acp-b': 'passed' });
    expect(ended.contenders.map(({ checks }) => checks)).toEqual([2, 1]);
  });

  it('A contender whose agent is not available fails with the reason, and the other contenders continue.', async () => {
    const races = racesOn(harness());
    const contenders = [{ provider: 'codex' }, { provider: 'acp', model: 'a' }];
    const { body: race } = await races.start({ contenders, check: 'true' });
    (await races.turns(1))['acp-a']?.end(completed);
    const ended = await races.ended(race.id);
    expect([ended.status, statuses(ended)]).toEqual([
      'ended',
      { codex: 'failed', 'acp-a': 'passed' },
    ]);
    expect(ended.contenders[0]).toMatchObject({
      failure: { code: 'provider_unavailable' },
      session_id: null,
      started_at: null,
    });
  });

  it('A race fails if no contender passes.', async () => {
    const races = racesOn(harness());
    const { body: race } = await races.start({
      contenders: [{ provider: 'codex' }, { provider: 'claude' }],
    });
    expect((await races.ended(race.id)).status).toBe('failed');
    const second = await races.start({ check: 'true' });
    for (const turn of Object.values(await races.turns())) turn.end(failed);
    const ended = await races.ended(second.body.id);
    expect(ended.status).toBe('failed');
    for (const one of ended.contenders) expect(one.failure).toEqual(failed.error);
  });

  it('Contenders with the same agent and model have numbers.', async () => {
    const races = racesOn(harness());
    const one = { provider: 'acp', model: 'gpt/5.1 Mini' };
    const { body: race } = await races.start({ contenders: [one, { provider: 'acp' }, one] });
    const names = race.contenders.map(({ contender }) => contender);
    expect(names).toEqual(['acp-gpt-5-1-mini-1', 'acp', 'acp-gpt-5-1-mini-2']);
    for (let at = 0; at < 3; at++) (await harness().provider.nextTurn()).end(completed);
    await races.ended(race.id);
  });

  it('A name that another race has is refused, as is a directory without a commit.', async () => {
    const races = racesOn(harness());
    const { body: race } = await races.start({ name: 'twice' });
    for (const turn of Object.values(await races.turns())) turn.end(completed);
    await races.ended(race.id);
    expect((await races.start({ name: 'twice' })).body).toEqual({
      error: 'race "twice" already exists: choose another name',
      code: 'conflict',
    });
    for (const more of [{ cwd: harness().directory }, { base_ref: 'nowhere' }])
      expect(await races.start(more)).toMatchObject({ status: 400, body: { code: 'invalid' } });
  });

  it('An existing worktree is not used by a contender.', async () => {
    const races = racesOn(harness());
    const source = await harness().open({ cwd: races.cwd });
    const request = { source_session_id: source.id, worktree_name: 'taken-acp-a' };
    await harness().post('/v1/worktrees', request);
    const { body: race } = await races.start({ name: 'taken' });
    (await races.turns(1))['acp-b']?.end(completed);
    const ended = await races.ended(race.id);
    expect(statuses(ended)).toEqual({ 'acp-a': 'failed', 'acp-b': 'completed' });
    expect(ended.contenders[0]?.failure?.message).toContain('taken-acp-a already exists');
  });

  it('A budget that is used up lets no contender start.', async () => {
    const on = await testHarness();
    await budgetsOf(on).set({ turns: 1 });
    await on.complete((await on.atWork()).turn);
    const races = racesOn(on);
    const { body: race } = await races.start();
    const ended = await races.ended(race.id);
    expect(ended.status).toBe('failed');
    for (const one of ended.contenders)
      expect(one).toMatchObject({ session_id: null, failure: { code: 'budget_reached' } });
    const { body: trees } = await on.get<Worktree[]>('/v1/worktrees?status=active');
    expect(trees).toEqual([]);
  });
});

describe('a contender that waits', () => {
  it('A contender that waits for an approval is shown as waiting.', async () => {
    const races = racesOn(harness());
    const contenders = TWO.map((one) => ({ ...one, permission_mode: 'require_approval' }));
    const { body: race } = await races.start({ contenders, check: 'true' });
    const turns = await races.turns();
    void turns['acp-a']?.ask();
    turns['acp-b']?.end(completed);
    await expectEventually(() => races.contender(race.id, 'acp-a')).toMatchObject({
      status: 'waiting',
      waits_for: 'the agent requests approval',
    });
    await expectEventually(() => races.contender(race.id, 'acp-b')).toMatchObject({
      status: 'passed',
    });
    turns['acp-a']?.end(completed);
    expect(statuses(await races.ended(race.id))).toEqual({ 'acp-a': 'passed', 'acp-b': 'passed' });
  });

  it.for([undefined, 'test -f done'])(
    'A contender that has reached a usage limit waits until it continues, with the check %s.',
    async (check) => {
      const on = await testHarness();
      const races = racesOn(on);
      const { body: race } = await races.start({ check });
      const turns = await races.turns();
      const a = turns['acp-a'] as never;
      work(a, 'done');
      work(turns['acp-b'] as never, 'done');
      turns['acp-b']?.end(completed);
      await expectEventually(() => races.contender(race.id, 'acp-b')).toMatchObject({
        ended_at: expect.any(Number),
      });
      const limit = { resetsAt: on.clock.now() + 3_600_000, isOfAccount: true };
      turns['acp-a']?.end(limited('the agent', 'no more', limit));
      await on.until(({ kind }) => kind === 'session.limited');
      await expectEventually(() => races.contender(race.id, 'acp-a')).toMatchObject({
        status: 'waiting',
        waits_for: expect.stringContaining('no more'),
      });
      on.clock.advance(3_700_000);
      (await on.provider.nextTurn()).end(completed);
      const ended = await races.ended(race.id);
      const end = check === undefined ? 'completed' : 'passed';
      expect(statuses(ended)).toEqual({ 'acp-a': end, 'acp-b': end });
    },
  );

  it('A contender whose last queued prompt is removed has ended.', async () => {
    const races = racesOn(harness());
    const { body: race } = await races.start();
    const turns = await races.turns();
    turns['acp-b']?.end(completed);
    const { session_id: id } = await races.contender(race.id, 'acp-a');
    const next = { input: [{ type: 'text', text: 'and then' }] };
    const { body: entry } = await harness().post<{ id: string }>(`/v1/sessions/${id}/queue`, next);
    await harness().interrupt(id ?? '', (await harness().session(id ?? '')).active_turn_id ?? '');
    turns['acp-a']?.end({ status: 'interrupted', error: null });
    await expectEventually(() => races.contender(race.id, 'acp-a')).toMatchObject({
      status: 'waiting',
    });
    await harness().del(`/v1/queue/${entry.id}`);
    const ended = await races.ended(race.id);
    expect(statuses(ended)).toEqual({ 'acp-a': 'failed', 'acp-b': 'completed' });
  });
});

describe('the stop of a race', () => {
  it('A stop interrupts the turns that run, and keeps the results of the others.', async () => {
    const races = racesOn(harness());
    const { body: race } = await races.start({ check: 'true' });
    const turns = await races.turns();
    turns['acp-a']?.end(completed);
    await expectEventually(() => races.contender(race.id, 'acp-a')).toMatchObject({
      status: 'passed',
    });
    const stopping = await races.stop(race.id);
    expect(stopping.body).toMatchObject({ status: 'running', stopped_at: expect.any(Number) });
    await turns['acp-b']?.cancelled;
    turns['acp-b']?.end({ status: 'interrupted', error: null });
    const ended = await races.ended(race.id);
    expect(ended.contenders[1]).toMatchObject({
      status: 'failed',
      failure: { code: 'stopped', message: 'the race was stopped' },
    });
    expect((await races.stop(race.id)).body).toEqual(ended);
  });

  it('A stop ends a contender that waits for a usage limit.', async () => {
    const on = await testHarness();
    const races = racesOn(on);
    const { body: race } = await races.start();
    const limit = { resetsAt: on.clock.now() + 3_600_000, isOfAccount: false };
    for (const turn of Object.values(await races.turns()))
      turn.end(limited('the agent', 'no more', limit));
    await on.times('session.limited', 2);
    await races.stop(race.id);
    expect(statuses(await races.ended(race.id))).toEqual({ 'acp-a': 'failed', 'acp-b': 'failed' });
  });

  it('A stop kills the check that runs.', async () => {
    const on = await testHarness();
    on.clock.runFree();
    const races = racesOn(on);
    const { body: race } = await races.start({ check: 'sleep 100' });
    for (const turn of Object.values(await races.turns())) turn.end(completed);
    await expectEventually(async () => statuses(await races.get(race.id))).toEqual({
      'acp-a': 'checking',
      'acp-b': 'checking',
    });
    await on.times('process.started', 2);
    await races.stop(race.id);
    expect((await races.ended(race.id)).status).toBe('failed');
    await on.times('process.killed', 2);
  });
});

describe('the kept contender', () => {
  async function raceWithWork() {
    const races = racesOn(harness());
    const { body: race } = await races.start();
    const turns = await races.turns();
    for (const [name, turn] of Object.entries(turns)) {
      work(turn, `${name}.txt`);
      turn.end(completed);
    }
    const ended = await races.ended(race.id);
    const [a, b] = ended.contenders;
    if (!a || !b) throw new Error('a contender is missing');
    const cwds = Object.fromEntries(
      Object.entries(turns).map(([name, { session }]) => [name, session.cwd]),
    );
    return { races, id: race.id, a, b, cwds };
  }

  it('The other sessions are closed, and their worktrees are archived and removed.', async () => {
    const { races, id, a, b, cwds } = await raceWithWork();
    const { status, body } = await races.keep(id, 'acp-a');
    expect(status).toBe(200);
    expect(body.race).toMatchObject({ kept: 'acp-a' });
    expect(body.cleanups).toMatchObject([
      { status: 'cleaned', archive_ref: `refs/cadre/archive/${b.worktree_id}` },
    ]);
    expect(fs.existsSync(cwds['acp-b'] ?? '')).toBe(false);
    expect(fs.readFileSync(`${cwds['acp-a']}/acp-a.txt`, 'utf8')).toBe('acp-a.txt\n');
    expect((await harness().session(b.session_id ?? '')).status).toBe('closed');
    expect((await harness().session(a.session_id ?? '')).status).toBe('ready');
    // The uncommitted file of the other one is in its archive.
    const { body: restored } = await harness().post<Worktree>(
      `/v1/worktrees/${b.worktree_id}/restore`,
      {},
    );
    expect(fs.readFileSync(`${restored.path}/acp-b.txt`, 'utf8')).toBe('acp-b.txt\n');
    // The same request again removes nothing that was restored.
    expect((await races.keep(id, 'acp-a')).body.cleanups).toEqual([]);
    expect(fs.existsSync(restored.path)).toBe(true);
    const events = await harness().events();
    const kept = events.filter(
      ({ kind, payload }) => kind === 'race.kept' && (payload.race as Race).id === id,
    );
    expect(kept).toHaveLength(1);
  });

  it('A second contender cannot be kept.', async () => {
    const { races, id } = await raceWithWork();
    await races.keep(id, 'acp-a');
    expect(await races.keep(id, 'acp-b')).toMatchObject({
      status: 409,
      body: { code: 'conflict', error: expect.stringContaining('has kept the contender acp-a') },
    });
  });

  it('A worktree that another session claims is left.', async () => {
    const { races, id, b, cwds } = await raceWithWork();
    const { id: session_id } = await harness().open();
    await harness().post(`/v1/worktrees/${b.worktree_id}/claims`, { session_id });
    expect((await races.keep(id, 'acp-a')).body.cleanups).toEqual([]);
    expect(fs.existsSync(cwds['acp-b'] ?? '')).toBe(true);
  });

  it('Nothing is kept of a race that runs, that has no such contender, or whose contender is closed.', async () => {
    const { races, id, a } = await raceWithWork();
    expect(await races.keep(id, 'nobody')).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining('choose from acp-a, acp-b') },
    });
    await harness().close(a.session_id ?? '');
    expect(await races.keep(id, 'acp-a')).toMatchObject({ status: 409 });
    const { body: running } = await races.start();
    const turns = await races.turns();
    expect(await races.keep(running.id, 'acp-a')).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('is running') },
    });
    for (const turn of Object.values(turns)) turn.end(completed);
    await races.ended(running.id);
  });
});

it('A race is removed when retention has removed the contents of all its sessions.', async () => {
  const on = await testHarness();
  const races = racesOn(on);
  const { body: race } = await races.start();
  for (const turn of Object.values(await races.turns())) turn.end(completed);
  const { contenders } = await races.ended(race.id);
  const [a = '', b = ''] = contenders.map(({ session_id }) => session_id ?? '');
  const trim = async (id: string) => {
    await on.close(id);
    retain(on, { max_bytes: 1 });
    await expectEventually(async () => (await on.session(id)).trimmed).toBe(true);
  };
  await trim(a);
  expect((await races.get(race.id)).status).toBe('ended');
  await trim(b);
  expect((await on.get(`/v1/races/${race.id}`)).status).toBe(404);
});
