import type { Act } from './acts.ts';
import { done, refused } from './session-rules.ts';
import {
  activeTurn,
  type Answer,
  emit,
  type ModelDelivery,
  type ModelMessage,
  type ModelSession,
  sessionNamed,
  TEAM,
} from './state.ts';
import {
  atBoundary,
  beginNext,
  type Draft,
  endRest,
  interrupt,
  isFree,
  moveDelivery,
  obstacleOf,
} from './turns.ts';

const ranks = { high: 0, normal: 1, low: 2 };

export function message(draft: Draft, act: Act & { does: 'message' }): Answer {
  const { state } = draft;
  const { from, to, priority, policy } = act;
  if (state.isTeamDeleted) return refused(409, 'team_deleted');
  const isMember = (id: string) => state.members.includes(id);
  if (!isMember(from) || (to !== null && !isMember(to))) return refused(404, 'not_found');
  const recipients = to === null ? state.members.filter((id) => id !== from) : [to];
  const name = `m${state.messages.length + 1}`;
  const sent: ModelMessage = { name, policy, priority, isCancelled: false };
  state.messages.push(sent);
  emit(state, TEAM, `team.message_created ${name}`);
  for (const recipient of recipients) {
    const empty = { error: null, turn: null, isConsumed: false };
    const delivery = { name: `${name}>${recipient}`, message: name, to: recipient, ...empty };
    state.deliveries.push({ ...delivery, status: 'pending' });
    emit(state, recipient, `delivery.pending ${delivery.name} - -`);
  }
  const own = state.deliveries.filter((one) => one.message === name);
  for (const delivery of own) dispatch(draft, delivery, sent);
  return done(own.map(({ status }) => status).join(' '));
}

/** Puts a delivery into the inbox of its recipient, as the policy of its message says. */
function dispatch(draft: Draft, delivery: ModelDelivery, { policy, priority }: ModelMessage): void {
  const recipient = sessionNamed(draft.state, delivery.to);
  const obstacle = obstacleOf(draft, recipient);
  const isBusy = policy === 'start_new_turn_only' && !isFree(draft, recipient);
  const error = obstacle ?? (isBusy ? 'recipient_busy' : null);
  if (error !== null) {
    takeOut(recipient, delivery);
    return moveDelivery(draft, delivery.name, 'failed', { turn: null, error });
  }
  const wantsBoundary = policy === 'interrupt_after_tool_boundary';
  const waiting = recipient.inbox.find(({ name }) => name === delivery.name);
  if (waiting) waiting.wantsBoundary = wantsBoundary;
  else
    recipient.inbox.push({
      name: delivery.name,
      kind: 'team',
      rank: ranks[priority],
      at: null,
      isDue: true,
      status: 'waiting',
      hold: null,
      turn: null,
      wantsBoundary,
    });
  if (wantsBoundary || policy === 'immediate_interrupt') endRest(recipient);
  if (wantsBoundary) atBoundary(draft, recipient);
  const turn = activeTurn(recipient);
  if (policy === 'immediate_interrupt' && turn) interrupt(draft, recipient, turn);
  beginNext(draft, recipient);
}

function takeOut(session: ModelSession, { name }: ModelDelivery): void {
  session.inbox = session.inbox.filter((one) => one.name !== name);
}

function giveUp(draft: Draft, delivery: ModelDelivery, error: string | null): void {
  takeOut(sessionNamed(draft.state, delivery.to), delivery);
  const status = error === null ? 'cancelled' : 'failed';
  moveDelivery(draft, delivery.name, status, { turn: null, error });
}

function waits({ status }: ModelDelivery): boolean {
  return status === 'pending' || status === 'deferred';
}

export function cancelMessage(draft: Draft, act: Act & { does: 'cancel_message' }): Answer {
  const { state } = draft;
  if (state.isTeamDeleted) return refused(409, 'team_deleted');
  const found = state.messages.find(({ name }) => name === act.message);
  if (!found) return refused(404, 'not_found');
  const own = state.deliveries.filter((one) => one.message === found.name);
  if (own.length > 0 && !own.some(waits)) return refused(409, 'delivery_state');
  if (!found.isCancelled) emit(state, TEAM, `team.message_cancelled ${found.name}`);
  found.isCancelled = true;
  for (const delivery of own.filter(waits)) giveUp(draft, delivery, null);
  return done('cancelled');
}

export function retry(draft: Draft, act: Act & { does: 'retry' }): Answer {
  const { state } = draft;
  if (state.isTeamDeleted) return refused(409, 'team_deleted');
  const delivery = state.deliveries.find(({ name }) => name === act.delivery);
  const sent = state.messages.find(({ name }) => name === delivery?.message);
  if (!delivery || !sent) return refused(404, 'not_found');
  const recipient = sessionNamed(state, delivery.to);
  const isWaiting = recipient.waitUntil !== null && recipient.waitUntil > state.now;
  if (delivery.status === 'pending' && (recipient.isStopped || isWaiting)) {
    endRest(recipient);
    beginNext(draft, recipient);
    return done(delivery.status);
  }
  const isLost = delivery.status === 'injected' && delivery.error !== null;
  if (delivery.status !== 'failed' && delivery.status !== 'deferred' && !isLost)
    return refused(409, 'delivery_state');
  moveDelivery(draft, delivery.name, 'pending', { turn: null, error: null });
  endRest(recipient);
  dispatch(draft, delivery, sent);
  return done(delivery.status);
}

export function leave(draft: Draft, { session: id }: { session: string }): Answer {
  const { state } = draft;
  if (state.isTeamDeleted) return refused(409, 'team_deleted');
  if (!state.members.includes(id)) return refused(404, 'not_found');
  if (state.members.length === 1) return refused(409, 'conflict');
  for (const delivery of state.deliveries)
    if (delivery.to === id && waits(delivery)) giveUp(draft, delivery, 'recipient_left');
  state.members = state.members.filter((one) => one !== id);
  emit(state, id, `team.member_left ${id}`);
  if (state.lead === id) {
    state.lead = state.members[0] ?? '';
    emit(state, TEAM, `team.lead_changed ${state.lead}`);
  }
  return done(membersOf(draft));
}

export function join(draft: Draft, { session: id }: { session: string }): Answer {
  const { state } = draft;
  if (state.isTeamDeleted) return refused(409, 'team_deleted');
  if (sessionNamed(state, id).status === 'closed') return refused(409, 'session_closed');
  if (state.members.includes(id)) return refused(409, 'already_member');
  state.members.push(id);
  emit(state, id, `team.member_joined ${id}`);
  return done(membersOf(draft));
}

function membersOf({ state }: Draft): string {
  return `${state.members.join(' ')}, led by ${state.lead}`;
}

export function deleteTeam(draft: Draft): Answer {
  const { state } = draft;
  if (state.isTeamDeleted) return done('', 204);
  for (const delivery of state.deliveries.filter(waits)) giveUp(draft, delivery, null);
  state.isTeamDeleted = true;
  emit(state, TEAM, 'team.deleted');
  return done('', 204);
}

export function interruptAll(draft: Draft): Answer {
  const { state } = draft;
  if (state.isTeamDeleted) return refused(409, 'team_deleted');
  const interrupted = state.members.filter((id) => {
    const session = sessionNamed(state, id);
    const turn = activeTurn(session);
    if (!turn) return false;
    session.isStopped = true;
    interrupt(draft, session, turn);
    return true;
  });
  return done(interrupted.join(' '));
}
