import { expect, it } from 'vitest';
import { DAY, HOUR, MINUTE, ofEntry, queueOf, unresumable } from '../../../support/queue/queue.ts';
import { sharedHarness, testHarness } from '../../../support/sessions/harness.ts';
import { completed } from '../../../support/teams/team.ts';

const harness = sharedHarness();
const queue = () => queueOf(harness());
const texts = (entries: readonly { input: readonly object[] }[]) =>
  entries.map(({ input: [first] }) => (first as { text?: string }).text);

/** Expects the next turn with a text, and completes the turn. */
async function expectPlayed(text: string): Promise<void> {
  const turn = await harness().provider.nextTurn();
  expect(turn.text).toBe(text);
  turn.end(completed);
}

it('A turn that is queued while the session is busy begins when the running turn ends; a turn that is sent is refused.', async () => {
  const session = await harness().open();
  const first = await harness().startTurn(session, 'first');
  const { body: entry } = await queue().add(session, 'second', {
    model: 'large',
    reason: 'later',
  });
  expect(entry).toMatchObject({ status: 'waiting', position: 1, turn_id: null, reason: 'later' });
  expect((await harness().send(session, 'now')).body.code).toBe('turn_in_progress');
  first.end(completed);
  const second = await harness().provider.nextTurn();
  expect(second.text).toBe('second');
  expect(second.settings.model).toBe('large');
  const { body: running } = await queue().get(entry);
  const turn = await harness().turn(session.id, running.turn_id ?? '');
  expect(turn).toMatchObject({ source: 'queue', status: 'running' });
  second.end(completed);
  await harness().until(ofEntry(entry, 'queue.removed'));
  expect((await queue().get(entry)).body.code).toBe('not_found');
  expect((await queue().of(session)).entries).toEqual([]);
});

it('A turn that is queued for an idle session begins at once, each entry as a turn of its own.', async () => {
  const session = await harness().open();
  const { body: one } = await queue().add(session, 'one');
  expect(one).toMatchObject({ status: 'running' });
  await queue().add(session, 'two');
  for (const text of ['one', 'two']) {
    await expectPlayed(text);
  }
  expect((await harness().session(session.id)).title).toBe('one');
});

it('People change the order, what is said and when, and take entries out.', async () => {
  const { session, turn: running } = await harness().atWork();
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((text) => queue().add(session, text)));
  const [one, two, three] = (await queue().of(session)).entries;
  if (!a || !b || !c || !one || !two || !three) throw new Error('three were added');
  const moved = await queue().move(three, { before: one.id });
  expect(moved.body.entries.map(({ id }) => id)).toEqual([three.id, one.id, two.id]);
  expect((await queue().move(three, { to: 'last' })).body.entries.at(-1)?.id).toBe(three.id);
  expect((await queue().move(three, { before: 'que_none' })).status).toBe(404);
  expect((await queue().move(three, { before: one.id, to: 'last' })).status).toBe(400);
  const at = harness().clock.now() + HOUR;
  const edited = await queue().edit(one, { input: { type: 'text', text: 'A' }, name: 'x', at });
  expect(edited.body).toMatchObject({ status: 'scheduled', next_at: at, name: 'x' });
  expect((await queue().drop(two)).status).toBe(200);
  expect((await queue().edit(one, { at: null })).body.status).toBe('waiting');
  running.end(completed);
  await expectPlayed('A');
  const last = await harness().provider.nextTurn();
  expect(last.text).toBe(texts([three])[0]);
  expect((await queue().drop(three)).body.code).toBe('conflict');
  last.end(completed);
});

it('Entries and messages to a session wait in one line, in order of arrival.', async () => {
  const [session, lead] = [await harness().open(), await harness().open()];
  const running = await harness().startTurn(session);
  const team = await harness().post<{ team: { id: string } }>('/v1/teams', {
    name: 't',
    lead_agent_id: lead.id,
    member_agent_ids: [session.id],
  });
  const say = (text: string) =>
    harness().post(`/v1/teams/${team.body.team.id}/messages`, {
      sender_agent_id: lead.id,
      recipient_agent_id: session.id,
      input: { type: 'text', text },
    });
  await say('m1');
  await queue().add(session, 'q1');
  await say('m2');
  await say('m3');
  running.end(completed);
  const prompts: string[] = [];
  for (let turns = 0; turns < 3; turns++) {
    const turn = await harness().provider.nextTurn();
    prompts.push([...turn.text.matchAll(/[mq]\d/g)].join(' '));
    turn.end(completed);
  }
  expect(prompts).toEqual(['m1', 'q1', 'm2 m3']);
});

it('An entry with a time waits for it, and its turn begins once.', async () => {
  const session = await harness().open();
  const at = harness().clock.now() + HOUR;
  const { body: entry } = await queue().add(session, 'later', { at });
  expect(entry).toMatchObject({ status: 'scheduled', next_at: at });
  harness().clock.advance(HOUR - 1);
  expect((await queue().get(entry)).body.status).toBe('scheduled');
  harness().clock.advance(1);
  await expectPlayed('later');
  await harness().until(ofEntry(entry, 'queue.removed'));
});

it('A time of which no timer could know, because the machine slept or the clock was set, is noticed within a minute.', async () => {
  const session = await harness().open();
  const at = harness().clock.now() + DAY;
  await queue().add(session, 'slept', { at });
  harness().clock.jump(DAY + HOUR);
  harness().clock.advance(MINUTE);
  await expectPlayed('slept');
  harness().clock.jump(-DAY - HOUR);
});

it('A schedule runs at each of its times; a run that is due during the run before is skipped, with an event.', async () => {
  const session = await harness().open();
  const { body: entry } = await queue().add(session, 'hourly', {
    every: '0 * * * *',
    time_zone: 'UTC',
  });
  const first = entry.next_at ?? 0;
  harness().clock.advance(first - harness().clock.now());
  const one = await harness().provider.nextTurn();
  harness().clock.advance(HOUR);
  const skipped = await harness().until(ofEntry(entry, 'queue.skipped'));
  expect(skipped.payload).toMatchObject({ why: 'overlap', count: 1, first_at: first + HOUR });
  one.end(completed);
  await harness().until(ofEntry(entry, 'queue.finished'));
  harness().clock.advance(HOUR);
  const two = await harness().provider.nextTurn();
  two.end(completed);
  await harness().until(
    (event) =>
      ofEntry(entry, 'queue.finished')(event) &&
      (event.payload.entry as { runs: number }).runs === 2,
  );
  expect((await queue().get(entry)).body).toMatchObject({
    runs: 2,
    skipped: 1,
    status: 'scheduled',
  });
  await queue().drop(entry);
});

it('With the overlap rule `queue`, exactly one run follows the current run.', async () => {
  const session = await harness().open();
  const every = { every: '0 * * * *', time_zone: 'UTC', overlap: 'queue' };
  const { body: entry } = await queue().add(session, 'again', every);
  harness().clock.advance((entry.next_at ?? 0) - harness().clock.now());
  const one = await harness().provider.nextTurn();
  harness().clock.advance(HOUR);
  await harness().until(
    (event) => ofEntry(entry, 'queue.due')(event) && event.payload.due_at !== entry.next_at,
  );
  harness().clock.advance(HOUR);
  const skipped = await harness().until(ofEntry(entry, 'queue.skipped'));
  expect(skipped.payload).toMatchObject({ why: 'overlap', count: 1 });
  one.end(completed);
  const two = await harness().provider.nextTurn();
  expect(two.text).toBe('again');
  await queue().drop(entry);
  two.end(completed);
});

it('Runs during a sleep of the machine are skipped with one event, and the next run begins in time.', async () => {
  const session = await harness().open();
  const { body: entry } = await queue().add(session, 'h', {
    every: '30 * * * *',
    time_zone: 'UTC',
  });
  harness().clock.jump(10 * HOUR + (entry.next_at ?? 0) + 10 * MINUTE - harness().clock.now());
  harness().clock.advance(MINUTE);
  const { payload } = await harness().until(ofEntry(entry, 'queue.skipped'));
  expect(payload).toMatchObject({
    why: 'missed',
    count: 11,
    first_at: entry.next_at,
    last_at: (entry.next_at ?? 0) + 10 * HOUR,
  });
  expect((await queue().get(entry)).body).toMatchObject({
    status: 'scheduled',
    next_at: (entry.next_at ?? 0) + 11 * HOUR,
  });
  await queue().drop(entry);
});

it('A schedule whose clock is set back by days begins anew, instead of resting until then.', async () => {
  const session = await harness().open();
  const { body: entry } = await queue().add(session, 'h', { every: '@hourly', time_zone: 'UTC' });
  harness().clock.jump(365 * DAY);
  harness().clock.advance(MINUTE);
  await harness().until(ofEntry(entry, 'queue.skipped'));
  harness().clock.jump(-365 * DAY);
  harness().clock.advance(MINUTE);
  await harness().until(ofEntry(entry, 'queue.changed'));
  expect((await queue().get(entry)).body.next_at).toBeLessThan(harness().clock.now() + HOUR + 1);
  await queue().drop(entry);
});

it.each([
  [{ every: '* * * * * *' }, 'body.every'],
  [{ every: '0 0 30 2 *' }, 'matches no time in the future'],
  [{ every: '2026-11-22T18:00:00' }, 'body.every'],
  [{ every: '0 8 * * *', time_zone: 'Mars/Olympus' }, 'body.time_zone'],
  [{ every: '0 8 * * *', at: 5 }, 'cannot be combined'],
  [{ overlap: 'queue' }, 'body.overlap'],
  [{ input: { type: 'text', text: 'x'.repeat(300_000) } }, 'body.input'],
])('An entry with an impossible time is refused: %o.', async (body, part) => {
  const session = await harness().open();
  const refused = await queue().add(session, 'x', body);
  expect(refused.status).toBe(400);
  expect(refused.body.error).toContain(part);
});

it('A paused entry becomes no turn, others do; resumed, it waits at its place.', async () => {
  const { session, turn: running } = await harness().atWork();
  const { body: one } = await queue().add(session, 'one');
  await queue().add(session, 'two');
  expect((await queue().pause(one, { reason: 'not yet' })).body).toMatchObject({
    status: 'held',
    hold: { code: 'paused', message: 'not yet' },
  });
  running.end(completed);
  const next = await harness().provider.nextTurn();
  expect(next.text).toBe('two');
  expect((await queue().resume(one)).body).toMatchObject({ status: 'waiting', hold: null });
  next.end(completed);
  await expectPlayed('one');
});

it('When a paused schedule is resumed, one event reports all runs that it has missed.', async () => {
  const session = await harness().open();
  const { body: entry } = await queue().add(session, 'h', { every: '@hourly', time_zone: 'UTC' });
  await queue().pause(entry);
  harness().clock.advance(
    5 * HOUR + 10 * MINUTE - (((harness().clock.now() % HOUR) + HOUR) % HOUR),
  );
  const { body } = await queue().resume(entry);
  expect(body).toMatchObject({ status: 'scheduled', skipped: 5 });
  const { payload } = await harness().until(ofEntry(entry, 'queue.skipped'));
  expect(payload).toMatchObject({ why: 'held', count: 5 });
  await queue().drop(entry);
});

it('A session that is paused begins no turn of its queue until its time has come; a turn that is sent begins.', async () => {
  const session = await harness().open();
  const until = harness().clock.now() + HOUR;
  const held = await queue().pauseAll(session, { until, reason: 'lunch' });
  expect(held.body.holds).toMatchObject([{ code: 'paused', message: 'lunch', until }]);
  const { body: entry } = await queue().add(session, 'after lunch');
  expect(entry.status).toBe('waiting');
  const sent = await harness().startTurn(session, 'now');
  sent.end(completed);
  await harness().until(
    ({ kind, session_id }) => kind === 'turn.completed' && session_id === session.id,
  );
  expect((await queue().get(entry)).body).toMatchObject({
    status: 'waiting',
    session_holds: [{ message: 'lunch' }],
  });
  harness().clock.advance(HOUR);
  const turn = await harness().provider.nextTurn();
  expect(turn.text).toBe('after lunch');
  expect((await queue().get(entry)).body.session_holds).toEqual([]);
  turn.end(completed);
});

it('After an interrupt the queue rests until somebody speaks to the session or resumes it.', async () => {
  const { session, turn: running } = await harness().atWork();
  const { body: entry } = await queue().add(session, 'next');
  await harness().interrupt(session.id, (await harness().session(session.id)).active_turn_id ?? '');
  running.end({ status: 'interrupted', error: null });
  await harness().until(
    ({ kind, session_id }) => kind === 'turn.interrupted' && session_id === session.id,
  );
  const rests = await queue().of(session);
  expect(rests.holds).toMatchObject([{ code: 'stopped' }]);
  expect(rests.entries[0]?.status).toBe('waiting');
  const resumed = await queue().resumeAll(session);
  expect(resumed.body.holds).toEqual([]);
  await expectPlayed('next');
  await harness().until(ofEntry(entry, 'queue.removed'));
});

it('The entries of a closed session are held, with an event each, and can only be dropped.', async () => {
  const session = await harness().open();
  const { body: entry } = await queue().add(session, 'd', { every: '@daily', time_zone: 'UTC' });
  await harness().close(session.id);
  const { payload } = await harness().until(ofEntry(entry, 'queue.held'));
  expect(payload.entry).toMatchObject({ status: 'held', hold: { code: 'session_closed' } });
  expect((await queue().resume(entry)).body.code).toBe('session_closed');
  expect((await queue().add(session, 'x')).body.code).toBe('session_closed');
  expect((await queue().of(session)).holds).toMatchObject([{ code: 'session_closed' }]);
  expect((await queue().drop(entry)).status).toBe(200);
});

it('The entries of a session that cannot be resumed are held until it is brought back.', async () => {
  const session = await unresumable(harness());
  const { body: entry } = await queue().add(session, 'once');
  const { payload } = await harness().until(ofEntry(entry, 'queue.held'));
  expect(payload.entry).toMatchObject({ hold: { code: 'session_failed' } });
  await harness().post(`/v1/sessions/${session.id}/resume`);
  await expectPlayed('once');
  await harness().until(ofEntry(entry, 'queue.removed'));
});

it('The agent of a session may schedule for nobody, not even for itself.', async () => {
  const session = await harness().open();
  const refused = await harness().post(
    `/v1/sessions/${session.id}/queue`,
    { input: { type: 'text', text: 'x' } },
    { authorization: `Bearer ${harness().tokenOf(session)}` },
  );
  expect([refused.status, refused.body.code]).toEqual([403, 'forbidden_scope']);
});

it('A session has at most 100 entries.', async () => {
  const own = await testHarness();
  const session = await own.open();
  const at = own.clock.now() + DAY;
  const add = () => queueOf(own).add(session, 'x', { at });
  const added = await Promise.all(Array.from({ length: 100 }, add));
  expect(added.every(({ status }) => status === 200)).toBe(true);
  const refused = await add();
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many']);
  const { body } = await own.get<{ queue: object }>('/v1/diagnostics');
  expect(body.queue).toMatchObject({ entries: { scheduled: 100 }, next_at: at });
});
