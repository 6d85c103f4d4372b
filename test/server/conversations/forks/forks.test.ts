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
  sharedHarness,
  type Harness,
} from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';

const onRecords = sharedHarness();
const onForks = sharedHarness({ agents: { forks: true } });

type Forked = Reply<Session & Refusal>;

const fork = (harness: Harness, { id }: Pick<Session, 'id'>, body: object = {}, headers = {}) =>
  harness.post(`/v1/sessions/${id}/fork`, body, headers) as Promise<Forked>;

const rewind = (harness: Harness, { id }: Pick<Session, 'id'>, body: object) =>
  harness.post(`/v1/sessions/${id}/rewind`, body) as Promise<Forked>;

/** Runs a turn with an answer and the agent's own id of its end, and returns its id. */
async function answer(
  harness: Harness,
  session: Pick<Session, 'id'>,
  prompt: string,
  ref?: string,
) {
  const turn = await harness.startTurn(session, prompt);
  return answered(harness, turn, prompt, ref);
}

async function answered(harness: Harness, turn: ScriptedTurn, prompt: string, ref?: string) {
  const { id } = turn.session;
  const { active_turn_id } = await harness.session(id);
  await turn.sink.update({ type: 'message', text: `answer to ${prompt}` });
  turn.end({ ...completed, ...(ref !== undefined && { ref }) });
  await harness.until(
    ({ kind, turn_id }) => kind === 'turn.completed' && turn_id === active_turn_id,
  );
  return active_turn_id ?? '';
}

/** Opens a session with two turns. */
async function talk(harness: Harness, more: object = {}) {
  const session = await harness.open({ cwd: testDirectory('fork'), ...more });
  const first = await answer(harness, session, 'the first prompt', 'end-1');
  const second = await answer(harness, session, 'the second prompt', 'end-2');
  return { session, first, second };
}

async function pastTurns(harness: Harness, { id }: Pick<Session, 'id'>): Promise<PastTurn[]> {
  const { body } = await harness.get<PastTurn[]>(`/v1/sessions/${id}/past-turns`);
  return body.toReversed();
}

describe('a fork', () => {
  it('The title of a fork of a session with a long title is cut between two characters.', async () => {
    const harness = onRecords();
    const { session } = await talk(harness, {
      title: `${'a'.repeat(192)}\u{1f600}${'b'.repeat(6)}`,
    });
    expect((await fork(harness, session)).body.title).toBe(`${'a'.repeat(192)}… (fork)`);
  });

  it('A fork has the history up to the turn as past turns, and the session stays as it is.', async () => {
    const harness = onRecords();
    const { session, first } = await talk(harness, { title: 'parser' });
    const before = await harness.session(session.id);
    const events = kinds(await harness.events(session.id));
    const { status, body } = await fork(harness, session, { turn_id: first });
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
    expect(await pastTurns(harness, body)).toMatchObject([
      {
        ref: first,
        program: 'cadre',
        status: 'completed',
        prompt: 'the first prompt',
        items: [{ kind: 'message', text: 'answer to the first prompt' }],
      },
    ]);
    expect(kinds(await harness.events(body.id))).toEqual([
      'session.created',
      'past.turn',
      'session.forked',
    ]);
    expect(await harness.session(session.id)).toEqual(before);
    expect(kinds(await harness.events(session.id))).toEqual(events);
  });

  it('A fork without a turn begins after the newest completed turn, also while another turn runs.', async () => {
    const harness = onRecords();
    const { session, second } = await talk(harness);
    const broken = await harness.startTurn(session, 'broken');
    broken.end(failed('provider_error', 'no'));
    await harness.until(
      ({ kind, session_id }) => kind === 'turn.failed' && session_id === session.id,
    );
    const running = await harness.startTurn(session, 'runs');
    const { body } = await fork(harness, session);
    expect(body.forked_from?.turn_id).toBe(second);
    expect((await pastTurns(harness, body)).map(({ prompt }) => prompt)).toEqual([
      'the first prompt',
      'the second prompt',
    ]);
    await harness.complete(running);
  });

  it('A fork inherits the settings of the session.', async () => {
    const harness = onRecords();
    const settings = { permission_mode: 'read_only', model: 'small', after_limit: 'wait' };
    const sandbox = { network: 'hosts', hosts: ['example.com'] };
    const { session } = await talk(harness, { ...settings, sandbox });
    const { body } = await fork(harness, session, { title: 'mine' });
    expect(body).toMatchObject({ ...settings, title: 'mine', sandbox: session.sandbox });
  });

  it('An agent that forks receives the point of the turn, and only the new prompt.', async () => {
    const harness = onForks();
    const { session, first } = await talk(harness);
    const { body } = await fork(harness, session, { turn_id: first });
    const turn = await harness.startTurn(body, 'go on');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: 'end-1' });
    expect(turn.text).toBe('go on');
    expect((await harness.session(body.id)).forked_from?.way).toBe('agent');
    await harness.complete(turn);
  });

  it('The first prompt to an agent that does not fork contains a record of the history, until a turn has completed.', async () => {
    const harness = onRecords();
    const { session, first } = await talk(harness);
    const { body } = await fork(harness, session, { turn_id: first });
    const cut = await harness.startTurn(body, 'go on');
    cut.end(failed('provider_error', 'no'));
    await harness.until(({ kind, session_id }) => kind === 'turn.failed' && session_id === body.id);
    const turn = await harness.startTurn(body, 'try again');
    for (const { text } of [cut, turn]) {
      expect(text).toMatch(/^This is a record of the conversation until now, which you continue/);
      expect(text).toContain('> the first prompt');
      expect(text).toContain('> answer to the first prompt');
      expect(text).not.toContain('the second prompt');
    }
    expect(turn.text.endsWith('</handoff_record>\ntry again')).toBe(true);
    const turnId = await answered(harness, turn, 'try again');
    expect((await harness.turn(body.id, turnId)).input).toEqual([
      { type: 'text', text: 'try again' },
    ]);
    expect((await harness.session(body.id)).forked_from?.way).toBe('record');
    const next = await harness.startTurn(body, 'more');
    expect(next.text).toBe('more');
    await harness.complete(next);
  });

  it('An agent whose turns have no ids forks a session only after its last turn.', async () => {
    const harness = onForks();
    const session = await harness.open({ cwd: testDirectory('fork') });
    const first = await answer(harness, session, 'one');
    const whole = (await fork(harness, session)).body;
    const turn = await harness.startTurn(whole, 'go on');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: null });
    await harness.complete(turn);
    await answer(harness, session, 'two');
    const part = (await fork(harness, session, { turn_id: first })).body;
    const record = await harness.startTurn(part, 'go on');
    expect(record.agent.fork).toBeUndefined();
    expect(record.text).toContain('> answer to one');
    await harness.complete(record);
  });

  it('A fork of a fork, and its handoff, contain the turns before both forks.', async () => {
    const harness = onForks();
    const { session, first } = await talk(harness);
    const second = (await fork(harness, session, { turn_id: first })).body;
    await answer(harness, second, 'in the fork', 'end-3');
    const third = (await fork(harness, second)).body;
    expect((await pastTurns(harness, third)).map(({ prompt }) => prompt)).toEqual([
      'the first prompt',
      'in the fork',
    ]);
    await harness.post(`/v1/sessions/${third.id}/handoff`, { provider: 'acp' });
    const turn = await harness.provider.nextTurn();
    expect(turn.text).toContain('> the first prompt');
    expect(turn.text).toContain('> in the fork');
    expect(turn.text).not.toContain('the second prompt');
    await harness.complete(turn);
  });

  it('A closed session is forked, and a keyed request forks once.', async () => {
    const harness = onRecords();
    const { session } = await talk(harness);
    await harness.close(session.id);
    const key = { 'idempotency-key': `fork-${session.id}` };
    const [one, two] = [
      await fork(harness, session, {}, key),
      await fork(harness, session, {}, key),
    ];
    expect([one.status, two.body]).toEqual([200, one.body]);
  });

  it('A fork starts only at a completed turn of the session.', async () => {
    const harness = onRecords();
    const { session } = await talk(harness);
    const other = await talk(harness);
    const running = await harness.startTurn(session, 'runs');
    const { active_turn_id } = await harness.session(session.id);
    const at = async (turn_id: string) => (await fork(harness, session, { turn_id })).body;
    expect(await at(active_turn_id ?? '')).toMatchObject({ code: 'turn_in_progress' });
    expect(await at(other.first)).toMatchObject({ code: 'not_found' });
    running.end(failed('provider_error', 'no'));
    await harness.until(
      ({ turn_id, kind }) => turn_id === active_turn_id && kind === 'turn.failed',
    );
    expect(await at(active_turn_id ?? '')).toMatchObject({
      code: 'conflict',
      error: expect.stringContaining('has ended with status failed: name a completed turn'),
    });
    const empty = await harness.open();
    expect((await fork(harness, empty)).body).toMatchObject({
      code: 'conflict',
      error: expect.stringContaining('has no completed turn'),
    });
  });

  it('The files of a turn need a new worktree.', async () => {
    const harness = onRecords();
    const { session } = await talk(harness);
    expect((await fork(harness, session, { files: true })).body).toMatchObject({ code: 'invalid' });
  });

  it('A fork whose agent does not start fails its turn, and its next turn forks again.', async () => {
    const harness = onForks();
    const { session } = await talk(harness);
    const { body } = await fork(harness, session);
    harness.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
    await harness.send(body, 'go on');
    await harness.until(({ kind, session_id }) => kind === 'turn.failed' && session_id === body.id);
    const turn = await harness.startTurn(body, 'try again');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: 'end-2' });
    await harness.complete(turn);
  });
});

describe('a rewind', () => {
  it('A rewind closes the session, and a fork with its title continues it.', async () => {
    const harness = onForks();
    const { session, first } = await talk(harness, { title: 'parser' });
    const { status, body } = await rewind(harness, session, { turn_id: first });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      title: 'parser',
      status: 'ready',
      forked_from: { session_id: session.id, turn_id: first, past_turns: 1 },
    });
    expect(await harness.session(session.id)).toMatchObject({
      status: 'closed',
      continued_by: body.id,
      close_reason: `rewound to turn ${first}: session ${body.id} continues`,
    });
    expect(kinds(await harness.events(session.id)).slice(-2)).toEqual([
      'session.rewound',
      'session.closed',
    ]);
    const turn = await harness.startTurn(body, 'go on');
    expect(turn.agent.fork).toEqual({ ref: `ref-${session.id}`, turnRef: 'end-1' });
    await harness.complete(turn);
  });

  it('A session that runs a turn or a check, or is closed, is not rewound.', async () => {
    const harness = onRecords();
    const { session, first } = await talk(harness, { permission_mode: 'full_access' });
    const running = await harness.startTurn(session, 'runs');
    const refused = async () => (await rewind(harness, session, { turn_id: first })).body.code;
    expect(await refused()).toBe('turn_in_progress');
    await harness.complete(running);
    const goal = goalOf(harness, session);
    await goal.set(WAITS, { check_now: true });
    await goal.running();
    expect(await refused()).toBe('conflict');
    await goal.cancel();
    await harness.close(session.id);
    expect(await refused()).toBe('session_closed');
  });
});
