import { expect, it } from 'vitest';
import type { Session } from '../../../../../src/api/sessions.ts';
import { limited, type ReportedLimit } from '../../../../../src/agents/provider.ts';
import { HOUR, MINUTE, queueOf } from '../../../../support/queue/queue.ts';
import { type Harness, testHarness, testSession } from '../../../../support/sessions/harness.ts';
import { completed } from '../../../../support/teams/team.ts';

const CONTINUE_PROMPT = /cut off by a usage limit, which has since reset/;

/** A limit that resets an hour from now, or as is said. */
function limit(harness: Harness, more: Partial<ReportedLimit> = {}) {
  const resetsAt = harness.clock.now() + HOUR;
  return limited('the agent', 'no more today', { resetsAt, isOfAccount: true, ...more });
}

/** The next event of a session with this kind, from now on. */
function next(harness: Harness, { id }: { id: string }, kind: string) {
  const known = harness.seen.length;
  return harness.until(
    (event) =>
      event.kind === kind && event.session_id === id && harness.seen.indexOf(event) >= known,
  );
}

/** A turn of a session meets a limit; resolves once the session waits. */
async function meet(harness: Harness, session: Session, more: Partial<ReportedLimit> = {}) {
  const turn = await harness.startTurn(session, 'work');
  const waits = next(harness, session, 'session.limited');
  turn.end(limit(harness, more));
  await waits;
  return harness.session(session.id);
}

it('A turn that meets a usage limit is sent again once after the reset, before waiting entries.', async () => {
  const { harness, session } = await testSession(undefined, { model: 'large' });
  const { usage_limit } = await meet(harness, session);
  const at = harness.clock.now() + HOUR;
  expect(usage_limit).toMatchObject({
    message: 'the agent has reached a usage limit: no more today',
    resets_at: at,
    resumes_at: at,
    waits_because: null,
    turn_id: (await harness.session(session.id)).last_turn_id,
  });
  const { body: entry } = await queueOf(harness).add(session, 'later');
  expect(entry).toMatchObject({
    status: 'waiting',
    session_holds: [{ code: 'usage_limit', until: at }],
  });
  harness.clock.advance(HOUR - 1);
  harness.clock.advance(1);
  const again = await harness.provider.nextTurn();
  expect([again.text, again.settings.model]).toEqual(['work', 'large']);
  const now = await harness.session(session.id);
  expect(now).toMatchObject({ usage_limit: null, status: 'running' });
  again.end(completed);
  const later = await harness.provider.nextTurn();
  expect(later.text).toBe('later');
  later.end(completed);
  await harness.times('turn.completed', 2);
  const sources = (await harness.events(session.id))
    .filter(({ kind }) => kind === 'turn.accepted')
    .map(({ payload }) => (payload.turn as { source: string }).source);
  expect(sources).toEqual(['user', 'usage_limit', 'queue']);
});

it('The session continues where it left off if its agent had done something.', async () => {
  const { harness, session } = await testSession();
  const turn = await harness.startTurn(session, 'work');
  await turn.sink.update({ type: 'message', text: 'half of it' });
  turn.end(limit(harness));
  await next(harness, session, 'session.limited');
  harness.clock.advance(HOUR);
  const again = await harness.provider.nextTurn();
  expect(again.text).toMatch(CONTINUE_PROMPT);
  again.end(completed);
});

it('A session waits for a user if the agent does not report the reset of the limit.', async () => {
  const { harness, session } = await testSession();
  const { usage_limit } = await meet(harness, session, { resetsAt: null });
  expect(usage_limit).toMatchObject({ resumes_at: null, waits_because: 'unknown_reset' });
  harness.clock.advance(100 * HOUR);
  expect((await queueOf(harness).of(session)).holds).toMatchObject([{ code: 'usage_limit' }]);
  expect((await queueOf(harness).resumeAll(session)).body.holds).toEqual([]);
  (await harness.provider.nextTurn()).end(completed);
});

it('A session waits for a user only while the configuration says so.', async () => {
  const { harness, session } = await testSession({ config: { sessions: { after_limit: 'wait' } } });
  const { usage_limit } = await meet(harness, session);
  expect(usage_limit).toMatchObject({ resumes_at: null, waits_because: 'chosen' });
  const [hold] = (await queueOf(harness).of(session)).holds;
  expect(hold?.message).toContain('waits until you resume it');
  harness.clock.advance(2 * HOUR);
  expect((await harness.session(session.id)).status).toBe('ready');
  const path = `/v1/sessions/${session.id}`;
  const { body } = await harness.patch<Session>(path, { after_limit: 'resume' });
  expect(body.usage_limit?.waits_because).toBeNull();
  harness.clock.advance(MINUTE);
  (await harness.provider.nextTurn()).end(completed);
});

it('The session runs a turn that a person sends instead, and then its queue.', async () => {
  const { harness, session } = await testSession();
  await meet(harness, session);
  await queueOf(harness).add(session, 'later');
  harness.clock.advance(1);
  const sent = await harness.startTurn(session, 'instead');
  expect((await harness.session(session.id)).usage_limit).toBeNull();
  sent.end(completed);
  const later = await harness.provider.nextTurn();
  expect(later.text).toBe('later');
  later.end(completed);
  harness.clock.advance(2 * HOUR);
  await harness.times('turn.completed', 2);
  expect((await harness.session(session.id)).status).toBe('ready');
});

it('The session waits again if a turn that a person sends meets the limit too, and then continues that turn.', async () => {
  const { harness, session } = await testSession();
  await meet(harness, session);
  const sent = await harness.startTurn(session, 'instead');
  const waits = next(harness, session, 'session.limited');
  sent.end(limit(harness));
  await waits;
  harness.clock.advance(HOUR);
  const again = await harness.provider.nextTurn();
  expect(again.text).toBe('instead');
  again.end(completed);
});

it('The session continues at most three times while the limit is reported again at once.', async () => {
  const { harness, session } = await testSession();
  await meet(harness, session, { resetsAt: harness.clock.now() + 1 });
  harness.clock.advance(1);
  for (let time = 1; time <= 3; time++) {
    const again = await harness.provider.nextTurn();
    const waits = next(harness, session, 'session.limited');
    again.end(limit(harness, { resetsAt: harness.clock.now() }));
    const { payload } = await waits;
    const resumes_at = time === 3 ? null : harness.clock.now() + MINUTE;
    expect(payload.session).toMatchObject({ usage_limit: { resumes_at } });
    harness.clock.advance(MINUTE);
  }
  const { usage_limit } = await harness.session(session.id);
  expect(usage_limit?.waits_because).toBe('repeated');
});

it('The session can be closed, and then nothing continues.', async () => {
  const { harness, session } = await testSession();
  await meet(harness, session);
  const { body } = await harness.close(session.id);
  expect(body).toMatchObject({ status: 'closed', usage_limit: null });
  harness.clock.advance(2 * HOUR);
  expect((await harness.session(session.id)).status).toBe('closed');
});

it('The other sessions hold their queues until the limit resets.', async () => {
  const harness = await testHarness();
  const [one, other] = [await harness.open(), await harness.open()];
  await meet(harness, one);
  const { body: entry } = await queueOf(harness).add(other, 'mine');
  expect(entry.session_holds).toMatchObject([{ code: 'usage_limit' }]);
  const waiting = await harness.session(other.id);
  expect(waiting.usage_limit).toMatchObject({ turn_id: null });
  harness.clock.advance(HOUR);
  const turns = [await harness.provider.nextTurn(), await harness.provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  for (const turn of turns) turn.end(completed);
});

it('The other sessions continue at once when a turn of one of them completes.', async () => {
  const harness = await testHarness();
  const [one, other, third] = [await harness.open(), await harness.open(), await harness.open()];
  await meet(harness, one);
  await queueOf(harness).add(other, 'mine');
  harness.clock.advance(1);
  (await harness.startTurn(third, 'a try')).end(completed);
  await harness.times('turn.completed', 1);
  harness.clock.advance(0);
  const turns = [await harness.provider.nextTurn(), await harness.provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  for (const turn of turns) turn.end(completed);
});

it('The other sessions continue at once after a new login, without any agent of the login before.', async () => {
  const status = { authenticated: true, mode: 'api_key' as const, detail: 'it has a key' };
  const answer = () => Promise.resolve(status);
  const harness = await testHarness({
    agents: { id: 'claude', login: { setKey: answer, end: answer } },
  });
  const { provider } = harness;
  const [one, other] = [
    await harness.open({ provider: 'claude' }),
    await harness.open({ provider: 'claude' }),
  ];
  await meet(harness, one, { resetsAt: null });
  await harness.patch(`/v1/sessions/${one.id}`, { after_limit: 'resume' });
  await queueOf(harness).add(other, 'mine');
  expect((await harness.session(other.id)).usage_limit).not.toBeNull();
  const { status: code } = await harness.post('/v1/providers/claude/auth/api-key', {
    api_key: 'dummy',
  });
  expect(code).toBe(200);
  await provider.agents[0]?.endRequested;
  harness.clock.advance(0);
  const turns = [await provider.nextTurn(), await provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  expect(provider.agents).toHaveLength(3);
  for (const turn of turns) turn.end(completed);
});

it('Sessions that met the limit wait separately, and other sessions continue if it is a limit of one model.', async () => {
  const harness = await testHarness();
  const [one, other] = [await harness.open(), await harness.open()];
  await meet(harness, one, { isOfAccount: false });
  await queueOf(harness).add(other, 'mine');
  const mine = await harness.provider.nextTurn();
  expect(mine.text).toBe('mine');
  const waits = next(harness, other, 'session.limited');
  mine.end(limit(harness));
  await waits;
  harness.clock.advance(HOUR);
  const turns = [await harness.provider.nextTurn(), await harness.provider.nextTurn()];
  expect(turns.map(({ text }) => text).toSorted()).toEqual(['mine', 'work']);
  for (const turn of turns) turn.end(completed);
});
