import { expect, test } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import { openStream } from '../../../support/http/stream.ts';
import {
  endOf,
  type Harness,
  testHarness,
  testSession,
} from '../../../support/sessions/harness.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { limit, passTime, retain } from '../../../support/retention/harness.ts';

const MIB = 1024 * 1024;
const PIECE = 'x'.repeat(10_000);

/** A session at a turn that has said so much that nothing else fits into 2 MiB. */
async function atLongTurn(harness: Harness) {
  const work = await harness.atWork();
  for (let i = 0; i < 250; i++) {
    const entry = { content: `${i} ${PIECE}`, status: 'pending', priority: null };
    await work.turn.sink.update({ type: 'plan', entries: [entry] });
  }
  return work;
}

const tryOpen = ({ post }: Harness) => post<Session>('/v1/sessions', { provider: 'acp' });

/** Lets retention find that nothing more can go. */
async function untilFull(harness: Harness): Promise<void> {
  retain(harness, { max_bytes: 2 * MIB });
  await expectEventually(async () => (await tryOpen(harness)).status).toBe(500);
}

/** Opens a harness with such a session, on which nothing more fits. */
async function atFullTurn() {
  const work = await atLongTurn(await testHarness());
  await untilFull(work.harness);
  return work;
}

test('New sessions and turns are refused with storage_full and what to do.', async () => {
  const { harness, session: idle } = await testSession();
  await atLongTurn(harness);
  await untilFull(harness);
  const refused = [await tryOpen(harness), await harness.send(idle, 'go')];
  for (const { status, body } of refused) {
    expect(status).toBe(500);
    expect(body).toEqual({
      error: `the data exceeds retention.max_bytes (${2 * MIB}), and nothing can be deleted: close sessions, or raise the limit`,
      code: 'storage_full',
    });
  }
  expect((await harness.session(idle.id)).last_turn_id).toBe(null);
});

test('All data can be read and streamed.', async () => {
  const { harness, session, turnId } = await atFullTurn();
  const own = `/v1/sessions/${session.id}`;
  const paths = [
    '/v1/sessions',
    own,
    `${own}/turns`,
    `${own}/turns/${turnId}`,
    `${own}/turns/${turnId}/items`,
    `${own}/events`,
    '/v1/events',
    '/v1/approvals',
    '/v1/diagnostics',
    '/v1/health',
  ];
  for (const path of paths) expect((await harness.get(path)).status).toBe(200);
  const stream = await openStream(harness.given, { path: `${own}/events/stream` });
  await stream.until(({ events }) => events().length > 250);
  stream.close();
});

test('A running turn continues to its end, with its whole output.', async () => {
  const { harness, session, turn, turnId } = await atFullTurn();
  await turn.sink.update({ type: 'message', text: 'nearly done' });
  await harness.complete(turn);
  expect(await harness.turn(session.id, turnId)).toMatchObject({
    status: 'completed',
    text: 'nearly done',
  });
});

test('Approvals can be decided.', async () => {
  const harness = await testHarness();
  const { session, turn } = await atLongTurn(harness);
  const answer = turn.ask();
  await untilFull(harness);
  const approval = await harness.asked(session.id);
  expect((await harness.decide(approval, 'accept')).status).toBe(200);
  expect(await answer).toMatchObject({ decision: 'accept' });
});

test('A turn can be interrupted.', async () => {
  const { harness, session, turn, turnId } = await atFullTurn();
  expect((await harness.interrupt(session.id, turnId)).status).toBe(202);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  expect((await harness.until(endOf(turnId))).kind).toBe('turn.interrupted');
});

test('Closing a session makes room: the next pass permits new work again.', async () => {
  const { harness, session } = await atFullTurn();
  expect((await harness.close(session.id)).status).toBe(200);
  passTime(harness);
  await expectEventually(async () => (await tryOpen(harness)).status).toBe(200);
  await harness.startTurn(await harness.open());
});

test('The end of a turn makes room, because its events may be removed then.', async () => {
  const { harness, turn } = await atFullTurn();
  await harness.complete(turn);
  passTime(harness);
  await expectEventually(async () => (await tryOpen(harness)).status).toBe(200);
});

test('A higher limit makes room at once, and so does the removal of the limit.', async () => {
  const harness = await testHarness();
  await atLongTurn(harness);
  for (const max_bytes of [100 * MIB, 0]) {
    await untilFull(harness);
    limit(harness, { max_bytes });
    expect((await tryOpen(harness)).status).toBe(200);
  }
});

const huge = { retention: { min_free_bytes: Number.MAX_SAFE_INTEGER } };

test('New sessions and turns are refused with storage_full, the limit and the directory.', async () => {
  const { harness, session: idle } = await testSession();
  limit(harness, huge.retention);
  for (const { status, body } of [await tryOpen(harness), await harness.send(idle, 'go')]) {
    expect(status).toBe(500);
    expect(body).toEqual({
      error: `less than retention.min_free_bytes (${Number.MAX_SAFE_INTEGER}) is free on the disk of ${harness.directory}: free some space`,
      code: 'storage_full',
    });
  }
});

test('The server starts, answers reads, and reports why it refuses new work.', async () => {
  const harness = await testHarness({ config: huge });
  expect((await tryOpen(harness)).status).toBe(500);
  for (const path of ['/v1/sessions', '/v1/events', '/v1/health'])
    expect((await harness.get(path)).status).toBe(200);
});

test('Running work continues: approvals, interrupts, ends and closing.', async () => {
  const harness = await testHarness();
  const [first, second] = [await harness.open(), await harness.open()];
  const turn = await harness.startTurn(first);
  const { active_turn_id: turnId } = await harness.session(first.id);
  const answer = turn.ask();
  const approval = await harness.asked(first.id);
  limit(harness, huge.retention);
  expect((await harness.decide(approval, 'accept')).status).toBe(200);
  expect(await answer).toMatchObject({ decision: 'accept' });
  expect((await harness.interrupt(first.id, turnId ?? '')).status).toBe(202);
  await turn.cancelled;
  await harness.complete(turn);
  for (const { id } of [first, second]) expect((await harness.close(id)).status).toBe(200);
});

test('No data is removed.', async () => {
  const harness = await testHarness();
  const { id } = await harness.open();
  await harness.close(id);
  const before = await harness.events();
  retain(harness, huge.retention);
  expect((await tryOpen(harness)).status).toBe(500);
  expect(await harness.events()).toEqual(before);
  expect((await harness.session(id)).trimmed).toBe(false);
});

test('New work is accepted again as soon as there is enough space.', async () => {
  const harness = await testHarness({ config: huge });
  expect((await tryOpen(harness)).status).toBe(500);
  limit(harness, { min_free_bytes: 0 });
  await harness.startTurn(await harness.open());
});
