import { expect, it } from 'vitest';
import type { Session } from '../../../../../src/api/sessions.ts';
import { limited, type ReportedLimit } from '../../../../../src/agents/provider.ts';
import { HOUR, MINUTE, queueOf } from '../../../../support/queue/queue.ts';
import { type Stage, testStage, testSession } from '../../../../support/sessions/harness.ts';
import { completed } from '../../../../support/teams/team.ts';

const CONTINUE_PROMPT = /cut off by a usage limit, which has since reset/;

/** A limit that resets an hour from now, or as is said. */
function limit(stage: Stage, more: Partial<ReportedLimit> = {}) {
  const resetsAt = stage.clock.now() + HOUR;
  return limited('the agent', 'no more today', { resetsAt, isOfAccount: true, ...more });
}

/** The next event of a session with this kind, from now on. */
function next(stage: Stage, { id }: { id: string }, kind: string) {
  const known = stage.seen.length;
  return stage.until(
    (event) => event.kind === kind && event.session_id === id && stage.seen.indexOf(event) >= known,
  );
}

/** A turn of a session meets a limit; resolves once the session waits. */
async function meet(stage: Stage, session: Session, more: Partial<ReportedLimit> = {}) {
  const turn = await stage.play(session, 'work');
  const waits = next(stage, session, 'session.limited');
  turn.end(limit(stage, more));
  await waits;
  return stage.session(session.id);
}

it('A turn that meets a usage limit is sent again once after the reset, before waiting entries.', async () => {
  const { stage, session } = await testSession(undefined, { model: 'large' });
  const { usage_limit } = await meet(stage, session);
  const at = stage.clock.now() + HOUR;
  expect(usage_limit).toMatchObject({
    message: 'the agent has reached a usage limit: no more today',
    resets_at: at,
    resumes_at: at,
    waits_because: null,
    turn_id: (await stage.session(session.id)).last_turn_id,
  });
  const { body: entry } = await queueOf(stage).add(session, 'later');
  expect(entry).toMatchObject({
    status: 'waiting',
    session_holds: [{ code: 'usage_limit', until: at }],
  });
  stage.clock.advance(HOUR - 1);
  stage.clock.advance(1);
  const again = await stage.provider.nextTurn();
  expect([again.text, again.settings.model]).toEqual(['work', 'large']);
  const now = await stage.session(session.id);
  expect(now).toMatchObject({ usage_limit: null, status: 'running' });
  again.end(completed);
  const later = await stage.provider.nextTurn();
  expect(later.text).toBe('later');
  later.end(completed);
  await stage.times('turn.completed', 2);
  const sources = (await stage.events(session.id))
    .filter(({ kind }) => kind === 'turn.accepted')
    .map(({ payload }) => (payload.turn as { source: string }).source);
  expect(sources).toEqual(['user', 'usage_limit', 'queue']);
});

it('The session continues where it left off if its agent had done something.', async () => {
  const { stage, session } = await testSession();
  const turn = await stage.play(session, 'work');
  await turn.sink.update({ type: 'message', text: 'half of it' });
  turn.end(limit(stage));
  await next(stage, session, 'session.limited');
  stage.clock.advance(HOUR);
  const again = await stage.provider.nextTurn();
  expect(again.text).toMatch(CONTINUE_PROMPT);
  again.end(completed);
});

it('A session waits for a user if the agent does not report the reset of the limit.', async () => {
  const { stage, session } = await testSession();
  const { usage_limit } = await meet(stage, session, { resetsAt: null });
  expect(usage_limit).toMatchObject({ resumes_at: null, waits_because: 'unknown_reset' });
  stage.clock.advance(100 * HOUR);
  expect((await queueOf(stage).of(session)).holds).toMatchObject([{ code: 'usage_limit' }]);
  expect((await queueOf(stage).resumeAll(session)).body.holds).toEqual([]);
  (await stage.provider.nextTurn()).end(completed);
});

it('A session waits for a user only while the configuration says so.', async () => {
  const { stage, session } = await testSession({ config: { sessions: { after_limit: 'wait' } } });
  const { usage_limit } = await meet(stage, session);
  expect(usage_limit).toMatchObject({ resumes_at: null, waits_because: 'chosen' });
  const [hold] = (await queueOf(stage).of(session)).holds;
  expect(hold?.message).toContain('waits until you resume it');
  stage.clock.advance(2 * HOUR);
  expect((await stage.session(session.id)).status).toBe('ready');
  const path = `/v1/sessions/${session.id}`;
  const { body } = await stage.patch<Session>(path, { after_limit: 'resume' });
  expect(body.usage_limit?.waits_because).toBeNull();
  stage.clock.advance(MINUTE);
  (await stage.provider.nextTurn()).end(completed);
});

it('The session runs a turn that a person sends instead, and then its queue.', async () => {
  const { stage, session } = await testSession();
  await meet(stage, session);
  await queueOf(stage).add(session, 'later');
  stage.clock.advance(1);
  const sent = await stage.play(session, 'instead');
  expect((await stage.session(session.id)).usage_limit).toBeNull();
  sent.end(completed);
  const later = await stage.provider.nextTurn();
  expect(later.text).toBe('later');
  later.end(completed);
  stage.clock.advance(2 * HOUR);
  await stage.times('turn.completed', 2);
  expect((await stage.session(session.id)).status).toBe('ready');
});

it('The session waits again if a turn that a person sends meets the limit too, and then continues that turn.', async () => {
  const { stage, session } = await testSession();
  await meet(stage, session);
  const sent = await stage.play(session, 'instead');
  const waits = next(stage, session, 'session.limited');
  sent.end(limit(stage));
  await waits;
  stage.clock.advance(HOUR);
  const again = await stage.provider.nextTurn();
  expect(again.text).toBe('instead');
  again.end(completed);
});

it('The session continues at most three times while the limit is reported again at once.', async () => {
  const { stage, session } = await testSession();
  await meet(stage, session, { resetsAt: stage.clock.now() + 1 });
  stage.clock.advance(1);
  for (let time = 1; time <= 3; time++) {
    const again = await stage.provider.nextTurn();
    const waits = next(stage, session, 'session.limited');
    again.end(limit(stage, { resetsAt: stage.clock.now() }));
    const { payload } = await waits;
    const resumes_at = time === 3 ? null : stage.clock.now() + MINUTE;
    expect(payload.session).toMatchObject({ usage_limit: { resumes_at } });
    stage.clock.advance(MINUTE);
  }
  const { usage_limit } = await stage.session(session.id);
  expect(usage_limit?.waits_because).toBe('repeated');
});

it('The session can be closed, and then nothing continues.', async () => {
  const { stage, session } = await testSession();
  await meet(stage, session);
  const { body } = await stage.close(session.id);
  expect(body).toMatchObject({ status: 'closed', usage_limit: null });
  stage.clock.advance(2 * HOUR);
  expect((await stage.session(session.id)).status).toBe('closed');
});

it('The other sessions hold their queues until the limit resets.', async () => {
  const stage = await testStage();
  const [one, other] = [await stage.open(), await stage.open()];
  await meet(stage, one);
  const { body: entry } = await queueOf(stage).add(other, 'mine');
  expect(entry.session_holds).toMatchObject([{ code: 'usage_limit' }]);
  const waiting = await stage.session(other.id);
  expect(waiting.usage_limit).toMatchObject({ turn_id: null });
  stage.clock.advance(HOUR);
  const turns = [await stage.provider.nextTurn(), await stage.provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  for (const turn of turns) turn.end(completed);
});

it('The other sessions continue at once when a turn of one of them completes.', async () => {
  const stage = await testStage();
  const [one, other, third] = [await stage.open(), await stage.open(), await stage.open()];
  await meet(stage, one);
  await queueOf(stage).add(other, 'mine');
  stage.clock.advance(1);
  (await stage.play(third, 'a try')).end(completed);
  await stage.times('turn.completed', 1);
  stage.clock.advance(0);
  const turns = [await stage.provider.nextTurn(), await stage.provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  for (const turn of turns) turn.end(completed);
});

it('The other sessions continue at once after a new login, without any agent of the login before.', async () => {
  const status = { authenticated: true, mode: 'api_key' as const, detail: 'it has a key' };
  const answer = () => Promise.resolve(status);
  const stage = await testStage({
    played: { id: 'claude', login: { setKey: answer, end: answer } },
  });
  const { provider } = stage;
  const [one, other] = [
    await stage.open({ provider: 'claude' }),
    await stage.open({ provider: 'claude' }),
  ];
  await meet(stage, one, { resetsAt: null });
  await stage.patch(`/v1/sessions/${one.id}`, { after_limit: 'resume' });
  await queueOf(stage).add(other, 'mine');
  expect((await stage.session(other.id)).usage_limit).not.toBeNull();
  const { status: code } = await stage.post('/v1/providers/claude/auth/api-key', {
    api_key: 'dummy',
  });
  expect(code).toBe(200);
  await provider.agents[0]?.toldToEnd;
  stage.clock.advance(0);
  const turns = [await provider.nextTurn(), await provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  expect(provider.agents).toHaveLength(3);
  for (const turn of turns) turn.end(completed);
});

it('Sessions that met the limit wait separately, and other sessions continue if it is a limit of one model.', async () => {
  const stage = await testStage();
  const [one, other] = [await stage.open(), await stage.open()];
  await meet(stage, one, { isOfAccount: false });
  await queueOf(stage).add(other, 'mine');
  const mine = await stage.provider.nextTurn();
  expect(mine.text).toBe('mine');
  const waits = next(stage, other, 'session.limited');
  mine.end(limit(stage));
  await waits;
  stage.clock.advance(HOUR);
  const turns = [await stage.provider.nextTurn(), await stage.provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  for (const turn of turns) turn.end(completed);
});
