import { expect, it } from 'vitest';
import { completed } from '../../../support/scripted-provider.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import {
  endOf,
  kinds,
  type Stage,
  testSession,
  testTurn,
} from '../../../support/sessions/harness.ts';

/** A turn of a session whose agent has said something. */
async function talking() {
  const { stage, session, turn, turnId } = await testTurn();
  void turn.sink.update({ type: 'message', text: 'the answer ' });
  await stage.until(({ kind, turn_id }) => kind === 'message.delta' && turn_id === turnId);
  return { stage, session, turn, turnId };
}

/** The disk has room again, and what was refused is tried again. */
async function roomAgain(stage: Stage, disk: FullDisk): Promise<void> {
  await stage.logged('cannot store an outcome');
  disk.full = false;
  stage.clock.advance(1000);
}

it('A turn that ends on a full disk is ended once, with its whole text, when there is room again.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn, turnId } = await talking();
  disk.full = true;
  turn.end(completed);
  await stage.logged('cannot store an outcome');
  expect((await stage.turn(session.id, turnId)).status).toBe('running');
  await roomAgain(stage, disk);
  await stage.until(endOf(turnId));
  expect(await stage.turn(session.id, turnId)).toMatchObject({
    status: 'completed',
    text: 'the answer ',
  });
  expect(kinds(await stage.events(session.id))).toEqual([
    'session.created',
    'turn.accepted',
    'turn.started',
    'message.completed',
    'turn.completed',
  ]);
  expect((await stage.session(session.id)).status).toBe('ready');
});

it('A turn is never completed with only a part of its text.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn, turnId } = await talking();
  // Waits to be joined with more when the turn ends.
  void turn.sink.update({ type: 'message', text: 'is 42' });
  disk.full = true;
  turn.end(completed);
  await roomAgain(stage, disk);
  await stage.until(endOf(turnId));
  const { status, text } = await stage.turn(session.id, turnId);
  expect([status, text]).toEqual(
    status === 'completed' ? ['completed', 'the answer is 42'] : ['failed', 'the answer '],
  );
});

it('A turn whose output cannot be stored fails with storage_full, and its agent is cancelled.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn, turnId } = await failed(disk);
  expect(await stage.turn(session.id, turnId)).toMatchObject({
    status: 'failed',
    error: { code: 'storage_full' },
    text: 'the answer ',
  });
  turn.end(completed);
  expect((await stage.play(session, 'again')).text).toBe('again');
});

/** A turn that has failed because its output could not be stored, while its agent continues. */
async function failed(disk: FullDisk) {
  const { stage, session, turn, turnId } = await talking();
  disk.full = true;
  void turn.sink.update({ type: 'reasoning', text: 'hm' });
  await turn.cancelled;
  await roomAgain(stage, disk);
  await stage.until(endOf(turnId));
  return { stage, session, turn, turnId };
}

it('An agent gets the next prompt only when it has ended the turn that failed on a full disk.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn } = await failed(disk);
  const playing = stage.play(session, 'next');
  await stage.until(({ kind, payload }) => kind === 'turn.accepted' && textOf(payload) === 'next');
  await turn.sink.update({ type: 'message', text: 'late' });
  expect(turn.agent.calls).toEqual(['prompt', 'cancel']);
  turn.end(completed);
  const next = await playing;
  expect(next.agent).toBe(turn.agent);
  await next.sink.update({ type: 'message', text: 'in time' });
  const { turn_id } = await stage.complete(next);
  expect((await stage.turn(session.id, turn_id ?? '')).text).toBe('in time');
});

it('An agent that does not end such a turn within ten seconds is killed, and another one gets the next prompt.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn } = await failed(disk);
  const playing = stage.play(session, 'next');
  await stage.until(({ kind, payload }) => kind === 'turn.accepted' && textOf(payload) === 'next');
  stage.clock.advance(10_000);
  expect((await playing).agent).not.toBe(turn.agent);
  expect(turn.agent.calls).toEqual(['prompt', 'cancel', 'end']);
});

function textOf(payload: Record<string, unknown>): string | undefined {
  return (payload.turn as { input?: { text?: string }[] }).input?.[0]?.text;
}

it('An approval cannot be decided on a full disk: it stays pending, and can be decided later.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn, turnId } = await talking();
  const answer = turn.ask();
  const approval = await stage.asked(session.id);
  disk.full = true;
  const { status, body } = await stage.decide(approval, 'accept');
  expect([status, body.code]).toEqual([500, 'storage_full']);
  disk.full = false;
  expect(await stage.approvals()).toEqual([approval]);
  expect((await stage.session(session.id)).status).toBe('waiting_for_approval');
  expect((await stage.decide(approval, 'accept')).status).toBe(200);
  expect((await answer).decision).toBe('accept');
  turn.end(completed);
  expect((await stage.until(endOf(turnId))).kind).toBe('turn.completed');
});

it('An approval cannot be requested on a full disk: the agent gets an error, and nothing waits.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn } = await talking();
  disk.full = true;
  await expect(turn.ask()).rejects.toMatchObject({ code: 'storage_full' });
  disk.full = false;
  expect(await stage.approvals()).toEqual([]);
  expect((await stage.session(session.id)).status).toBe('running');
});

it('An interrupt is refused on a full disk, and the turn continues.', async () => {
  using disk = new FullDisk();
  const { stage, session, turn, turnId } = await talking();
  disk.full = true;
  const { status, body } = await stage.interrupt(session.id, turnId);
  expect([status, body.code]).toEqual([500, 'storage_full']);
  disk.full = false;
  expect(turn.agent.calls).toEqual(['prompt']);
  turn.end(completed);
  expect((await stage.until(endOf(turnId))).kind).toBe('turn.completed');
});

it('A server on a full disk refuses new work, answers reads, and recovers by itself.', async () => {
  using disk = new FullDisk();
  const { stage, session } = await testSession();
  disk.full = true;
  const refused = [
    await stage.send(session, 'go'),
    await stage.post('/v1/sessions', { provider: 'acp' }),
    await stage.close(session.id),
  ];
  expect(refused.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
    Array(3).fill('500 storage_full'),
  );
  expect(await stage.session(session.id)).toEqual(session);
  disk.full = false;
  expect((await stage.play(session, 'now')).text).toBe('now');
});
