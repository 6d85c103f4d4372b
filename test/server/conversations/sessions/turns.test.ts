import { expect, it } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import { ProviderError, type TurnSettings } from '../../../../src/agents/provider.ts';
import {
  endOf,
  kinds,
  sharedStage,
  type Stage,
  afterCrash,
  testSession,
  testTurn,
} from '../../../support/sessions/harness.ts';

const say = (text: string, more: object = {}) => ({ input: [{ type: 'text', text }], ...more });

/** Runs a turn to its end; answers its id and what its agent was given. */
async function run(stage: Stage, session: { id: string }, body: object = say('go')) {
  const { status, body: sent } = await stage.send(session, body);
  if (status !== 200) throw new Error(JSON.stringify(sent));
  const turn = await stage.provider.nextTurn();
  await stage.complete(turn);
  return { turnId: sent.turn_id, turn };
}

const on = sharedStage();

const refusal = async (session: { id: string }, expected: string) => {
  const stage = on();
  const before = await stage.events(session.id);
  const { status, body } = await stage.send(
    session,
    say('guarded', { expected_turn_id: expected }),
  );
  expect(await stage.events(session.id)).toEqual(before);
  return [status, body.code];
};

it('An expected_turn_id is checked before a busy, closed or failed session.', async () => {
  const { stage, session: busy, turn, turnId: active } = await on().atWork();
  expect(await refusal(busy, 'turn_other')).toEqual([409, 'turn_conflict']);
  expect(await refusal(busy, active)).toEqual([409, 'turn_in_progress']);
  await stage.complete(turn);

  await stage.close(busy.id);
  expect(await refusal(busy, 'turn_other')).toEqual([409, 'turn_conflict']);
  expect(await refusal(busy, active)).toEqual([409, 'session_closed']);

  const failing = await stage.open();
  stage.provider.refuseOpen(new ProviderError('resume_failed', 'gone'));
  const { body } = await stage.send(failing, 'go');
  await stage.until(endOf(body.turn_id));
  expect(await refusal(failing, 'turn_other')).toEqual([409, 'turn_conflict']);
  expect(await refusal(failing, body.turn_id)).toEqual([409, 'session_failed']);
});

const limited = { config: { sessions: { turn_timeout_ms: 60_000 } } };

it('A turn that exceeds the timeout is interrupted, and the session stays open.', async () => {
  const { stage, session, turn, turnId } = await testTurn(limited);
  stage.clock.advance(59_999);
  expect(turn.agent.calls).toEqual(['prompt']);
  stage.clock.advance(1);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  await stage.until(endOf(turnId));
  expect(kinds(await stage.events(session.id))).toEqual([
    'session.created',
    'turn.accepted',
    'turn.started',
    'turn.interrupt_requested',
    'turn.interrupted',
  ]);
  expect((await stage.turn(session.id, turnId)).error).toEqual(
    anError('turn_timeout', 'sessions.turn_timeout_ms (60000 ms)'),
  );
  expect((await stage.session(session.id)).status).toBe('ready');
  await run(stage, session);
});

it('A turn whose timeout cannot be stored is interrupted when there is room again.', async () => {
  using disk = new FullDisk();
  const { stage, turn, turnId } = await testTurn(limited);
  disk.full = true;
  stage.clock.advance(60_000);
  await stage.logged('cannot store an outcome');
  expect(turn.agent.calls).toEqual(['prompt']);
  disk.full = false;
  stage.clock.advance(1000);
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  expect((await stage.until(endOf(turnId))).kind).toBe('turn.interrupted');
});

it('A timed-out turn reports the timeout even if the server dies before the agent has ended it.', async () => {
  const [stage, { sessionId, turnId }] = await afterCrash(
    async (stage) => {
      const { session, turn, turnId } = await stage.atWork();
      stage.clock.advance(60_000);
      await turn.cancelled;
      return { sessionId: session.id, turnId };
    },
    { before: limited },
  );
  return expect(await stage.turn(sessionId, turnId)).toMatchObject({
    status: 'interrupted',
    error: { code: 'turn_timeout' },
  });
});

it('The agent of a timed-out turn is killed if it does not end the turn.', async () => {
  const { stage, session, turn, turnId } = await testTurn(limited);
  stage.clock.advance(60_000);
  await turn.cancelled;
  stage.clock.advance(10_000);
  expect((await stage.until(endOf(turnId))).kind).toBe('turn.interrupted');
  expect((await stage.turn(session.id, turnId)).error?.code).toBe('turn_timeout');
  expect(await turn.agent.toldToEnd).toBe(0);
});

it('A timed-out turn that waits for an approval is interrupted, and the approval cancelled.', async () => {
  const { stage, session, turn } = await testTurn(limited);
  const answer = turn.ask();
  const { id } = await stage.asked(session.id);
  stage.clock.advance(60_000);
  expect(await answer).toEqual({ decision: 'cancelled' });
  expect((await stage.approvals('?status=cancelled')).map((one) => one.id)).toEqual([id]);
});

it('The timeout of a turn whose agent never ended it does not apply to the next turn.', async () => {
  const { stage, session, turn, turnId } = await testTurn(limited);
  await stage.interrupt(session.id, turnId);
  await turn.cancelled;
  stage.clock.advance(10_000);
  await stage.until(endOf(turnId));
  const next = await stage.play(session);
  stage.clock.advance(50_000);
  await stage.open();
  expect(next.agent.calls).toEqual(['prompt']);
});

it('A timeout does not apply to a turn that has ended.', async () => {
  const { stage, session } = await testSession(limited);
  await run(stage, session);
  const turn = await stage.play(session);
  stage.clock.advance(59_999);
  await stage.open();
  expect(turn.agent.calls).toEqual(['prompt', 'prompt']);
});

it('A turn has no time limit by default, and may last for days.', async () => {
  const { stage, turn } = await testTurn();
  stage.clock.advance(10 * 24 * 3_600_000);
  await stage.open();
  expect(turn.agent.calls).toEqual(['prompt']);
});

it('Settings of a turn reach its agent, and the next turn has the settings of the session again.', async () => {
  const stage = on();
  const session = await stage.open({
    permission_mode: 'require_approval',
    model: 'small',
    thinking_effort: 'low',
  });
  const own = { permission_mode: 'read_only', model: 'large', thinking_effort: 'high' };
  const seen: TurnSettings[] = [];
  for (const more of [{}, own, {}, { model: 'large' }])
    seen.push((await run(stage, session, say('go', more))).turn.settings);
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
  expect(await stage.session(session.id)).toMatchObject({
    permission_mode: 'require_approval',
    model: 'small',
    thinking_effort: 'low',
  });
});

it('The settings of one turn are in its record, and null in other turns.', async () => {
  const stage = on();
  const session = await stage.open({ model: 'small' });
  const own = { permission_mode: 'read_only', model: 'large', thinking_effort: 'high' };
  const { turnId } = await run(stage, session, say('go', own));
  expect(await stage.turn(session.id, turnId)).toMatchObject(own);
  const { turnId: usual } = await run(stage, session);
  expect(await stage.turn(session.id, usual)).toMatchObject({
    permission_mode: null,
    model: null,
    thinking_effort: null,
  });
});

const played = {
  objection: ({ permissionMode }: TurnSettings) =>
    permissionMode === 'no_such_mode'
      ? new ProviderError('invalid_permission_mode', 'no mode "no_such_mode": use read_only')
      : null,
};

it('Settings that a running agent is known to refuse answer 400, and nothing is stored.', async () => {
  const { stage, session } = await testSession({ played });
  await run(stage, session);
  const before = await stage.events();
  const body = say('go', { permission_mode: 'no_such_mode' });
  const reply = await stage.send(session, body);
  expect([reply.status, reply.body.code]).toEqual([400, 'invalid']);
  expect(reply.body.error).toContain('use read_only');
  expect(await stage.events()).toEqual(before);
  await run(stage, session);
});

it('Settings that the agent refuses later fail the turn, and the session stays ready.', async () => {
  const { stage, session } = await testSession({ played });
  const { status, body } = await stage.send(
    session,
    say('go', { permission_mode: 'no_such_mode' }),
  );
  expect(status).toBe(200);
  await stage.until(endOf(body.turn_id));
  expect(await stage.turn(session.id, body.turn_id)).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_permission_mode' },
    started_at: null,
  });
  expect((await stage.session(session.id)).status).toBe('ready');
  await run(stage, session);
});
