import { expect, it } from 'vitest';
import type { Delivery } from '../../../src/api/team-messages.ts';
import type { Ids } from '../../../src/core/lib/ids.ts';
import { ProviderError } from '../../../src/agents/provider.ts';
import { CountingIds, inOneGroup } from '../../support/sessions/one-group.ts';
import { kinds, type Stage, testStage } from '../../support/sessions/harness.ts';
import {
  type Cast,
  completed,
  failed,
  interrupted,
  makeTeam,
  toldIn,
  testTeam,
} from '../../support/teams/team.ts';

/** A recipient that is at work, on a turn of a person. */
async function atWork({ stage, agents }: Cast) {
  const [, recipient] = agents;
  return stage.play(recipient as { id: string }, 'work');
}

/** In a turn that was accepted, which begins at once where the agent of its session is idle. */
const IN_A_TURN = /^inject(ing|ed)$/;

it('A message to an idle agent is answered once its turn has begun.', async () => {
  const cast = await testTeam();
  const first = await cast.say('one');
  await cast.consumed(first.delivery);
  const { delivery } = await cast.say('two');
  expect(delivery).toMatchObject({ status: 'injected', attempts: 1 });
  expect(await cast.movesOf(delivery)).toEqual(['pending', 'injecting', 'injected']);
  await cast.consumed(delivery);
});

it('A message waits again if its turn has begun and the agent refuses it unseen.', async () => {
  let asked = 0;
  // Asked when the first turn reaches the agent, when the second is accepted, and when that reaches the agent.
  const objection = () =>
    ++asked === 3 ? new ProviderError('invalid_model', 'no such model any more') : null;
  const stage = await testStage({ played: { objection } });
  const cast = await makeTeam(stage);
  const first = await cast.say('one');
  await cast.consumed(first.delivery);
  const { message, delivery } = await cast.say('two');
  expect(delivery.status).toBe('injected');
  await cast.moved(delivery, 'deferred');
  expect(await cast.delivery(delivery.id)).toMatchObject({
    status: 'deferred',
    injected_turn_id: null,
  });
  stage.clock.advance(1000);
  const turn = await stage.provider.nextTurn();
  expect(toldIn(turn.text)).toEqual([message.id]);
  await cast.consumed(delivery, turn);
});

it('A message waits again if its turn is interrupted before the agent has seen it.', async () => {
  const ids = new CountingIds();
  let turnId = '';
  const next: Ids['next'] = (prefix) => {
    const id = ids.next(prefix);
    if (prefix === 'turn') turnId = id;
    return id;
  };
  const stage = await testStage({ ids: { next } });
  const cast = await makeTeam(stage);
  const recipient = cast.agents[1]?.id ?? '';
  const first = await cast.say('one');
  await cast.consumed(first.delivery);
  const { said, stopped } = await inOneGroup(stage, async () => {
    const begun = ids.more(5);
    const said = cast.say('two');
    await begun;
    const asked = ids.more(1);
    const stopped = stage.interrupt(recipient, turnId);
    await asked;
    return { said, stopped };
  });
  expect((await stopped).status).toBe(202);
  const { message, delivery } = await said;
  await cast.moved(delivery, 'deferred');
  expect(stage.provider.agents.map(({ calls }) => calls)).toEqual([['prompt']]);
  expect((await cast.retry(delivery)).status).toBe(200);
  const turn = await stage.provider.nextTurn();
  expect(toldIn(turn.text)).toEqual([message.id]);
  await cast.consumed(delivery, turn);
});

it('A message to an idle member becomes a turn at once, and is consumed when the turn completes.', async () => {
  const { cast, stage, agents, team } = await testTeam();
  const { message, delivery } = await cast.say('look at the tests');
  expect(message).toMatchObject({
    team_id: team.id,
    scope: 'direct',
    sender_agent_id: agents[0].id,
    recipient_agent_id: agents[1]?.id,
    recipient_agent_ids: [agents[1]?.id],
    input: { type: 'text', text: 'look at the tests' },
    image_paths: [],
    priority: 'normal',
    policy: 'non_interrupting',
    cancelled_at: null,
  });
  expect(delivery).toMatchObject({ message_id: message.id, status: 'injecting', attempts: 1 });
  const turn = await stage.provider.nextTurn();
  expect(turn.session.id).toBe(agents[1]?.id);
  expect(turn.text).toBe(
    `<team_message id="${message.id}" sender="${agents[0].id}" title="" scope="direct" team="${team.id}">\n` +
      'look at the tests\n</team_message>',
  );
  expect(await cast.delivery(delivery.id)).toMatchObject({
    status: 'injected',
    consumed_at: null,
  });
  await cast.consumed(delivery, turn);
  const now = await cast.delivery(delivery.id);
  expect(now).toMatchObject({ status: 'injected', error: null });
  expect(now.consumed_at).not.toBeNull();
  const { source } = await stage.turn(agents[1]?.id ?? '', now.injected_turn_id ?? '');
  expect(source).toBe('team_message');
  expect(await cast.movesOf(delivery)).toEqual(['pending', 'injecting', 'injected', 'consumed']);
});

it('The streams of the recipient and of the team have events of the message, with its turn.', async () => {
  const { cast, stage, agents } = await testTeam();
  const { delivery } = await cast.say('hello');
  const { turn_id, team_id, session_id } = await cast.consumed(delivery);
  expect({ team_id, session_id }).toEqual({ team_id: cast.team.id, session_id: agents[1]?.id });
  expect(turn_id).toBe((await cast.delivery(delivery.id)).injected_turn_id);
  const [, recipient] = agents;
  expect(kinds(await stage.events(recipient?.id))).toEqual([
    'session.created',
    'team.member_joined',
    'delivery.pending',
    'turn.accepted',
    'delivery.injecting',
    'turn.started',
    'delivery.injected',
    'session.notice',
    'turn.completed',
    'delivery.consumed',
  ]);
});

it('A message whose turn fails or is interrupted is not consumed, has the error, and may be retried.', async () => {
  const { cast, stage } = await testTeam();
  const { delivery } = await cast.say('hello');
  (await stage.provider.nextTurn()).end(failed);
  await stage.until(({ kind }) => kind === 'turn.failed');
  expect(await cast.delivery(delivery.id)).toMatchObject({
    status: 'injected',
    consumed_at: null,
    error: { code: 'model_error' },
  });
  const again = await cast.retry(delivery);
  expect(again.body).toMatchObject({
    status: expect.stringMatching(IN_A_TURN),
    attempts: 2,
    error: null,
  });
  (await stage.provider.nextTurn()).end(interrupted);
  await stage.until(({ kind }) => kind === 'turn.interrupted');
  expect((await cast.delivery(delivery.id)).error?.code).toBe('turn_interrupted');
  await cast.retry(delivery);
  await cast.consumed(delivery);
  expect((await cast.retry(delivery)).body.code).toBe('delivery_state');
});

it('Waiting messages become one turn at the end of the running turn, by priority and then by arrival.', async () => {
  const { cast, stage } = await testTeam();
  const work = await atWork(cast);
  const sent = [];
  for (const priority of ['low', 'normal', 'high', 'normal', 'high', 'low'])
    sent.push((await cast.say(priority, { priority })).message.id);
  const [low, normal, high, normal2, high2, low2] = sent;
  work.end(completed);
  const turn = await stage.provider.nextTurn();
  expect(toldIn(turn.text)).toEqual([high, high2, normal, normal2, low, low2]);
  turn.end(completed);
  await stage.times('delivery.consumed', 6);
  const told = kinds(await stage.events(cast.agents[1]?.id));
  const end = told.indexOf('turn.completed');
  expect(told.slice(end, end + 3)).toEqual([
    'turn.completed',
    'turn.accepted',
    'delivery.injecting',
  ]);
});

it('Waiting messages share their turn with the ends of processes.', async () => {
  const { cast, stage, agents } = await testTeam();
  const work = await atWork(cast);
  const { message } = await cast.say('first');
  await stage.post('/v1/processes', {
    command: 'true',
    session_id: agents[1]?.id,
    on_exit: 'notify',
  });
  await stage.until(({ kind }) => kind === 'process.completed');
  work.end(completed);
  const turn = await stage.provider.nextTurn();
  expect(toldIn(turn.text)).toEqual([message.id]);
  expect(turn.text).toMatch(
    /<\/team_message>\n<process_exit id="proc_[0-9a-f]+" status="completed">\nProcess proc_[0-9a-f]+ ended: completed/,
  );
  turn.end(completed);
  await stage.until(({ kind }) => kind === 'delivery.consumed');
});

it('Messages with the policy start_new_turn_only fail as recipient_busy.', async () => {
  const cast = await testTeam();
  const work = await atWork(cast);
  const { delivery } = await cast.say('now or never', { policy: 'start_new_turn_only' });
  expect(delivery).toMatchObject({ status: 'failed', error: { code: 'recipient_busy' } });
  work.end(completed);
  await cast.stage.until(({ kind }) => kind === 'turn.completed');
  expect((await cast.retry(delivery)).body.status).toMatch(IN_A_TURN);
  await cast.consumed(delivery);
});

it('Messages with immediate_interrupt interrupt a turn at once, even with a pending approval.', async () => {
  const { cast, stage, agents } = await testTeam();
  const work = await atWork(cast);
  const asking = work.ask();
  const approval = await stage.asked(agents[1]?.id ?? '');
  const { delivery } = await cast.say('stop', { policy: 'immediate_interrupt' });
  expect(delivery.status).toBe('pending');
  expect(await asking).toEqual({ decision: 'cancelled' });
  expect((await stage.approvals('?status=cancelled')).map(({ id }) => id)).toEqual([approval.id]);
  await work.cancelled;
  work.end(interrupted);
  const turn = await stage.provider.nextTurn();
  expect(turn.text).toContain('\nstop\n');
  await cast.consumed(delivery, turn);
});

it('Messages with interrupt_after_tool_boundary interrupt a turn at once if no tool runs.', async () => {
  const cast = await testTeam();
  const work = await atWork(cast);
  const { delivery } = await cast.say('stop', { policy: 'interrupt_after_tool_boundary' });
  expect(delivery.status).toBe('pending');
  await work.cancelled;
  work.end(interrupted);
  await cast.consumed(delivery);
});

it('Messages with interrupt_after_tool_boundary wait for a running tool and for an approval.', async () => {
  const { cast, stage, agents } = await testTeam();
  const work = await atWork(cast);
  const tool = (status: 'running' | 'completed') =>
    work.sink.update({ type: 'tool', ref: 'call', change: { title: 'build', status } });
  await tool('running');
  await stage.until(({ kind }) => kind === 'tool.started');
  const asking = work.ask();
  const approval = await stage.asked(agents[1]?.id ?? '');
  const { delivery } = await cast.say('stop', { policy: 'interrupt_after_tool_boundary' });
  await stage.decide(approval, 'accept');
  expect((await asking).decision).toBe('accept');
  expect(work.agent.calls).toEqual(['prompt']);
  await tool('completed');
  await work.cancelled;
  const order = kinds(await stage.events(agents[1]?.id));
  expect(order.indexOf('turn.interrupt_requested')).toBeGreaterThan(
    order.indexOf('tool.completed'),
  );
  work.end(interrupted);
  await cast.consumed(delivery);
});

it('The frame of a message names the message that it answers, and its correlation.', async () => {
  const { cast, stage, team, agents } = await testTeam();
  const first = await cast.say('a question', { correlation_id: 'the "one" <x>' });
  const asked = await stage.provider.nextTurn();
  expect(asked.text).toContain(' correlation_id="the &quot;one&quot; &lt;x&gt;">');
  await cast.consumed(first.delivery, asked);
  await cast.say('an answer', { reply_to_message_id: first.message.id });
  const answered = await stage.provider.nextTurn();
  expect(answered.text).toContain(
    ` sender="${agents[0].id}" title="" scope="direct" team="${team.id}" reply_to_message_id="${first.message.id}">`,
  );
  answered.end(completed);
});

it.each([
  { type: 'text', text: '' },
  { type: 'text', text: ' \n\t' },
  [{ type: 'text', text: '' }],
])('An empty message is refused: %j.', async (input) => {
  const cast = await testTeam();
  const body = { sender_agent_id: cast.agents[0].id, input };
  const direct = await cast.trySay({ ...body, recipient_agent_id: cast.agents[1]?.id });
  expect(direct).toMatchObject({ status: 400, body: { code: 'invalid' } });
  const all = await cast.stage.post(`${cast.path}/broadcasts`, body);
  expect(all.status).toBe(400);
  const spawn = { source_session_id: cast.agents[0].id, prompt: ' ' };
  expect((await cast.stage.post(`${cast.path}/members/spawn`, spawn)).status).toBe(400);
});

it('Deliveries are listed by their recipient.', async () => {
  const cast = await testTeam(3);
  const { body } = await cast.broadcast('hello', { include_sender: true });
  const [, one] = cast.agents;
  const found = await cast.stage.get<Delivery[]>(
    `${cast.path}/deliveries?recipient_agent_id=${one?.id}`,
  );
  expect(found.body.map(({ recipient_agent_id }) => recipient_agent_id)).toEqual([one?.id]);
  for (const _ of body.deliveries) (await cast.stage.provider.nextTurn()).end(completed);
});

const stopped = async (cast: Cast) => {
  const { stage, agents } = cast;
  const work = await atWork(cast);
  const { delivery } = await cast.say('wait');
  const { id, active_turn_id } = await stage.session(agents[1]?.id ?? '');
  await stage.interrupt(id, active_turn_id ?? '');
  await work.cancelled;
  work.end(interrupted);
  await stage.until(({ kind }) => kind === 'turn.interrupted');
  expect(await stage.session(id)).toMatchObject({ status: 'ready' });
  expect(await cast.delivery(delivery.id)).toMatchObject({ status: 'pending' });
  return delivery;
};

it('A message that waits only for the running turn of its recipient cannot be retried.', async () => {
  const cast = await testTeam();
  const turn = await atWork(cast);
  const { delivery } = await cast.say('later');
  expect(await cast.retry(delivery)).toMatchObject({
    status: 409,
    body: { code: 'delivery_state' },
  });
  turn.end(completed);
  (await cast.stage.provider.nextTurn()).end(completed);
});

it('Waiting and new messages stay in the inbox after an interrupt.', async () => {
  const cast = await testTeam();
  await stopped(cast);
  const { delivery } = await cast.say('later');
  expect(delivery.status).toBe('pending');
  const never = await cast.say('now', { policy: 'start_new_turn_only' });
  expect(never.delivery.error?.code).toBe('recipient_busy');
});

const wakers: Record<string, (cast: Cast, delivery: { id: string }) => Promise<unknown>> = {
  async 'the next turn from outside'({ stage, agents }) {
    (await stage.play(agents[1] as { id: string }, 'go on')).end(completed);
  },
  'a retry of something that failed': async (cast) => {
    const busy = await cast.say('now', { policy: 'start_new_turn_only' });
    await cast.retry(busy.delivery);
  },
  'a retry of what waits': async (cast, delivery) => {
    const { status, body } = await cast.retry(delivery);
    expect([status, body.status]).toEqual([200, expect.stringMatching(IN_A_TURN)]);
  },
  'an interrupting message': (cast) => cast.say('now', { policy: 'immediate_interrupt' }),
};
it.each(Object.entries(wakers))('Waiting messages are delivered after %s.', async (_, wake) => {
  const cast = await testTeam();
  const delivery = await stopped(cast);
  await wake(cast, delivery);
  const turn = await cast.stage.provider.nextTurn();
  expect(toldIn(turn.text)).toContain((await cast.delivery(delivery.id)).message_id);
  await cast.consumed(delivery, turn);
});

it('An interrupt of all members reaches the busy ones, and waiting messages stay in the inbox.', async () => {
  const { cast, stage, agents, path } = await testTeam();
  const work = await atWork(cast);
  const { delivery } = await cast.say('wait');
  const { body } = await stage.post(`${path}/interrupt-all`);
  expect(body).toEqual({
    interrupted_session_ids: [agents[1]?.id],
    skipped_session_ids: [agents[0].id],
  });
  await work.cancelled;
  work.end(interrupted);
  await stage.until(({ kind }) => kind === 'turn.interrupted');
  expect((await cast.delivery(delivery.id)).status).toBe('pending');
});

const refusing = (stage: Stage, times: number) => {
  for (let i = 0; i < times; i++)
    stage.provider.refuseOpen(new ProviderError('provider_unavailable', 'not just now'));
};

it('A turn that fails before it starts is retried after 1 s, then 2 s, then 4 s.', async () => {
  const { cast, stage } = await testTeam();
  refusing(stage, 3);
  const { message, delivery } = await cast.say('hello');
  await stage.times('delivery.deferred', 1);
  expect(await cast.delivery(delivery.id)).toMatchObject({
    status: 'deferred',
    attempts: 1,
    injected_turn_id: null,
    error: { code: 'provider_unavailable' },
  });
  for (const [failures, delay] of [
    [2, 1000],
    [3, 2000],
  ] as const) {
    stage.clock.advance(delay - 1);
    expect((await cast.delivery(delivery.id)).attempts).toBe(failures - 1);
    stage.clock.advance(1);
    await stage.times('delivery.deferred', failures);
  }
  stage.clock.advance(4000);
  const turn = await stage.provider.nextTurn();
  expect(toldIn(turn.text)).toEqual([message.id]);
  await cast.consumed(delivery, turn);
});

it('Messages behind a failed delivery wait in order, and a retry delivers all at once.', async () => {
  const { cast, stage } = await testTeam();
  refusing(stage, 1);
  const first = await cast.say('first');
  await cast.moved(first.delivery, 'deferred');
  const second = await cast.say('second');
  expect(second.delivery.status).toBe('pending');
  expect((await cast.retry(first.delivery)).body.status).toMatch(IN_A_TURN);
  const turn = await stage.provider.nextTurn();
  expect(toldIn(turn.text)).toEqual([first.message.id, second.message.id]);
  turn.end(completed);
  await stage.times('delivery.consumed', 2);
});

it('A failed session fails its waiting deliveries.', async () => {
  const stage = await testStage();
  const cast = await makeTeam(stage);
  const [, recipient] = cast.agents;
  (await stage.play(recipient as { id: string })).end(completed);
  await stage.until(({ kind }) => kind === 'turn.completed');
  stage.provider.agents[0]?.die('gone');
  await stage.provider.agents[0]?.gone;
  stage.provider.refuseOpen(new ProviderError('resume_failed', 'I do not know it'));
  const { delivery } = await cast.say('hello');
  await cast.moved(delivery, 'failed');
  expect(await cast.delivery(delivery.id)).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_failed' },
  });
  expect(kinds(await stage.events(recipient?.id)).slice(-4)).toEqual([
    'turn.failed',
    'delivery.deferred',
    'delivery.failed',
    'session.failed',
  ]);
  const late = await cast.say('hello?');
  expect(late.delivery.error?.code).toBe('recipient_failed');
});

it('Closing a session fails its waiting deliveries, after its turn and before its own end.', async () => {
  const { cast, stage, agents } = await testTeam();
  const work = await atWork(cast);
  const asking = work.ask();
  await stage.asked(agents[1]?.id ?? '');
  const { delivery } = await cast.say('wait');
  await stage.close(agents[1]?.id ?? '');
  expect(await asking).toEqual({ decision: 'cancelled' });
  expect(await cast.delivery(delivery.id)).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_closed' },
  });
  expect(kinds(await stage.events(agents[1]?.id)).slice(-4)).toEqual([
    'approval.resolved',
    'turn.interrupted',
    'delivery.failed',
    'session.closed',
  ]);
  const late = await cast.say('hello?');
  expect(late.delivery).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_closed' },
  });
  expect((await cast.retry(late.delivery)).body.error).toMatchObject({
    code: 'recipient_closed',
  });
});

it('A message is cancelled together with its waiting deliveries.', async () => {
  const { cast, stage, agents } = await testTeam(3);
  const work = await atWork(cast);
  const { body } = await cast.broadcast('all of you');
  const [busy, idle] = [agents[1], agents[2]].map((agent) =>
    body.deliveries.find((one) => one.recipient_agent_id === agent?.id),
  );
  const turn = await stage.provider.nextTurn();
  const cancelled = await cast.cancel(body.message);
  expect(cancelled.body.cancelled_at).not.toBeNull();
  expect((await cast.delivery(busy?.id ?? '')).status).toBe('cancelled');
  expect((await cast.delivery(idle?.id ?? '')).status).toBe('injected');
  expect((await cast.cancel(body.message)).body.code).toBe('delivery_state');
  expect((await cast.retry(busy as { id: string })).body.code).toBe('delivery_state');
  turn.end(completed);
  work.end(completed);
  await stage.times('turn.completed', 2);
  expect(await stage.session(agents[1]?.id ?? '')).toMatchObject({ status: 'ready' });
});

it('A message without recipients is stored without deliveries, and can be cancelled.', async () => {
  const cast = await testTeam(1);
  const { body } = await cast.broadcast('hello?');
  expect(body).toMatchObject({ message: { scope: 'broadcast' }, deliveries: [] });
  expect((await cast.cancel(body.message)).status).toBe(200);
});

it('The sender is notified of the delivery if the message asks for that.', async () => {
  const cast = await testTeam();
  const { body } = await cast.broadcast('me too', { include_sender: true });
  expect(body.message.recipient_agent_ids).toEqual(cast.agents.map(({ id }) => id));
  for (let i = 0; i < 2; i++) (await cast.stage.provider.nextTurn()).end(completed);
  await cast.stage.times('delivery.consumed', 2);
});

it('A message needs a sender and recipients in the team, and known values.', async () => {
  const { cast, stage, agents } = await testTeam();
  const stranger = await stage.open();
  const good = {
    sender_agent_id: agents[0].id,
    recipient_agent_id: agents[1]?.id,
    input: { type: 'text', text: 'x' },
  };
  for (const [wrong, status, said] of [
    [{ sender_agent_id: stranger.id }, 404, stranger.id],
    [{ recipient_agent_id: stranger.id }, 404, stranger.id],
    [{ recipient_agent_id: 'sess_none' }, 404, 'sess_none'],
    [{ reply_to_message_id: 'msg_none' }, 404, 'msg_none'],
    [{ priority: 'urgent' }, 400, 'high'],
    [{ policy: 'never' }, 400, 'start_new_turn_only'],
    [{ input: { type: 'song', text: 'x' } }, 400, 'input'],
  ] as const) {
    const { status: given, body } = await cast.trySay({ ...good, ...wrong });
    expect([wrong, given]).toEqual([wrong, status]);
    expect(body.error).toContain(said);
  }
  expect((await stage.get(`${cast.path}/messages`)).body).toEqual([]);
});
