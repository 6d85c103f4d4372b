import { expect, it } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import type { FailpointName } from '../../../../src/core/lib/failpoint.ts';
import { systemIds } from '../../../../src/core/lib/ids.ts';
import { completed } from '../../../support/scripted-provider.ts';
import {
  kinds,
  sharedStage,
  type Stage,
  testStage,
  testSession,
} from '../../../support/sessions/harness.ts';

const on = sharedStage();

async function waiting(stage: Stage, approvals = 1) {
  const { session, turn, turnId } = await stage.atWork();
  const answers = Array.from({ length: approvals }, (_, at) => turn.ask({ title: `ask ${at}` }));
  await stage.asked(session.id, approvals);
  return { session, turn, turnId, answers };
}

it('Closing a session cancels its approvals, interrupts its turn and closes it in one transaction.', async () => {
  // One group for each transaction, with the ids that the transaction has made.
  const groups: string[][] = [[]];
  const failpoint = (name: FailpointName) => void (name === 'commit.before' && groups.push([]));
  const ids = {
    next(prefix: Parameters<typeof systemIds.next>[0]) {
      const id = systemIds.next(prefix);
      groups.at(-1)?.push(id);
      return id;
    },
  };
  const stage = await testStage({ failpoint, ids });
  const { session, turn, turnId, answers } = await waiting(stage, 2);
  void turn.sink.update({ type: 'message', text: 'one moment' });
  await stage.until(({ kind }) => kind === 'message.delta');
  const { status, body } = await stage.close(session.id, 'enough');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    id: session.id,
    status: 'closed',
    close_reason: 'enough',
    active_turn_id: null,
    last_turn_id: turnId,
    closed_at: stage.clock.now(),
  });
  const closing = (await stage.events(session.id)).slice(-5);
  expect(kinds(closing)).toEqual([
    'approval.resolved',
    'approval.resolved',
    'message.completed',
    'turn.interrupted',
    'session.closed',
  ]);
  const group = groups.find((made) => made.includes(closing[0]?.id ?? ''));
  expect(closing.map(({ id }) => group?.includes(id))).toEqual(Array(5).fill(true));
  expect(closing.slice(0, 2).map(({ payload }) => payload.approval as Approval)).toMatchObject([
    { status: 'cancelled' },
    { status: 'cancelled' },
  ]);
  expect(closing[2]?.payload).toMatchObject({ status: 'interrupted', text: 'one moment' });
  expect(closing[4]?.payload.session).toMatchObject({
    status: 'closed',
    close_reason: 'enough',
  });
  expect((await Promise.all(answers)).map(({ decision }) => decision)).toEqual([
    'cancelled',
    'cancelled',
  ]);
  expect((await stage.turn(session.id, turnId)).status).toBe('interrupted');
});

it('Closing a session is answered first, and ends the agent afterwards.', async () => {
  const left = Promise.withResolvers<void>();
  const stage = await testStage({ played: { ending: () => left.promise } });
  const { session, turn } = await waiting(stage);
  // Its agent takes as long as it likes.
  expect((await stage.close(session.id)).status).toBe(200);
  expect(await turn.agent.toldToEnd).toBeGreaterThan(0);
  left.resolve();
  await turn.agent.gone;
});

it('Closing a session ends an idle agent.', async () => {
  const { stage, session, turn } = await on().atWork();
  await stage.complete(turn);
  await stage.close(session.id);
  expect(await turn.agent.gone).toBe('was ended');
  expect(kinds(await stage.events(session.id)).at(-1)).toBe('session.closed');
});

it('Closing a session ends an agent that is just starting.', async () => {
  const stage = await testStage({ played: { opening: () => new Promise(() => undefined) } });
  const session = await stage.open();
  const { body: sent } = await stage.send(session, 'go');
  expect(stage.provider.live.now).toBe(1);
  await stage.close(session.id);
  expect((await stage.turn(session.id, sent.turn_id)).status).toBe('interrupted');
  expect(stage.provider.live.now).toBe(0);
});

it('Closing a session again changes nothing and returns the same, whatever the reason.', async () => {
  const { stage, session } = await testSession();
  const first = await stage.close(session.id, 'enough');
  const before = await stage.events();
  stage.clock.advance(1000);
  const again = await stage.close(session.id, 'another reason');
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect(await stage.events()).toEqual(before);
});

it('A session can be closed without a reason.', async () => {
  const stage = on();
  const session = await stage.open();
  expect((await stage.close(session.id)).body.close_reason).toBeNull();
});

it('A closed session ignores later output of its agent.', async () => {
  const stage = await testStage();
  const { session, turn, turnId } = await waiting(stage);
  await stage.close(session.id);
  const before = await stage.events();
  turn.end(completed);
  expect(await turn.ask()).toEqual({ decision: 'cancelled' });
  expect((await stage.turn(session.id, turnId)).status).toBe('interrupted');
  expect(await stage.events()).toEqual(before);
});

it('The turn of a closed session cannot be interrupted: 409 turn_not_active.', async () => {
  const stage = on();
  const { session, turnId } = await waiting(stage);
  await stage.close(session.id);
  expect((await stage.interrupt(session.id, turnId)).body.code).toBe('turn_not_active');
});
