import { expect, it } from 'vitest';
import type { Delivery } from '../../../src/api/team-messages.ts';
import type { Ids } from '../../../src/core/lib/ids.ts';
import { ProviderError } from '../../../src/agents/provider.ts';
import { CountingIds, inOneGroup } from '../../support/sessions/one-group.ts';
import { kinds, type Harness, testHarness } from '../../support/sessions/harness.ts';
import {
  type TeamHarness,
  completed,
  failed,
  interrupted,
  makeTeam,
  messageIdsIn,
  testTeam,
} from '../../support/teams/team.ts';

/** A recipient that is at work, on a turn of a person. */
async function atWork({ harness, agents }: TeamHarness) {
  const [, recipient] = agents;
  return harness.startTurn(recipient as { id: string }, 'work');
}

/** In a turn that was accepted, which begins at once where the agent of its session is idle. */
const IN_A_TURN = /^inject(ing|ed)$/;

it('A message to an idle agent is answered once its turn has begun.', async () => {
  const teamHarness = await testTeam();
  const first = await teamHarness.say('one');
  await teamHarness.consumed(first.delivery);
  const { delivery } = await teamHarness.say('two');
  expect(delivery).toMatchObject({ status: 'injected', attempts: 1 });
  expect(await teamHarness.movesOf(delivery)).toEqual(['pending', 'injecting', 'injected']);
  await teamHarness.consumed(delivery);
});

it('A message waits again if its turn has begun and the agent refuses it unseen.', async () => {
  let asked = 0;
  // Asked when the first turn reaches the agent, when the second is accepted, and when that reaches the agent.
  const objection = () =>
    ++asked === 3 ? new ProviderError('invalid_model', 'no such model any more') : null;
  const harness = await testHarness({ agents: { objection } });
  const teamHarness = await makeTeam(harness);
  const first = await teamHarness.say('one');
  await teamHarness.consumed(first.delivery);
  const { message, delivery } = await teamHarness.say('two');
  expect(delivery.status).toBe('injected');
  await teamHarness.moved(delivery, 'deferred');
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'deferred',
    injected_turn_id: null,
  });
  harness.clock.advance(1000);
  const turn = await harness.provider.nextTurn();
  expect(messageIdsIn(turn.text)).toEqual([message.id]);
  await teamHarness.consumed(delivery, turn);
});

it('A message waits again if its turn is interrupted before the agent has seen it.', async () => {
  const ids = new CountingIds();
  let turnId = '';
  const next: Ids['next'] = (prefix) => {
    const id = ids.next(prefix);
    if (prefix === 'turn') turnId = id;
    return id;
  };
  const harness = await testHarness({ ids: { next } });
  const teamHarness = await makeTeam(harness);
  const recipient = teamHarness.agents[1]?.id ?? '';
  const first = await teamHarness.say('one');
  await teamHarness.consumed(first.delivery);
  const { said, stopped } = await inOneGroup(harness, async () => {
    const begun = ids.more(5);
    const said = teamHarness.say('two');
    await begun;
    const asked = ids.more(1);
    const stopped = harness.interrupt(recipient, turnId);
    await asked;
    return { said, stopped };
  });
  expect((await stopped).status).toBe(202);
  const { message, delivery } = await said;
  await teamHarness.moved(delivery, 'deferred');
  expect(harness.provider.agents.map(({ calls }) => calls)).toEqual([['prompt']]);
  expect((await teamHarness.retry(delivery)).status).toBe(200);
  const turn = await harness.provider.nextTurn();
  expect(messageIdsIn(turn.text)).toEqual([message.id]);
  await teamHarness.consumed(delivery, turn);
});

it('A message to an idle member becomes a turn at once, and is consumed when the turn completes.', async () => {
  const { teamHarness, harness, agents, team } = await testTeam();
  const { message, delivery } = await teamHarness.say('look at the tests');
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
  const turn = await harness.provider.nextTurn();
  expect(turn.session.id).toBe(agents[1]?.id);
  expect(turn.text).toBe(
    `<team_message id="${message.id}" sender="${agents[0].id}" title="" scope="direct" team="${team.id}">\n` +
      'look at the tests\n</team_message>',
  );
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'injected',
    consumed_at: null,
  });
  await teamHarness.consumed(delivery, turn);
  const now = await teamHarness.delivery(delivery.id);
  expect(now).toMatchObject({ status: 'injected', error: null });
  expect(now.consumed_at).not.toBeNull();
  const { source } = await harness.turn(agents[1]?.id ?? '', now.injected_turn_id ?? '');
  expect(source).toBe('team_message');
  expect(await teamHarness.movesOf(delivery)).toEqual([
    'pending',
    'injecting',
    'injected',
    'consumed',
  ]);
});

it('The streams of the recipient and of the team have events of the message, with its turn.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const { delivery } = await teamHarness.say('hello');
  const { turn_id, team_id, session_id } = await teamHarness.consumed(delivery);
  expect({ team_id, session_id }).toEqual({
    team_id: teamHarness.team.id,
    session_id: agents[1]?.id,
  });
  expect(turn_id).toBe((await teamHarness.delivery(delivery.id)).injected_turn_id);
  const [, recipient] = agents;
  expect(kinds(await harness.events(recipient?.id))).toEqual([
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
  const { teamHarness, harness } = await testTeam();
  const { delivery } = await teamHarness.say('hello');
  (await harness.provider.nextTurn()).end(failed);
  await harness.until(({ kind }) => kind === 'turn.failed');
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'injected',
    consumed_at: null,
    error: { code: 'model_error' },
  });
  const again = await teamHarness.retry(delivery);
  expect(again.body).toMatchObject({
    status: expect.stringMatching(IN_A_TURN),
    attempts: 2,
    error: null,
  });
  (await harness.provider.nextTurn()).end(interrupted);
  await harness.until(({ kind }) => kind === 'turn.interrupted');
  expect((await teamHarness.delivery(delivery.id)).error?.code).toBe('turn_interrupted');
  await teamHarness.retry(delivery);
  await teamHarness.consumed(delivery);
  expect((await teamHarness.retry(delivery)).body.code).toBe('delivery_state');
});

it('Waiting messages become one turn at the end of the running turn, by priority and then by arrival.', async () => {
  const { teamHarness, harness } = await testTeam();
  const work = await atWork(teamHarness);
  const sent = [];
  for (const priority of ['low', 'normal', 'high', 'normal', 'high', 'low'])
    sent.push((await teamHarness.say(priority, { priority })).message.id);
  const [low, normal, high, normal2, high2, low2] = sent;
  work.end(completed);
  const turn = await harness.provider.nextTurn();
  expect(messageIdsIn(turn.text)).toEqual([high, high2, normal, normal2, low, low2]);
  turn.end(completed);
  await harness.times('delivery.consumed', 6);
  const kindsOfAgent = kinds(await harness.events(teamHarness.agents[1]?.id));
  const end = kindsOfAgent.indexOf('turn.completed');
  expect(kindsOfAgent.slice(end, end + 3)).toEqual([
    'turn.completed',
    'turn.accepted',
    'delivery.injecting',
  ]);
});

it('Waiting messages share their turn with the ends of processes.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const work = await atWork(teamHarness);
  const { message } = await teamHarness.say('first');
  await harness.post('/v1/processes', {
    command: 'true',
    session_id: agents[1]?.id,
    on_exit: 'notify',
  });
  await harness.until(({ kind }) => kind === 'process.completed');
  work.end(completed);
  const turn = await harness.provider.nextTurn();
  expect(messageIdsIn(turn.text)).toEqual([message.id]);
  expect(turn.text).toMatch(
    /<\/team_message>\n<process_exit id="proc_[0-9a-f]+" status="completed">\nProcess proc_[0-9a-f]+ ended: completed/,
  );
  turn.end(completed);
  await harness.until(({ kind }) => kind === 'delivery.consumed');
});

it('Messages with the policy start_new_turn_only fail as recipient_busy.', async () => {
  const teamHarness = await testTeam();
  const work = await atWork(teamHarness);
  const { delivery } = await teamHarness.say('now or never', { policy: 'start_new_turn_only' });
  expect(delivery).toMatchObject({ status: 'failed', error: { code: 'recipient_busy' } });
  work.end(completed);
  await teamHarness.harness.until(({ kind }) => kind === 'turn.completed');
  expect((await teamHarness.retry(delivery)).body.status).toMatch(IN_A_TURN);
  await teamHarness.consumed(delivery);
});

it('Messages with immediate_interrupt interrupt a turn at once, even with a pending approval.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const work = await atWork(teamHarness);
  const asking = work.ask();
  const approval = await harness.asked(agents[1]?.id ?? '');
  const { delivery } = await teamHarness.say('stop', { policy: 'immediate_interrupt' });
  expect(delivery.status).toBe('pending');
  expect(await asking).toEqual({ decision: 'cancelled' });
  expect((await harness.approvals('?status=cancelled')).map(({ id }) => id)).toEqual([approval.id]);
  await work.cancelled;
  work.end(interrupted);
  const turn = await harness.provider.nextTurn();
  expect(turn.text).toContain('\nstop\n');
  await teamHarness.consumed(delivery, turn);
});

it('Messages with interrupt_after_tool_boundary interrupt a turn at once if no tool runs.', async () => {
  const teamHarness = await testTeam();
  const work = await atWork(teamHarness);
  const { delivery } = await teamHarness.say('stop', { policy: 'interrupt_after_tool_boundary' });
  expect(delivery.status).toBe('pending');
  await work.cancelled;
  work.end(interrupted);
  await teamHarness.consumed(delivery);
});

it('Messages with interrupt_after_tool_boundary wait for a running tool and for an approval.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const work = await atWork(teamHarness);
  const tool = (status: 'running' | 'completed') =>
    work.sink.update({ type: 'tool', ref: 'call', change: { title: 'build', status } });
  await tool('running');
  await harness.until(({ kind }) => kind === 'tool.started');
  const asking = work.ask();
  const approval = await harness.asked(agents[1]?.id ?? '');
  const { delivery } = await teamHarness.say('stop', { policy: 'interrupt_after_tool_boundary' });
  await harness.decide(approval, 'accept');
  expect((await asking).decision).toBe('accept');
  expect(work.agent.calls).toEqual(['prompt']);
  await tool('completed');
  await work.cancelled;
  const order = kinds(await harness.events(agents[1]?.id));
  expect(order.indexOf('turn.interrupt_requested')).toBeGreaterThan(
    order.indexOf('tool.completed'),
  );
  work.end(interrupted);
  await teamHarness.consumed(delivery);
});

it('The frame of a message names the message that it answers, and its correlation.', async () => {
  const { teamHarness, harness, team, agents } = await testTeam();
  const first = await teamHarness.say('a question', { correlation_id: 'the "one" <x>' });
  const asked = await harness.provider.nextTurn();
  expect(asked.text).toContain(' correlation_id="the &quot;one&quot; &lt;x&gt;">');
  await teamHarness.consumed(first.delivery, asked);
  await teamHarness.say('an answer', { reply_to_message_id: first.message.id });
  const answered = await harness.provider.nextTurn();
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
  const teamHarness = await testTeam();
  const body = { sender_agent_id: teamHarness.agents[0].id, input };
  const direct = await teamHarness.trySay({
    ...body,
    recipient_agent_id: teamHarness.agents[1]?.id,
  });
  expect(direct).toMatchObject({ status: 400, body: { code: 'invalid' } });
  const all = await teamHarness.harness.post(`${teamHarness.path}/broadcasts`, body);
  expect(all.status).toBe(400);
  const spawn = { source_session_id: teamHarness.agents[0].id, prompt: ' ' };
  expect((await teamHarness.harness.post(`${teamHarness.path}/members/spawn`, spawn)).status).toBe(
    400,
  );
});

it('Deliveries are listed by their recipient.', async () => {
  const teamHarness = await testTeam(3);
  const { body } = await teamHarness.broadcast('hello', { include_sender: true });
  const [, one] = teamHarness.agents;
  const found = await teamHarness.harness.get<Delivery[]>(
    `${teamHarness.path}/deliveries?recipient_agent_id=${one?.id}`,
  );
  expect(found.body.map(({ recipient_agent_id }) => recipient_agent_id)).toEqual([one?.id]);
  for (const _ of body.deliveries) (await teamHarness.harness.provider.nextTurn()).end(completed);
});

const stopped = async (teamHarness: TeamHarness) => {
  const { harness, agents } = teamHarness;
  const work = await atWork(teamHarness);
  const { delivery } = await teamHarness.say('wait');
  const { id, active_turn_id } = await harness.session(agents[1]?.id ?? '');
  await harness.interrupt(id, active_turn_id ?? '');
  await work.cancelled;
  work.end(interrupted);
  await harness.until(({ kind }) => kind === 'turn.interrupted');
  expect(await harness.session(id)).toMatchObject({ status: 'ready' });
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({ status: 'pending' });
  return delivery;
};

it('A message that waits only for the running turn of its recipient cannot be retried.', async () => {
  const teamHarness = await testTeam();
  const turn = await atWork(teamHarness);
  const { delivery } = await teamHarness.say('later');
  expect(await teamHarness.retry(delivery)).toMatchObject({
    status: 409,
    body: { code: 'delivery_state' },
  });
  turn.end(completed);
  (await teamHarness.harness.provider.nextTurn()).end(completed);
});

it('Waiting and new messages stay in the inbox after an interrupt.', async () => {
  const teamHarness = await testTeam();
  await stopped(teamHarness);
  const { delivery } = await teamHarness.say('later');
  expect(delivery.status).toBe('pending');
  const never = await teamHarness.say('now', { policy: 'start_new_turn_only' });
  expect(never.delivery.error?.code).toBe('recipient_busy');
});

const wakers: Record<
  string,
  (teamHarness: TeamHarness, delivery: { id: string }) => Promise<unknown>
> = {
  async 'the next turn from outside'({ harness, agents }) {
    (await harness.startTurn(agents[1] as { id: string }, 'go on')).end(completed);
  },
  'a retry of something that failed': async (teamHarness) => {
    const busy = await teamHarness.say('now', { policy: 'start_new_turn_only' });
    await teamHarness.retry(busy.delivery);
  },
  'a retry of what waits': async (teamHarness, delivery) => {
    const { status, body } = await teamHarness.retry(delivery);
    expect([status, body.status]).toEqual([200, expect.stringMatching(IN_A_TURN)]);
  },
  'an interrupting message': (teamHarness) =>
    teamHarness.say('now', { policy: 'immediate_interrupt' }),
};
it.each(Object.entries(wakers))('Waiting messages are delivered after %s.', async (_, wake) => {
  const teamHarness = await testTeam();
  const delivery = await stopped(teamHarness);
  await wake(teamHarness, delivery);
  const turn = await teamHarness.harness.provider.nextTurn();
  expect(messageIdsIn(turn.text)).toContain((await teamHarness.delivery(delivery.id)).message_id);
  await teamHarness.consumed(delivery, turn);
});

it('An interrupt of all members reaches the busy ones, and waiting messages stay in the inbox.', async () => {
  const { teamHarness, harness, agents, path } = await testTeam();
  const work = await atWork(teamHarness);
  const { delivery } = await teamHarness.say('wait');
  const { body } = await harness.post(`${path}/interrupt-all`);
  expect(body).toEqual({
    interrupted_session_ids: [agents[1]?.id],
    skipped_session_ids: [agents[0].id],
  });
  await work.cancelled;
  work.end(interrupted);
  await harness.until(({ kind }) => kind === 'turn.interrupted');
  expect((await teamHarness.delivery(delivery.id)).status).toBe('pending');
});

const refusing = (harness: Harness, times: number) => {
  for (let i = 0; i < times; i++)
    harness.provider.refuseOpen(new ProviderError('provider_unavailable', 'not just now'));
};

it('A turn that fails before it starts is retried after 1 s, then 2 s, then 4 s.', async () => {
  const { teamHarness, harness } = await testTeam();
  refusing(harness, 3);
  const { message, delivery } = await teamHarness.say('hello');
  await harness.times('delivery.deferred', 1);
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'deferred',
    attempts: 1,
    injected_turn_id: null,
    error: { code: 'provider_unavailable' },
  });
  for (const [failures, delay] of [
    [2, 1000],
    [3, 2000],
  ] as const) {
    harness.clock.advance(delay - 1);
    expect((await teamHarness.delivery(delivery.id)).attempts).toBe(failures - 1);
    harness.clock.advance(1);
    await harness.times('delivery.deferred', failures);
  }
  harness.clock.advance(4000);
  const turn = await harness.provider.nextTurn();
  expect(messageIdsIn(turn.text)).toEqual([message.id]);
  await teamHarness.consumed(delivery, turn);
});

it('Messages behind a failed delivery wait in order, and a retry delivers all at once.', async () => {
  const { teamHarness, harness } = await testTeam();
  refusing(harness, 1);
  const first = await teamHarness.say('first');
  await teamHarness.moved(first.delivery, 'deferred');
  const second = await teamHarness.say('second');
  expect(second.delivery.status).toBe('pending');
  expect((await teamHarness.retry(first.delivery)).body.status).toMatch(IN_A_TURN);
  const turn = await harness.provider.nextTurn();
  expect(messageIdsIn(turn.text)).toEqual([first.message.id, second.message.id]);
  turn.end(completed);
  await harness.times('delivery.consumed', 2);
});

it('A failed session fails its waiting deliveries.', async () => {
  const harness = await testHarness();
  const teamHarness = await makeTeam(harness);
  const [, recipient] = teamHarness.agents;
  (await harness.startTurn(recipient as { id: string })).end(completed);
  await harness.until(({ kind }) => kind === 'turn.completed');
  harness.provider.agents[0]?.die('gone');
  await harness.provider.agents[0]?.gone;
  harness.provider.refuseOpen(new ProviderError('resume_failed', 'I do not know it'));
  const { delivery } = await teamHarness.say('hello');
  await teamHarness.moved(delivery, 'failed');
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_failed' },
  });
  expect(kinds(await harness.events(recipient?.id)).slice(-4)).toEqual([
    'turn.failed',
    'delivery.deferred',
    'delivery.failed',
    'session.failed',
  ]);
  const late = await teamHarness.say('hello?');
  expect(late.delivery.error?.code).toBe('recipient_failed');
});

it('Closing a session fails its waiting deliveries, after its turn and before its own end.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const work = await atWork(teamHarness);
  const asking = work.ask();
  await harness.asked(agents[1]?.id ?? '');
  const { delivery } = await teamHarness.say('wait');
  await harness.close(agents[1]?.id ?? '');
  expect(await asking).toEqual({ decision: 'cancelled' });
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_closed' },
  });
  expect(kinds(await harness.events(agents[1]?.id)).slice(-4)).toEqual([
    'approval.resolved',
    'turn.interrupted',
    'delivery.failed',
    'session.closed',
  ]);
  const late = await teamHarness.say('hello?');
  expect(late.delivery).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_closed' },
  });
  expect((await teamHarness.retry(late.delivery)).body.error).toMatchObject({
    code: 'recipient_closed',
  });
});

it('A message is cancelled together with its waiting deliveries.', async () => {
  const { teamHarness, harness, agents } = await testTeam(3);
  const work = await atWork(teamHarness);
  const { body } = await teamHarness.broadcast('all of you');
  const [busy, idle] = [agents[1], agents[2]].map((agent) =>
    body.deliveries.find((one) => one.recipient_agent_id === agent?.id),
  );
  const turn = await harness.provider.nextTurn();
  const cancelled = await teamHarness.cancel(body.message);
  expect(cancelled.body.cancelled_at).not.toBeNull();
  expect((await teamHarness.delivery(busy?.id ?? '')).status).toBe('cancelled');
  expect((await teamHarness.delivery(idle?.id ?? '')).status).toBe('injected');
  expect((await teamHarness.cancel(body.message)).body.code).toBe('delivery_state');
  expect((await teamHarness.retry(busy as { id: string })).body.code).toBe('delivery_state');
  turn.end(completed);
  work.end(completed);
  await harness.times('turn.completed', 2);
  expect(await harness.session(agents[1]?.id ?? '')).toMatchObject({ status: 'ready' });
});

it('A message without recipients is stored without deliveries, and can be cancelled.', async () => {
  const teamHarness = await testTeam(1);
  const { body } = await teamHarness.broadcast('hello?');
  expect(body).toMatchObject({ message: { scope: 'broadcast' }, deliveries: [] });
  expect((await teamHarness.cancel(body.message)).status).toBe(200);
});

it('The sender is notified of the delivery if the message asks for that.', async () => {
  const teamHarness = await testTeam();
  const { body } = await teamHarness.broadcast('me too', { include_sender: true });
  expect(body.message.recipient_agent_ids).toEqual(teamHarness.agents.map(({ id }) => id));
  for (let i = 0; i < 2; i++) (await teamHarness.harness.provider.nextTurn()).end(completed);
  await teamHarness.harness.times('delivery.consumed', 2);
});

it('A message needs a sender and recipients in the team, and known values.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const stranger = await harness.open();
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
    const { status: given, body } = await teamHarness.trySay({ ...good, ...wrong });
    expect([wrong, given]).toEqual([wrong, status]);
    expect(body.error).toContain(said);
  }
  expect((await harness.get(`${teamHarness.path}/messages`)).body).toEqual([]);
});
