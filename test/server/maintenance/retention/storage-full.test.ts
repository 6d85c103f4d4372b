import { expect, test } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import { openStream } from '../../../support/http/stream.ts';
import { endOf, type Stage, testStage, testSession } from '../../../support/sessions/harness.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { limit, passTime, retain } from '../../../support/retention/harness.ts';

const MIB = 1024 * 1024;
const PIECE = 'x'.repeat(10_000);

/** A session at a turn that has said so much that nothing else fits into 2 MiB. */
async function atLongTurn(stage: Stage) {
  const work = await stage.atWork();
  for (let i = 0; i < 250; i++) {
    const entry = { content: `${i} ${PIECE}`, status: 'pending', priority: null };
    await work.turn.sink.update({ type: 'plan', entries: [entry] });
  }
  return work;
}

const tryOpen = ({ post }: Stage) => post<Session>('/v1/sessions', { provider: 'acp' });

/** Lets retention find that nothing more can go. */
async function untilFull(stage: Stage): Promise<void> {
  retain(stage, { max_bytes: 2 * MIB });
  await expectEventually(async () => (await tryOpen(stage)).status).toBe(500);
}

/** Opens a stage with such a session, on which nothing more fits. */
async function atFullTurn() {
  const work = await atLongTurn(await testStage());
  await untilFull(work.stage);
  return work;
}

test('New sessions and turns are refused with storage_full and what to do.', async () => {
  const { stage, session: idle } = await testSession();
  await atLongTurn(stage);
  await untilFull(stage);
  const refused = [await tryOpen(stage), await stage.send(idle, 'go')];
  for (const { status, body } of refused) {
    expect(status).toBe(500);
    expect(body).toEqual({
      error: `the data exceeds retention.max_bytes (${2 * MIB}), and nothing can be deleted: close sessions, or raise the limit`,
      code: 'storage_full',
    });
  }
  expect((await stage.session(idle.id)).last_turn_id).toBe(null);
});

test('All data can be read and streamed.', async () => {
  const { stage, session, turnId } = await atFullTurn();
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
  for (const path of paths) expect((await stage.get(path)).status).toBe(200);
  const stream = await openStream(stage.given, { path: `${own}/events/stream` });
  await stream.until(({ events }) => events().length > 250);
  stream.close();
});

test('A running turn continues to its end, with its whole output.', async () => {
  const { stage, session, turn, turnId } = await atFullTurn();
  await turn.sink.update({ type: 'message', text: 'nearly done' });
  await stage.complete(turn);
  expect(await stage.turn(session.id, turnId)).toMatchObject({
    status: 'completed',
    text: 'nearly done',
  });
});

test('Approvals can be decided.', async () => {
  const stage = await testStage();
  const { session, turn } = await atLongTurn(stage);
  const answer = turn.ask();
  await untilFull(stage);
  const approval = await stage.asked(session.id);
  expect((await stage.decide(approval, 'accept')).status).toBe(200);
  expect(await answer).toMatchObject({ decision: 'accept' });
});

test('A turn can be interrupted.', async () => {
  const { stage, session, turn, turnId } = await atFullTurn();
  expect((await stage.interrupt(session.id, turnId)).status).toBe(202);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  expect((await stage.until(endOf(turnId))).kind).toBe('turn.interrupted');
});

test('Closing a session makes room: the next pass permits new work again.', async () => {
  const { stage, session } = await atFullTurn();
  expect((await stage.close(session.id)).status).toBe(200);
  passTime(stage);
  await expectEventually(async () => (await tryOpen(stage)).status).toBe(200);
  await stage.play(await stage.open());
});

test('The end of a turn makes room, because its events may be removed then.', async () => {
  const { stage, turn } = await atFullTurn();
  await stage.complete(turn);
  passTime(stage);
  await expectEventually(async () => (await tryOpen(stage)).status).toBe(200);
});

test('A higher limit makes room at once, and so does the removal of the limit.', async () => {
  const stage = await testStage();
  await atLongTurn(stage);
  for (const max_bytes of [100 * MIB, 0]) {
    await untilFull(stage);
    limit(stage, { max_bytes });
    expect((await tryOpen(stage)).status).toBe(200);
  }
});

const huge = { retention: { min_free_bytes: Number.MAX_SAFE_INTEGER } };

test('New sessions and turns are refused with storage_full, the limit and the directory.', async () => {
  const { stage, session: idle } = await testSession();
  limit(stage, huge.retention);
  for (const { status, body } of [await tryOpen(stage), await stage.send(idle, 'go')]) {
    expect(status).toBe(500);
    expect(body).toEqual({
      error: `less than retention.min_free_bytes (${Number.MAX_SAFE_INTEGER}) is free on the disk of ${stage.directory}: free some space`,
      code: 'storage_full',
    });
  }
});

test('The server starts, answers reads, and reports why it refuses new work.', async () => {
  const stage = await testStage({ config: huge });
  expect((await tryOpen(stage)).status).toBe(500);
  for (const path of ['/v1/sessions', '/v1/events', '/v1/health'])
    expect((await stage.get(path)).status).toBe(200);
});

test('Running work continues: approvals, interrupts, ends and closing.', async () => {
  const stage = await testStage();
  const [first, second] = [await stage.open(), await stage.open()];
  const turn = await stage.play(first);
  const { active_turn_id: turnId } = await stage.session(first.id);
  const answer = turn.ask();
  const approval = await stage.asked(first.id);
  limit(stage, huge.retention);
  expect((await stage.decide(approval, 'accept')).status).toBe(200);
  expect(await answer).toMatchObject({ decision: 'accept' });
  expect((await stage.interrupt(first.id, turnId ?? '')).status).toBe(202);
  await turn.cancelled;
  await stage.complete(turn);
  for (const { id } of [first, second]) expect((await stage.close(id)).status).toBe(200);
});

test('No data is removed.', async () => {
  const stage = await testStage();
  const { id } = await stage.open();
  await stage.close(id);
  const before = await stage.events();
  retain(stage, huge.retention);
  expect((await tryOpen(stage)).status).toBe(500);
  expect(await stage.events()).toEqual(before);
  expect((await stage.session(id)).trimmed).toBe(false);
});

test('New work is accepted again as soon as there is enough space.', async () => {
  const stage = await testStage({ config: huge });
  expect((await tryOpen(stage)).status).toBe(500);
  limit(stage, { min_free_bytes: 0 });
  await stage.play(await stage.open());
});
