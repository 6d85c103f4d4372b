import { expect, it } from 'vitest';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { DAY, HOUR, ofEntry, queueOf, unresumable } from '../../../support/queue/queue.ts';
import { retain } from '../../../support/retention/harness.ts';
import { sharedHarness, testHarness } from '../../../support/sessions/harness.ts';
import { completed } from '../../../support/teams/team.ts';

const harness = sharedHarness();
const queue = () => queueOf(harness());
const hourly = { every: '0 * * * *', time_zone: 'UTC' };

it('The event of a change has what the entry says only where that is another, for it may be long.', async () => {
  const session = await harness().open();
  const at = harness().clock.now() + DAY;
  const { body: entry } = await queue().add(session, 'x'.repeat(100_000), { at });
  await queue().edit(entry, { name: 'long' });
  const named = await harness().until(ofEntry(entry, 'queue.edited'));
  expect(named.payload.entry).toMatchObject({ name: 'long', input: null });
  await queue().edit(entry, { input: { type: 'text', text: 'short' } });
  const said = await harness().until(
    (event) => ofEntry(entry, 'queue.edited')(event) && event.seq > named.seq,
  );
  expect(said.payload.entry).toMatchObject({ input: [{ type: 'text', text: 'short' }] });
  await queue().drop(entry);
});

it('Two people who change different fields at once both have their way.', async () => {
  const session = await harness().open();
  const { body: entry } = await queue().add(session, 'x', hourly);
  await Promise.all([
    queue().edit(entry, { time_zone: 'Europe/Berlin' }),
    ...Array.from({ length: 10 }, () => queue().edit(entry, { name: 'both' })),
  ]);
  expect((await queue().get(entry)).body).toMatchObject({
    name: 'both',
    time_zone: 'Europe/Berlin',
  });
  await queue().drop(entry);
});

it('Two people who move the same entries at once get one order, and lose none.', async () => {
  const session = await harness().open();
  const at = harness().clock.now() + DAY;
  const added = await Promise.all(
    ['a', 'b', 'c', 'd'].map((text) => queue().add(session, text, { at })),
  );
  const ids = added.map(({ body }) => body.id);
  const places = [{ to: 'first' }, { to: 'last' }, ...ids.map((before) => ({ before }))];
  await Promise.all(ids.flatMap((id) => places.map((place) => queue().move({ id }, place))));
  const { entries } = await queue().of(session);
  expect(entries.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(entries.map(({ position }) => position)).toEqual([1, 2, 3, 4]);
});

it('An entry that comes once takes no rule for runs that overlap.', async () => {
  const session = await harness().open();
  const at = harness().clock.now() + DAY;
  const { body: entry } = await queue().add(session, 'once', { at });
  const refused = await queue().edit(entry, { overlap: 'queue' });
  expect(refused.status).toBe(400);
  expect(refused.body.error).toContain('body.overlap: requires a schedule: add every');
  const both = await queue().edit(entry, { overlap: 'queue', ...hourly });
  expect(both.body).toMatchObject({ overlap: 'queue', every: hourly.every });
  await queue().drop(entry);
});

it('A schedule whose runs take longer than its period lets what waits meanwhile go first.', async () => {
  const session = await harness().open();
  const { body: schedule } = await queue().add(session, 'again', { ...hourly, overlap: 'queue' });
  const { body: other } = await queue().add(session, 'still', {
    at: harness().clock.now() + 9 * DAY,
  });
  harness().clock.advance((schedule.next_at ?? 0) - harness().clock.now());
  const first = await harness().provider.nextTurn();
  const { body: one } = await queue().add(session, 'waits');
  harness().clock.advance(HOUR);
  await harness().until(
    (event) => ofEntry(schedule, 'queue.due')(event) && event.payload.due_at !== schedule.next_at,
  );
  first.end(completed);
  const second = await harness().provider.nextTurn();
  expect(second.text).toBe('waits');
  const moved = await harness().until(
    ({ kind, session_id }) => kind === 'queue.moved' && session_id === session.id,
  );
  expect(moved.payload.entry_ids).toEqual([other.id, one.id, schedule.id]);
  second.end(completed);
  const third = await harness().provider.nextTurn();
  expect(third.text).toBe('again');
  await queue().drop(schedule);
  third.end(completed);
});

it('An entry that is paused while its session has failed stays so when the session is brought back.', async () => {
  const session = await unresumable(harness());
  const { body: one } = await queue().add(session, 'one');
  await harness().until(ofEntry(one, 'queue.held'));
  expect((await queue().pause(one, { reason: 'wait' })).body.hold).toMatchObject({
    code: 'paused',
    message: 'wait',
  });
  expect((await queue().resume(one)).body.code).toBe('session_failed');
  await harness().post(`/v1/sessions/${session.id}/resume`);
  expect((await queue().get(one)).body).toMatchObject({
    status: 'held',
    hold: { code: 'paused' },
  });
  await queue().resume(one);
  const turn = await harness().provider.nextTurn();
  expect(turn.text).toBe('one');
  turn.end(completed);
  await harness().until(ofEntry(one, 'queue.removed'));
});

it('The entries of a closed session are removed with its contents, each with an event.', async () => {
  const own = await testHarness();
  const { session, turn: running } = await own.atWork();
  running.end(completed);
  const { body: entry } = await queueOf(own).add(session, 'daily', {
    every: '@daily',
    time_zone: 'UTC',
  });
  const { body: paused } = await queueOf(own).add(session, 'p', { at: own.clock.now() + DAY });
  await queueOf(own).pause(paused);
  await own.close(session.id);
  retain(own, { max_bytes: 1 });
  await expectEventually(async () => (await own.session(session.id)).trimmed).toBe(true);
  for (const one of [entry, paused]) {
    const gone = await own.until(ofEntry(one, 'queue.removed'));
    expect(gone.payload.why).toBe('trimmed');
  }
  expect(await queueOf(own).list()).toEqual([]);
  const { body } = await own.get<{ queue: object }>('/v1/diagnostics');
  expect(body.queue).toMatchObject({ entries: { scheduled: 0, held: 0 }, next_at: null });
});
