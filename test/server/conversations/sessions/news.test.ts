import { expect, it } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import { isIn } from '../../../../src/api/events.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { sessionAfterRequest, sessionAfterTurn } from '../../../../src/client/session-after.ts';
import { completed } from '../../../support/scripted-provider.ts';
import {
  sharedHarness,
  type Harness,
  testHarness,
  testSession,
  testTurn,
} from '../../../support/sessions/harness.ts';

/** Runs a turn whose agent says a text; resolves once it has ended. */
async function speak(harness: Harness, session: Session, prompt: string, said: string) {
  const turn = await harness.startTurn(session, prompt);
  void turn.sink.update({ type: 'message', text: said });
  return harness.complete(turn);
}

function patch(harness: Harness, { id }: Session, body: object) {
  return harness.patch<Session & { code?: string }>(`/v1/sessions/${id}`, body);
}

const shared = sharedHarness();

it('A session without a title gets one from the first line of its first prompt.', async () => {
  const harness = shared();
  const [plain, named] = [await harness.open(), await harness.open({ title: 'mine' })];
  const prompt = `\n  fix the tests ${'of all rooms '.repeat(10)}\nand then the docs`;
  for (const session of [plain, named]) await speak(harness, session, prompt, 'ok');
  await speak(harness, plain, 'something else', 'ok');
  const { title } = await harness.session(plain.id);
  expect(title).toMatch(/^fix the tests of all rooms .*…$/);
  expect(title).toHaveLength(80);
  expect((await harness.session(named.id)).title).toBe('mine');
});

it('The last words of a session are one line of at most 200 characters from its agent.', async () => {
  const harness = shared();
  const session = await harness.open();
  expect(session.last_words).toBeNull();
  await speak(harness, session, 'go', 'I look at it.\n\n\tAll\u0007 of it is done.  ');
  expect((await harness.session(session.id)).last_words).toBe('I look at it. All of it is done.');
  await speak(harness, session, 'go', '💥'.repeat(5000));
  const { last_words } = await harness.session(session.id);
  expect(last_words).toBe(`${'💥'.repeat(99)}…`);
  const silent = await harness.startTurn(session, 'say nothing');
  await harness.complete(silent);
  expect((await harness.session(session.id)).last_words).toBe(last_words);
});

it('The last activity of a session is its last step of a turn, not a change by a user.', async () => {
  const other = await testHarness();
  const session = await other.open();
  expect(session.last_activity_at).toBe(session.created_at);
  const steps: (() => Promise<unknown>)[] = [];
  const turn = { now: undefined as Awaited<ReturnType<Harness['startTurn']>> | undefined };
  steps.push(async () => (turn.now = await other.startTurn(session)));
  steps.push(async () => {
    void turn.now?.ask();
    await other.asked(session.id);
  });
  steps.push(async () => {
    turn.now?.end(completed);
    await other.times('turn.completed', 1);
  });
  for (const step of steps) {
    other.clock.advance(1000);
    await step();
    expect((await other.session(session.id)).last_activity_at).toBe(other.clock.now());
  }
  other.clock.advance(1000);
  await patch(other, session, { pinned: true });
  expect((await other.session(session.id)).last_activity_at).toBe(other.clock.now() - 1000);
});

it('The end of a turn, an approval request and a failure are news, and the events before them are not.', async () => {
  const { harness, session } = await testSession();
  const news = async () => (await harness.session(session.id)).news_seq;
  const turn = await harness.startTurn(session);
  expect(await news()).toBe(0);
  const answer = turn.ask();
  const approval = await harness.asked(session.id);
  const asked = await harness.until(({ kind }) => kind === 'approval.requested');
  expect(await news()).toBe(asked.seq);
  await harness.decide(approval, 'accept');
  await answer;
  void turn.sink.update({ type: 'message', text: 'done' });
  expect(await news()).toBe(asked.seq);
  turn.end(completed);
  const ended = await harness.until(({ kind }) => kind === 'turn.completed');
  expect(await news()).toBe(ended.seq);
});

it('A failure of a session is news, and its event has it, too.', async () => {
  const { harness, session } = await testSession();
  const { ProviderError } = await import('../../../../src/agents/provider.ts');
  harness.provider.refuseOpen(new ProviderError('resume_failed', 'gone'));
  await harness.send(session, 'go');
  const failed = await harness.until(({ kind }) => kind === 'session.failed');
  expect(failed.payload).toMatchObject({ session: { news_seq: failed.seq } });
  expect((await harness.session(session.id)).news_seq).toBe(failed.seq);
});

it('The news and all changes of a session by a turn follow from the events alone.', async () => {
  const harness = await testHarness();
  let followed: Session = await harness.open();
  const { id } = followed;
  const turn = await harness.startTurn(followed, 'first prompt');
  const asked = turn.ask();
  await harness.decide(await harness.asked(id), 'accept');
  await asked;
  void turn.sink.update({ type: 'message', text: 'said' });
  turn.end(completed);
  await harness.until(({ kind }) => kind === 'turn.completed');
  const failing = await harness.startTurn(followed, 'second prompt');
  const message = `boom\n${'very '.repeat(100)}loud`;
  failing.end({ status: 'failed', error: { code: 'agent_error', message } });
  const { seq } = await harness.until(({ kind }) => kind === 'turn.failed');
  for (const event of (await harness.events(id)) as RuntimeEventRecord[]) {
    if (isIn('turn', event)) followed = sessionAfterTurn(followed, event);
    if (isIn('approval', event) && event.kind === 'approval.requested')
      followed = sessionAfterRequest(followed, event);
  }
  const stored = await harness.session(id);
  expect(stored.news_seq).toBe(seq);
  expect(stored.last_turn_status).toBe('failed');
  expect(stored.last_turn_error).toEqual(anError('agent_error', /^boom very .{189}…$/));
  const { provider_session_ref, provider_defaults, usage } = stored;
  expect({ ...followed, provider_session_ref, provider_defaults, usage }).toEqual(stored);
});

const ownHarness = sharedHarness();

it('PATCH of a session changes the fields of its body, appends one event, and answers with the session.', async () => {
  const harness = ownHarness();
  const session = await harness.open({ title: 'old' });
  harness.clock.advance(5);
  const change = { title: 'new', pinned: true, snoozed_until: 123, muted: true };
  const { status, body } = await patch(harness, session, change);
  expect([status, body]).toEqual([200, { ...session, ...change, updated_at: harness.clock.now() }]);
  expect(await harness.session(session.id)).toEqual(body);
  expect((await patch(harness, session, change)).body).toEqual(body);
  expect((await patch(harness, session, {})).body).toEqual(body);
  const updates = (await harness.events(session.id)).filter(
    ({ kind }) => kind === 'session.updated',
  );
  const { metadata: _metadata, ...inEvents } = body;
  expect(updates.map(({ payload }) => payload)).toEqual([{ session: inEvents }]);
  const before = { title: null, pinned: false, snoozed_until: null, muted: false };
  const undone = await patch(harness, session, before);
  expect(undone.body).toMatchObject(before);
});

it('A PATCH changes a closed session, too.', async () => {
  const harness = ownHarness();
  const session = await harness.open();
  await harness.close(session.id);
  const { body } = await patch(harness, session, { title: 'kept' });
  expect(body).toMatchObject({ status: 'closed', title: 'kept' });
});

it('A PATCH only raises seen_seq, and never above the newest event.', async () => {
  const harness = ownHarness();
  const session = await harness.open();
  const { seq } = await speak(harness, session, 'go', 'done');
  expect((await patch(harness, session, { seen_seq: seq })).body.seen_seq).toBe(seq);
  expect((await patch(harness, session, { seen_seq: 1 })).body.seen_seq).toBe(seq);
  const beyond = await patch(harness, session, { seen_seq: seq + 1000 });
  expect([beyond.status, beyond.body.code]).toEqual([400, 'invalid']);
  expect((await harness.session(session.id)).seen_seq).toBe(seq);
});

it('A PATCH of read-only fields or of an unknown session is refused.', async () => {
  const harness = ownHarness();
  const session = await harness.open();
  for (const body of [{ status: 'closed' }, { news_seq: 1 }, { pinned: null }, { seen_seq: -1 }])
    expect((await patch(harness, session, body)).status).toBe(400);
  expect((await harness.patch('/v1/sessions/sess_0', { pinned: true })).status).toBe(404);
});

it('A PATCH is refused to a token with the scope read and to the agent of the session.', async () => {
  const harness = ownHarness();
  const session = await harness.open();
  const { body: token } = await harness.post<{ secret: string }>('/v1/tokens', {
    name: 'viewer',
    scope: 'read',
  });
  for (const secret of [token.secret, harness.tokenOf(session)]) {
    const response = await fetch(new URL(`/v1/sessions/${session.id}`, harness.given.url), {
      method: 'PATCH',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ pinned: true }),
    });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      403,
      'forbidden_scope',
    ]);
  }
  expect((await harness.session(session.id)).pinned).toBe(false);
});

it('The row of a session is not written while its agent streams.', async () => {
  const { harness, session, turn } = await testTurn();
  const before = await harness.session(session.id);
  for (let i = 0; i < 50; i++) void turn.sink.update({ type: 'message', text: `word ${i} ` });
  await harness.until(({ kind }) => kind === 'message.delta');
  expect(await harness.session(session.id)).toEqual(before);
  turn.end(completed);
  await harness.times('turn.completed', 1);
});
