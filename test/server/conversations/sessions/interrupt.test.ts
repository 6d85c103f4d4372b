import { expect, it } from 'vitest';
import { completed } from '../../../support/scripted-provider.ts';
import { CountingIds, inOneGroup } from '../../../support/sessions/one-group.ts';
import { endOf, kinds, testHarness, testTurn } from '../../../support/sessions/harness.ts';

const oneAgent = { config: { providers: { max_live: 1 } } };

it('An interrupt is answered with 202 and the turn once it is stored, and then reaches the agent.', async () => {
  const { harness, session, turn, turnId } = await testTurn();
  const { status, body } = await harness.interrupt(session.id, turnId);
  expect(status).toBe(202);
  expect(body).toMatchObject({ turn_id: turnId, status: 'running' });
  expect(body.interrupt_requested_at).toBe(harness.clock.now());
  expect(kinds(await harness.events(session.id)).at(-1)).toBe('turn.interrupt_requested');
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  await harness.until(endOf(turnId));
  expect(await harness.turn(session.id, turnId)).toMatchObject({
    status: 'interrupted',
    error: null,
  });
  expect((await harness.session(session.id)).status).toBe('ready');
});

it('A second interrupt is 202 while the turn ends, and is stored once.', async () => {
  const { harness, session, turn, turnId } = await testTurn();
  const first = await harness.interrupt(session.id, turnId);
  harness.clock.advance(5);
  const again = await harness.interrupt(session.id, turnId);
  expect([again.status, again.body]).toEqual([202, first.body]);
  turn.end({ status: 'interrupted', error: null });
  await harness.until(endOf(turnId));
  expect(
    kinds(await harness.events(session.id)).filter((kind) => kind.startsWith('turn.')),
  ).toEqual(['turn.accepted', 'turn.started', 'turn.interrupt_requested', 'turn.interrupted']);
});

it('An interrupt of a turn that has ended answers 409 turn_not_active, and changes nothing.', async () => {
  const { harness, session, turn, turnId } = await testTurn();
  await harness.complete(turn);
  const before = await harness.events();
  const { status, body } = await harness.interrupt(session.id, turnId);
  expect([status, body.code]).toEqual([409, 'turn_not_active']);
  expect(await harness.events()).toEqual(before);
  expect((await harness.turn(session.id, turnId)).status).toBe('completed');
});

it('An interrupt of an unknown turn, or a turn of another session, answers 404.', async () => {
  const { harness, session, turnId } = await testTurn();
  const other = await harness.open();
  const replies = await Promise.all([
    harness.interrupt(session.id, 'turn_nobody'),
    harness.interrupt(other.id, turnId),
    harness.interrupt('sess_nobody', turnId),
  ]);
  expect(replies.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
    Array(3).fill('404 not_found'),
  );
  expect((await harness.turn(session.id, turnId)).interrupt_requested_at).toBeNull();
});

it('A turn that waits for an agent ends at once, and no agent sees it.', async () => {
  const { harness, turn } = await testTurn(oneAgent);
  const waiting = await harness.open();
  const { body: sent } = await harness.send(waiting, 'later');
  expect((await harness.turn(waiting.id, sent.turn_id)).status).toBe('accepted');
  const { status, body } = await harness.interrupt(waiting.id, sent.turn_id);
  expect([status, body.status]).toEqual([202, 'interrupted']);
  expect((await harness.session(waiting.id)).status).toBe('ready');
  expect(kinds(await harness.events(waiting.id))).toEqual([
    'session.created',
    'turn.accepted',
    'turn.interrupt_requested',
    'turn.interrupted',
  ]);
  turn.end(completed);
  const next = await harness.startTurn(waiting, 'now');
  expect(next.text).toBe('now');
});

it('A turn whose agent is just starting ends at once, and so does the agent.', async () => {
  let starts = 0;
  const harness = await testHarness({
    agents: {
      opening: () => (++starts === 1 ? new Promise(() => undefined) : Promise.resolve()),
    },
  });
  const session = await harness.open();
  const { body: sent } = await harness.send(session, 'never mind');
  expect((await harness.interrupt(session.id, sent.turn_id)).body.status).toBe('interrupted');
  const next = await harness.startTurn(session, 'the next');
  expect(next.text).toBe('the next');
  expect(next.agent.calls).toEqual(['prompt']);
  expect(harness.provider.live).toEqual({ now: 1, most: 1 });
});

it('An interrupt reaches the agent even if it is stored together with the start of the turn.', async () => {
  const ids = new CountingIds();
  const start = Promise.withResolvers<void>();
  const harness = await testHarness({ ids, agents: { opening: () => start.promise } });
  const session = await harness.open();
  const { body: sent } = await harness.send(session, 'go');
  const { interrupted } = await inOneGroup(harness, async () => {
    const started = ids.more(1);
    start.resolve();
    await started;
    const asked = ids.more(1);
    const reply = harness.interrupt(session.id, sent.turn_id);
    await asked;
    return { interrupted: reply };
  });
  expect((await interrupted).status).toBe(202);
  const how = await Promise.race([
    harness.provider.nextTurn().then(({ agent }) => agent.calls.at(-1)),
    harness.until(endOf(sent.turn_id)).then(({ kind }) => kind),
  ]);
  // Either the agent never receives the turn, or it receives the turn and then a cancel.
  expect(['turn.interrupted', 'cancel']).toContain(how);
});

it.each([
  ['completes', completed],
  ['fails', { status: 'failed' as const, error: { code: 'provider_error', message: 'oh' } }],
])(
  'An interrupted turn is interrupted even if its agent reports that it %s.',
  async (_how, outcome) => {
    const { harness, session, turn, turnId } = await testTurn();
    void turn.sink.update({ type: 'message', text: 'almost done' });
    await harness.interrupt(session.id, turnId);
    turn.end(outcome);
    await harness.until(endOf(turnId));
    expect(await harness.turn(session.id, turnId)).toMatchObject({
      status: 'interrupted',
      error: null,
      text: 'almost done',
    });
    const events = await harness.events(session.id);
    expect(kinds(events)).not.toContain(`turn.${outcome.status}`);
  },
);

it('A turn keeps its end if that was stored before the interrupt.', async () => {
  const { harness, session, turn, turnId } = await testTurn();
  turn.end(completed);
  const ended = harness.until(endOf(turnId));
  const { status } = await harness.interrupt(session.id, turnId);
  expect((await ended).kind).toBe(status === 409 ? 'turn.completed' : 'turn.interrupted');
  expect((await harness.interrupt(session.id, turnId)).body.code).toBe('turn_not_active');
});

it('An interrupted turn ends after 10 s in any case: its agent is killed, and the session stays open.', async () => {
  const { harness, session, turn, turnId } = await testTurn();
  await harness.interrupt(session.id, turnId);
  harness.clock.advance(9_999);
  expect((await harness.turn(session.id, turnId)).status).toBe('running');
  harness.clock.advance(1);
  await harness.until(endOf(turnId));
  expect(await turn.agent.endRequested).toBe(0);
  expect(await harness.turn(session.id, turnId)).toMatchObject({
    status: 'interrupted',
    error: null,
  });
  const next = await harness.startTurn(session, 'still there?');
  expect(next.agent).not.toBe(turn.agent);
  expect(next.agent.session.provider_session_ref).toBe(`ref-${session.id}`);
});

it('The 10 s count from the first interrupt.', async () => {
  const { harness, session, turnId } = await testTurn();
  await harness.interrupt(session.id, turnId);
  harness.clock.advance(9_000);
  await harness.interrupt(session.id, turnId);
  harness.clock.advance(1_000);
  expect((await harness.until(endOf(turnId))).kind).toBe('turn.interrupted');
});
