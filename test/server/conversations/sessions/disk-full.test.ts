import { expect, it } from 'vitest';
import { completed } from '../../../support/scripted-provider.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import {
  endOf,
  kinds,
  type Harness,
  testSession,
  testTurn,
} from '../../../support/sessions/harness.ts';

/** A turn of a session whose agent has said something. */
async function talking() {
  const { harness, session, turn, turnId } = await testTurn();
  void turn.sink.update({ type: 'message', text: 'the answer ' });
  await harness.until(({ kind, turn_id }) => kind === 'message.delta' && turn_id === turnId);
  return { harness, session, turn, turnId };
}

/** The disk has room again, and what was refused is tried again. */
async function roomAgain(harness: Harness, disk: FullDisk): Promise<void> {
  await harness.logged('cannot store an outcome');
  disk.full = false;
  harness.clock.advance(1000);
}

it('A turn that ends on a full disk is ended once, with its whole text, when there is room again.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn, turnId } = await talking();
  disk.full = true;
  turn.end(completed);
  await harness.logged('cannot store an outcome');
  expect((await harness.turn(session.id, turnId)).status).toBe('running');
  await roomAgain(harness, disk);
  await harness.until(endOf(turnId));
  expect(await harness.turn(session.id, turnId)).toMatchObject({
    status: 'completed',
    text: 'the answer ',
  });
  expect(kinds(await harness.events(session.id))).toEqual([
    'session.created',
    'turn.accepted',
    'turn.started',
    'message.completed',
    'turn.completed',
  ]);
  expect((await harness.session(session.id)).status).toBe('ready');
});

it('A turn is never completed with only a part of its text.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn, turnId } = await talking();
  // Waits to be joined with more when the turn ends.
  void turn.sink.update({ type: 'message', text: 'is 42' });
  disk.full = true;
  turn.end(completed);
  await roomAgain(harness, disk);
  await harness.until(endOf(turnId));
  const { status, text } = await harness.turn(session.id, turnId);
  expect([status, text]).toEqual(
    status === 'completed' ? ['completed', 'the answer is 42'] : ['failed', 'the answer '],
  );
});

it('A turn whose output cannot be stored fails with storage_full, and its agent is cancelled.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn, turnId } = await failed(disk);
  expect(await harness.turn(session.id, turnId)).toMatchObject({
    status: 'failed',
    error: { code: 'storage_full' },
    text: 'the answer ',
  });
  turn.end(completed);
  expect((await harness.startTurn(session, 'again')).text).toBe('again');
});

/** A turn that has failed because its output could not be stored, while its agent continues. */
async function failed(disk: FullDisk) {
  const { harness, session, turn, turnId } = await talking();
  disk.full = true;
  void turn.sink.update({ type: 'reasoning', text: 'hm' });
  await turn.cancelled;
  await roomAgain(harness, disk);
  await harness.until(endOf(turnId));
  return { harness, session, turn, turnId };
}

it('An agent gets the next prompt only when it has ended the turn that failed on a full disk.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn } = await failed(disk);
  const starting = harness.startTurn(session, 'next');
  await harness.until(
    ({ kind, payload }) => kind === 'turn.accepted' && textOf(payload) === 'next',
  );
  await turn.sink.update({ type: 'message', text: 'late' });
  expect(turn.agent.calls).toEqual(['prompt', 'cancel']);
  turn.end(completed);
  const next = await starting;
  expect(next.agent).toBe(turn.agent);
  await next.sink.update({ type: 'message', text: 'in time' });
  const { turn_id } = await harness.complete(next);
  expect((await harness.turn(session.id, turn_id ?? '')).text).toBe('in time');
});

it('An agent that does not end such a turn within ten seconds is killed, and another one gets the next prompt.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn } = await failed(disk);
  const starting = harness.startTurn(session, 'next');
  await harness.until(
    ({ kind, payload }) => kind === 'turn.accepted' && textOf(payload) === 'next',
  );
  harness.clock.advance(10_000);
  expect((await starting).agent).not.toBe(turn.agent);
  expect(turn.agent.calls).toEqual(['prompt', 'cancel', 'end']);
});

function textOf(payload: Record<string, unknown>): string | undefined {
  return (payload.turn as { input?: { text?: string }[] }).input?.[0]?.text;
}

it('An approval cannot be decided on a full disk: it stays pending, and can be decided later.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn, turnId } = await talking();
  const answer = turn.ask();
  const approval = await harness.asked(session.id);
  disk.full = true;
  const { status, body } = await harness.decide(approval, 'accept');
  expect([status, body.code]).toEqual([500, 'storage_full']);
  disk.full = false;
  expect(await harness.approvals()).toEqual([approval]);
  expect((await harness.session(session.id)).status).toBe('waiting_for_approval');
  expect((await harness.decide(approval, 'accept')).status).toBe(200);
  expect((await answer).decision).toBe('accept');
  turn.end(completed);
  expect((await harness.until(endOf(turnId))).kind).toBe('turn.completed');
});

it('An approval cannot be requested on a full disk: the agent gets an error, and nothing waits.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn } = await talking();
  disk.full = true;
  await expect(turn.ask()).rejects.toMatchObject({ code: 'storage_full' });
  disk.full = false;
  expect(await harness.approvals()).toEqual([]);
  expect((await harness.session(session.id)).status).toBe('running');
});

it('An interrupt is refused on a full disk, and the turn continues.', async () => {
  using disk = new FullDisk();
  const { harness, session, turn, turnId } = await talking();
  disk.full = true;
  const { status, body } = await harness.interrupt(session.id, turnId);
  expect([status, body.code]).toEqual([500, 'storage_full']);
  disk.full = false;
  expect(turn.agent.calls).toEqual(['prompt']);
  turn.end(completed);
  expect((await harness.until(endOf(turnId))).kind).toBe('turn.completed');
});

it('A server on a full disk refuses new work, answers reads, and recovers by itself.', async () => {
  using disk = new FullDisk();
  const { harness, session } = await testSession();
  disk.full = true;
  const refused = [
    await harness.send(session, 'go'),
    await harness.post('/v1/sessions', { provider: 'acp' }),
    await harness.close(session.id),
  ];
  expect(refused.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
    Array(3).fill('500 storage_full'),
  );
  expect(await harness.session(session.id)).toEqual(session);
  disk.full = false;
  expect((await harness.startTurn(session, 'now')).text).toBe('now');
});
