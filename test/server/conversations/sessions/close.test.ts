import { expect, it } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import type { FailpointName } from '../../../../src/core/lib/failpoint.ts';
import { systemIds } from '../../../../src/core/lib/ids.ts';
import { completed } from '../../../support/scripted-provider.ts';
import {
  kinds,
  sharedHarness,
  type Harness,
  testHarness,
  testSession,
} from '../../../support/sessions/harness.ts';

const on = sharedHarness();

async function waiting(harness: Harness, approvals = 1) {
  const { session, turn, turnId } = await harness.atWork();
  const answers = Array.from({ length: approvals }, (_, at) => turn.ask({ title: `ask ${at}` }));
  await harness.asked(session.id, approvals);
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
  const harness = await testHarness({ failpoint, ids });
  const { session, turn, turnId, answers } = await waiting(harness, 2);
  void turn.sink.update({ type: 'message', text: 'one moment' });
  await harness.until(({ kind }) => kind === 'message.delta');
  const { status, body } = await harness.close(session.id, 'enough');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    id: session.id,
    status: 'closed',
    close_reason: 'enough',
    active_turn_id: null,
    last_turn_id: turnId,
    closed_at: harness.clock.now(),
  });
  const closing = (await harness.events(session.id)).slice(-5);
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
  expect((await harness.turn(session.id, turnId)).status).toBe('interrupted');
});

it('Closing a session is answered first, and ends the agent afterwards.', async () => {
  const left = Promise.withResolvers<void>();
  const harness = await testHarness({ agents: { ending: () => left.promise } });
  const { session, turn } = await waiting(harness);
  // Its agent takes as long as it likes.
  expect((await harness.close(session.id)).status).toBe(200);
  expect(await turn.agent.endRequested).toBeGreaterThan(0);
  left.resolve();
  await turn.agent.gone;
});

it('Closing a session ends an idle agent.', async () => {
  const { harness, session, turn } = await on().atWork();
  await harness.complete(turn);
  await harness.close(session.id);
  expect(await turn.agent.gone).toBe('was ended');
  expect(kinds(await harness.events(session.id)).at(-1)).toBe('session.closed');
});

it('Closing a session ends an agent that is just starting.', async () => {
  const harness = await testHarness({ agents: { opening: () => new Promise(() => undefined) } });
  const session = await harness.open();
  const { body: sent } = await harness.send(session, 'go');
  expect(harness.provider.live.now).toBe(1);
  await harness.close(session.id);
  expect((await harness.turn(session.id, sent.turn_id)).status).toBe('interrupted');
  expect(harness.provider.live.now).toBe(0);
});

it('Closing a session again changes nothing and returns the same, whatever the reason.', async () => {
  const { harness, session } = await testSession();
  const first = await harness.close(session.id, 'enough');
  const before = await harness.events();
  harness.clock.advance(1000);
  const again = await harness.close(session.id, 'another reason');
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect(await harness.events()).toEqual(before);
});

it('A session can be closed without a reason.', async () => {
  const harness = on();
  const session = await harness.open();
  expect((await harness.close(session.id)).body.close_reason).toBeNull();
});

it('A closed session ignores later output of its agent.', async () => {
  const harness = await testHarness();
  const { session, turn, turnId } = await waiting(harness);
  await harness.close(session.id);
  const before = await harness.events();
  turn.end(completed);
  expect(await turn.ask()).toEqual({ decision: 'cancelled' });
  expect((await harness.turn(session.id, turnId)).status).toBe('interrupted');
  expect(await harness.events()).toEqual(before);
});

it('The turn of a closed session cannot be interrupted: 409 turn_not_active.', async () => {
  const harness = on();
  const { session, turnId } = await waiting(harness);
  await harness.close(session.id);
  expect((await harness.interrupt(session.id, turnId)).body.code).toBe('turn_not_active');
});
