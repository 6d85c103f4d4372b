import { describe, expect, it } from 'vitest';
import type { PastTurn } from '../../../../src/api/conversations.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { failed, ProviderError } from '../../../../src/agents/provider.ts';
import { goalOf, WAITS } from '../../../support/goals.ts';
import { completed, type ScriptedTurn } from '../../../support/scripted-provider.ts';
import {
  kinds,
  type Refusal,
  type Reply,
  sharedStage,
  type Stage,
} from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';

const onRecords = sharedStage();
const onForks = sharedStage({ played: { forks: true } });

type Forked = Reply<Session & Refusal>;

const fork = (stage: Stage, { id }: Pick<Session, 'id'>, body: object = {}, headers = {}) =>
  stage.post(`/v1/sessions/${id}/fork`, body, headers) as Promise<Forked>;

const rewind = (stage: Stage, { id }: Pick<Session, 'id'>, body: object) =>
  stage.post(`/v1/sessions/${id}/rewind`, body) as Promise<Forked>;

/** Plays a turn with an answer and the agent's own id of its end, and returns its id. */
async function answer(stage: Stage, session: Pick<Session, 'id'>, prompt: string, ref?: string) {
  const turn = await stage.play(session, prompt);
  return answered(stage, turn, prompt, ref);
}

async function answered(stage: Stage, turn: ScriptedTurn, prompt: string, ref?: string) {
  const { id } = turn.session;
  const { active_turn_id } = await stage.session(id);
  await turn.sink.update({ type: 'message', text: `answer to ${prompt}` });
  turn.end({ ...completed, ...(ref !== undefined && { ref }) });
  await stage.until(({ kind, turn_id }) => kind === 'turn.completed' && turn_id === active_turn_id);
  return active_turn_id ?? '';
}

/** Opens a session with two turns. */
async function talk(stage: Stage, more: object = {}) {
  const session = await stage.open({ cwd: testDirectory('fork'), ...more });
  const first = await answer(stage, session, 'the first prompt', 'end-1');
  const second = await answer(stage, session, 'the second prompt', 'end-2');
  return { session, first, second };
}

async function pastTurns(stage: Stage, { id }: Pick<Session, 'id'>): Promise<PastTurn[]> {
  const { body } = await stage.get<PastTurn[]>(`/v1/sessions/${id}/past-turns`);
  return body.toReversed();
}

describe('a fork', () => {
  it('The title of a fork of a session with a long title is cut between two characters.', async () => {
    const stage = onRecords();
    const { session } = await talk(stage, { title: `${'a'.repeat(192)}\u{1f600}${'b'.repeat(6)}` });
    expect((await fork(stage, session)).body.title).toBe(`${'a'.repeat(192)}… (fork)`);
  });

  it('A fork has the history up to the turn as past turns, and the session stays as it is.', async () => {
    const stage = onRecords();
    const { session, first } = await talk(stage, { title: 'parser' });
    const before = await stage.session(session.id);
    const events = kinds(await stage.events(session.id));
    const { status, body } = await fork(stage, session, { turn_id: first });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      cwd: session.cwd,
      title: 'parser (fork)',
      usage: null,
      last_turn_id: null,
      forked_from: {
        session_id: session.id,
        turn_id: first,
        past_turns: 1,
        omitted_turns: 0,
        way: null,
      },
    });
    expect(await pastTurns(stage, body)).toMatchObject([
      {
        ref: first,
        program: 'cadre',
        status: 'completed',
        prompt: 'the first prompt',
        items: [{ kind: 'message', text: 'answer to the first prompt' }],
      },
    ]);
    expect(kinds(await stage.events(body.id))).toEqual([
      'session.created',
      'past.turn',
      'session.forked',
    ]);
    expect(await stage.session(session.id)).toEqual(before);
    expect(kinds(await stage.events(session.id))).toEqual(events);
  });

  it('A fork without a turn begins after the newest completed turn, also while another turn runs.', async () => {
    const stage = onRecords();
    const { session, second } = await talk(stage);
    const broken = await stage.play(session, 'broken');
    broken.end(failed('provider_error', 'no'));
    await stage.until(
      ({ kind, session_id }) => kind === 'turn.failed' && session_id === session.id,
    );
    const running = await stage.play(session, 'runs');
    const { body } = await fork(stage, session);
    expect(body.forked_from?.turn_id).toBe(second);
    expect((await pastTurns(stage, body)).map(({ prompt }) => prompt)).toEqual([
      'the first prompt',
      'the second prompt',
    ]);
    await stage.complete(running);
  });

  it('A fork inherits the settings of the session.', async () => {
    const stage = onRecords();
    const settings = { permission_mode: 'read_only', model: 'small', after_limit: 'wait' };
    const sandbox = { network: 'hosts', hosts: ['example.com'] };
    const { session } = await talk(stage, { ...settings, sandbox });
    const { body } = await fork(stage, session, { title: 'mine' });
    expect(body).toMatchObject({ ...settings, title: 'mine', sandbox: session.sandbox });
  });

  it('An agent that forks receives the point of the turn, and only the new prompt.', async () => {
    const stage = onForks();
    const { session, first } = await talk(stage);
    const { body } = await fork(stage, session, { turn_id: first });
    const turn = await stage.play(body, 'go on');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: 'end-1' });
    expect(turn.text).toBe('go on');
    expect((await stage.session(body.id)).forked_from?.way).toBe('agent');
    await stage.complete(turn);
  });

  it('The first prompt to an agent that does not fork contains a record of the history, until a turn has completed.', async () => {
    const stage = onRecords();
    const { session, first } = await talk(stage);
    const { body } = await fork(stage, session, { turn_id: first });
    const cut = await stage.play(body, 'go on');
    cut.end(failed('provider_error', 'no'));
    await stage.until(({ kind, session_id }) => kind === 'turn.failed' && session_id === body.id);
    const turn = await stage.play(body, 'try again');
    for (const { text } of [cut, turn]) {
      expect(text).toMatch(/^This is a record of the conversation until now, which you continue/);
      expect(text).toContain('> the first prompt');
      expect(text).toContain('> answer to the first prompt');
      expect(text).not.toContain('the second prompt');
    }
    expect(turn.text.endsWith('</handoff_record>\ntry again')).toBe(true);
    const turnId = await answered(stage, turn, 'try again');
    expect((await stage.turn(body.id, turnId)).input).toEqual([
      { type: 'text', text: 'try again' },
    ]);
    expect((await stage.session(body.id)).forked_from?.way).toBe('record');
    const next = await stage.play(body, 'more');
    expect(next.text).toBe('more');
    await stage.complete(next);
  });

  it('An agent whose turns have no ids forks a session only after its last turn.', async () => {
    const stage = onForks();
    const session = await stage.open({ cwd: testDirectory('fork') });
    const first = await answer(stage, session, 'one');
    const whole = (await fork(stage, session)).body;
    const turn = await stage.play(whole, 'go on');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: null });
    await stage.complete(turn);
    await answer(stage, session, 'two');
    const part = (await fork(stage, session, { turn_id: first })).body;
    const record = await stage.play(part, 'go on');
    expect(record.agent.fork).toBeUndefined();
    expect(record.text).toContain('> answer to one');
    await stage.complete(record);
  });

  it('A fork of a fork, and its handoff, contain the turns before both forks.', async () => {
    const stage = onForks();
    const { session, first } = await talk(stage);
    const second = (await fork(stage, session, { turn_id: first })).body;
    await answer(stage, second, 'in the fork', 'end-3');
    const third = (await fork(stage, second)).body;
    expect((await pastTurns(stage, third)).map(({ prompt }) => prompt)).toEqual([
      'the first prompt',
      'in the fork',
    ]);
    await stage.post(`/v1/sessions/${third.id}/handoff`, { provider: 'acp' });
    const turn = await stage.provider.nextTurn();
    expect(turn.text).toContain('> the first prompt');
    expect(turn.text).toContain('> in the fork');
    expect(turn.text).not.toContain('the second prompt');
    await stage.complete(turn);
  });

  it('A closed session is forked, and a keyed request forks once.', async () => {
    const stage = onRecords();
    const { session } = await talk(stage);
    await stage.close(session.id);
    const key = { 'idempotency-key': `fork-${session.id}` };
    const [one, two] = [await fork(stage, session, {}, key), await fork(stage, session, {}, key)];
    expect([one.status, two.body]).toEqual([200, one.body]);
  });

  it('A fork starts only at a completed turn of the session.', async () => {
    const stage = onRecords();
    const { session } = await talk(stage);
    const other = await talk(stage);
    const running = await stage.play(session, 'runs');
    const { active_turn_id } = await stage.session(session.id);
    const at = async (turn_id: string) => (await fork(stage, session, { turn_id })).body;
    expect(await at(active_turn_id ?? '')).toMatchObject({ code: 'turn_in_progress' });
    expect(await at(other.first)).toMatchObject({ code: 'not_found' });
    running.end(failed('provider_error', 'no'));
    await stage.until(({ turn_id, kind }) => turn_id === active_turn_id && kind === 'turn.failed');
    expect(await at(active_turn_id ?? '')).toMatchObject({
      code: 'conflict',
      error: expect.stringContaining('has ended with status failed: name a completed turn'),
    });
    const empty = await stage.open();
    expect((await fork(stage, empty)).body).toMatchObject({
      code: 'conflict',
      error: expect.stringContaining('has no completed turn'),
    });
  });

  it('The files of a turn need a new worktree.', async () => {
    const stage = onRecords();
    const { session } = await talk(stage);
    expect((await fork(stage, session, { files: true })).body).toMatchObject({ code: 'invalid' });
  });

  it('A fork whose agent does not start fails its turn, and its next turn forks again.', async () => {
    const stage = onForks();
    const { session } = await talk(stage);
    const { body } = await fork(stage, session);
    stage.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
    await stage.send(body, 'go on');
    await stage.until(({ kind, session_id }) => kind === 'turn.failed' && session_id === body.id);
    const turn = await stage.play(body, 'try again');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: 'end-2' });
    await stage.complete(turn);
  });
});

describe('a rewind', () => {
  it('A rewind closes the session, and a fork with its title continues it.', async () => {
    const stage = onForks();
    const { session, first } = await talk(stage, { title: 'parser' });
    const { status, body } = await rewind(stage, session, { turn_id: first });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      title: 'parser',
      status: 'ready',
      forked_from: { session_id: session.id, turn_id: first, past_turns: 1 },
    });
    expect(await stage.session(session.id)).toMatchObject({
      status: 'closed',
      continued_by: body.id,
      close_reason: `rewound to turn ${first}: session ${body.id} continues`,
    });
    expect(kinds(await stage.events(session.id)).slice(-2)).toEqual([
      'session.rewound',
      'session.closed',
    ]);
    const turn = await stage.play(body, 'go on');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: 'end-1' });
    await stage.complete(turn);
  });

  it('A session that runs a turn or a check, or is closed, is not rewound.', async () => {
    const stage = onRecords();
    const { session, first } = await talk(stage, { permission_mode: 'full_access' });
    const running = await stage.play(session, 'runs');
    const refused = async () => (await rewind(stage, session, { turn_id: first })).body.code;
    expect(await refused()).toBe('turn_in_progress');
    await stage.complete(running);
    const goal = goalOf(stage, session);
    await goal.set(WAITS, { check_now: true });
    await goal.running();
    expect(await refused()).toBe('conflict');
    await goal.cancel();
    await stage.close(session.id);
    expect(await refused()).toBe('session_closed');
  });
});
