import { expect, it } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import { ProviderError, type TurnSettings } from '../../../../src/agents/provider.ts';
import {
  endOf,
  kinds,
  sharedHarness,
  type Harness,
  afterCrash,
  testSession,
  testTurn,
} from '../../../support/sessions/harness.ts';

const say = (text: string, more: object = {}) => ({ input: [{ type: 'text', text }], ...more });

/** Runs a turn to its end; answers its id and what its agent was given. */
async function run(harness: Harness, session: { id: string }, body: object = say('go')) {
  const { status, body: sent } = await harness.send(session, body);
  if (status !== 200) throw new Error(JSON.stringify(sent));
  const turn = await harness.provider.nextTurn();
  await harness.complete(turn);
  return { turnId: sent.turn_id, turn };
}

const on = sharedHarness();

const refusal = async (session: { id: string }, expected: string) => {
  const harness = on();
  const before = await harness.events(session.id);
  const { status, body } = await harness.send(
    session,
    say('guarded', { expected_turn_id: expected }),
  );
  expect(await harness.events(session.id)).toEqual(before);
  return [status, body.code];
};

it('An expected_turn_id is checked before a busy, closed or failed session.', async () => {
  const { harness, session: busy, turn, turnId: active } = await on().atWork();
  expect(await refusal(busy, 'turn_other')).toEqual([409, 'turn_conflict']);
  expect(await refusal(busy, active)).toEqual([409, 'turn_in_progress']);
  await harness.complete(turn);

  await harness.close(busy.id);
  expect(await refusal(busy, 'turn_other')).toEqual([409, 'turn_conflict']);
  expect(await refusal(busy, active)).toEqual([409, 'session_closed']);

  const failing = await harness.open();
  harness.provider.refuseOpen(new ProviderError('resume_failed', 'gone'));
  const { body } = await harness.send(failing, 'go');
  await harness.until(endOf(body.turn_id));
  expect(await refusal(failing, 'turn_other')).toEqual([409, 'turn_conflict']);
  expect(await refusal(failing, body.turn_id)).toEqual([409, 'session_failed']);
});

const limited = { config: { sessions: { turn_timeout_ms: 60_000 } } };

it('A turn that exceeds the timeout is interrupted, and the session stays open.', async () => {
  const { harness, session, turn, turnId } = await testTurn(limited);
  harness.clock.advance(59_999);
  expect(turn.agent.calls).toEqual(['prompt']);
  harness.clock.advance(1);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  await harness.until(endOf(turnId));
  expect(kinds(await harness.events(session.id))).toEqual([
    'session.created',
    'turn.accepted',
    'turn.started',
    'turn.interrupt_requested',
    'turn.interrupted',
  ]);
  expect((await harness.turn(session.id, turnId)).error).toEqual(
    anError('turn_timeout', 'sessions.turn_timeout_ms (60000 ms)'),
  );
  expect((await harness.session(session.id)).status).toBe('ready');
  await run(harness, session);
});

it('A turn whose timeout cannot be stored is interrupted when there is room again.', async () => {
  using disk = new FullDisk();
  const { harness, turn, turnId } = await testTurn(limited);
  disk.full = true;
  harness.clock.advance(60_000);
  await harness.logged('cannot store an outcome');
  expect(turn.agent.calls).toEqual(['prompt']);
  disk.full = false;
  harness.clock.advance(1000);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  expect((await harness.until(endOf(turnId))).kind).toBe('turn.interrupted');
});

it('A timed-out turn reports the timeout even if the server dies before the agent has ended it.', async () => {
  const [harness, { sessionId, turnId }] = await afterCrash(
    async (harness) => {
      const { session, turn, turnId } = await harness.atWork();
      harness.clock.advance(60_000);
      await turn.cancelled;
      return { sessionId: session.id, turnId };
    },
    { before: limited },
  );
  return expect(await harness.turn(sessionId, turnId)).toMatchObject({
    status: 'interrupted',
    error: { code: 'turn_timeout' },
  });
});

it('The agent of a timed-out turn is killed if it does not end the turn.', async () => {
  const { harness, session, turn, turnId } = await testTurn(limited);
  harness.clock.advance(60_000);
  await turn.cancelled;
  harness.clock.advance(10_000);
  expect((await harness.until(endOf(turnId))).kind).toBe('turn.interrupted');
  expect((await harness.turn(session.id, turnId)).error?.code).toBe('turn_timeout');
  expect(await turn.agent.endRequested).toBe(0);
});

it('A timed-out turn that waits for an approval is interrupted, and the approval cancelled.', async () => {
  const { harness, session, turn } = await testTurn(limited);
  const answer = turn.ask();
  const { id } = await harness.asked(session.id);
  harness.clock.advance(60_000);
  expect(await answer).toEqual({ decision: 'cancelled' });
  expect((await harness.approvals('?status=cancelled')).map((one) => one.id)).toEqual([id]);
});

it('The timeout of a turn whose agent never ended it does not apply to the next turn.', async () => {
  const { harness, session, turn, turnId } = await testTurn(limited);
  await harness.interrupt(session.id, turnId);
  await turn.cancelled;
  harness.clock.advance(10_000);
  await harness.until(endOf(turnId));
  const next = await harness.startTurn(session);
  harness.clock.advance(50_000);
  await harness.open();
  expect(next.agent.calls).toEqual(['prompt']);
});

it('A timeout does not apply to a turn that has ended.', async () => {
  const { harness, session } = await testSession(limited);
  await run(harness, session);
  const turn = await harness.startTurn(session);
  harness.clock.advance(59_999);
  await harness.open();
  expect(turn.agent.calls).toEqual(['prompt', 'prompt']);
});

it('A turn has no time limit by default, and may last for days.', async () => {
  const { harness, turn } = await testTurn();
  harness.clock.advance(10 * 24 * 3_600_000);
  await harness.open();
  expect(turn.agent.calls).toEqual(['prompt']);
});

it('Settings of a turn reach its agent, and the next turn has the settings of the session again.', async () => {
  const harness = on();
  const session = await harness.open({
    permission_mode: 'require_approval',
    model: 'small',
    thinking_effort: 'low',
  });
  const own = { permission_mode: 'read_only', model: 'large', thinking_effort: 'high' };
  const seen: TurnSettings[] = [];
  for (const more of [{}, own, {}, { model: 'large' }])
    seen.push((await run(harness, session, say('go', more))).turn.settings);
  const usual = {
    permissionMode: 'require_approval',
    agentMode: null,
    model: 'small',
    thinkingEffort: 'low',
  };
  expect(seen).toEqual([
    usual,
    { permissionMode: 'read_only', agentMode: null, model: 'large', thinkingEffort: 'high' },
    usual,
    { ...usual, model: 'large' },
  ]);
  expect(await harness.session(session.id)).toMatchObject({
    permission_mode: 'require_approval',
    model: 'small',
    thinking_effort: 'low',
  });
});

it('The settings of one turn are in its record, and null in other turns.', async () => {
  const harness = on();
  const session = await harness.open({ model: 'small' });
  const own = { permission_mode: 'read_only', model: 'large', thinking_effort: 'high' };
  const { turnId } = await run(harness, session, say('go', own));
  expect(await harness.turn(session.id, turnId)).toMatchObject(own);
  const { turnId: usual } = await run(harness, session);
  expect(await harness.turn(session.id, usual)).toMatchObject({
    permission_mode: null,
    model: null,
    thinking_effort: null,
  });
});

const agentOptions = {
  objection: ({ permissionMode }: TurnSettings) =>
    permissionMode === 'no_such_mode'
      ? new ProviderError('invalid_permission_mode', 'no mode "no_such_mode": use read_only')
      : null,
};

it('Settings that a running agent is known to refuse answer 400, and nothing is stored.', async () => {
  const { harness, session } = await testSession({ agents: agentOptions });
  await run(harness, session);
  const before = await harness.events();
  const body = say('go', { permission_mode: 'no_such_mode' });
  const reply = await harness.send(session, body);
  expect([reply.status, reply.body.code]).toEqual([400, 'invalid']);
  expect(reply.body.error).toContain('use read_only');
  expect(await harness.events()).toEqual(before);
  await run(harness, session);
});

it('Settings that the agent refuses later fail the turn, and the session stays ready.', async () => {
  const { harness, session } = await testSession({ agents: agentOptions });
  const { status, body } = await harness.send(
    session,
    say('go', { permission_mode: 'no_such_mode' }),
  );
  expect(status).toBe(200);
  await harness.until(endOf(body.turn_id));
  expect(await harness.turn(session.id, body.turn_id)).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_permission_mode' },
    started_at: null,
  });
  expect((await harness.session(session.id)).status).toBe('ready');
  await run(harness, session);
});
