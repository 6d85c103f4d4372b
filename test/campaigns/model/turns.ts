import { count } from './budget-rules.ts';
import {
  activeTurn,
  emit,
  type End,
  hasEnded,
  KILL_MS,
  type ModelApproval,
  type ModelEntry,
  type ModelSession,
  type ModelState,
  type ModelTurn,
  pendingOf,
  RETRY_MS,
  turnNamed,
  TURN_MS,
} from './state.ts';

/** A change of the model that follows a transaction, as the agent or the server reacts to it. */
export type Reaction = { session: string; does: 'start' | 'cancel' | 'exit'; name: string };

/** A state that is being changed, and what is to follow. */
export interface Draft {
  state: ModelState;
  reactions: Reaction[];
  /** Whether the agent of a session ends its turn at once when it is asked to. */
  isObedient: (session: string) => boolean;
}

/** Whether an entry of the inbox of a session would become a turn now. */
export function isFree({ state }: Draft, session: ModelSession): boolean {
  const isWaiting = session.waitUntil !== null && session.waitUntil > state.now;
  const isSpent = state.budgets.some((one) => one.session === session.id && one.status !== 'open');
  return (
    session.status === 'ready' &&
    !session.isStopped &&
    !isWaiting &&
    session.pause === null &&
    !isSpent
  );
}

/** The rest after an interrupt, and the wait for an agent, end: somebody wants the next turn. */
export function endRest(session: ModelSession): void {
  session.isStopped = false;
  session.waitUntil = null;
  session.failures = 0;
}

export function waitingOf(session: ModelSession): ModelEntry[] {
  const free = session.inbox.filter(({ turn, status }) => turn === null && status === 'waiting');
  return free.toSorted((one, other) => one.rank - other.rank);
}

/** All messages that wait for an idle session become one turn; a queued prompt becomes a turn of its own. */
export function beginNext(draft: Draft, session: ModelSession): void {
  if (!isFree(draft, session)) return;
  const waiting = waitingOf(session);
  const [first] = waiting;
  if (!first) return;
  if (first.kind === 'queue') return void accept(draft, session, 'queue', [first]);
  const firstPrompt = waiting.findIndex(({ kind }) => kind === 'queue');
  const messages = firstPrompt < 0 ? waiting : waiting.slice(0, firstPrompt);
  accept(draft, session, first.kind === 'team' ? 'team_message' : 'process_exit', messages);
}

/** Accepts a turn. An idle agent begins it in the same transaction. */
export function accept(
  draft: Draft,
  session: ModelSession,
  source: ModelTurn['source'],
  entries: readonly ModelEntry[],
): ModelTurn {
  const isIdle = session.hasAgent && session.idleSince !== Infinity;
  const turn: ModelTurn = {
    name: `t${session.turns.length + 1}`,
    status: 'accepted',
    source,
    error: null,
    hasAgent: false,
    isInterrupting: false,
    killAt: null,
    limitAt: null,
    hasItems: false,
    hasOpenTool: false,
    entries: entries.map(({ name }) => name),
    grants: [],
  };
  session.turns.push(turn);
  session.status = 'running';
  emit(draft.state, session.id, `turn.accepted ${turn.name} ${source}`);
  for (const entry of entries) {
    entry.turn = turn.name;
    if (entry.kind === 'queue') moveEntry(draft, session, entry, 'running', 'changed');
    else if (entry.kind === 'team')
      moveDelivery(draft, entry.name, 'injecting', { turn: turn.name });
  }
  if (isIdle) begin(draft, session, turn);
  else draft.reactions.push({ session: session.id, does: 'start', name: turn.name });
  return turn;
}

/** Starts the agent of a turn, unless its provider refuses, and the turn with it. */
export function start(draft: Draft, session: ModelSession, turn: ModelTurn): void {
  if (hasEnded(turn)) return;
  const refusal = session.hasAgent ? undefined : draft.state.refusals.shift();
  if (refusal === undefined) return begin(draft, session, turn);
  end(draft, session, turn, {
    status: 'failed',
    error: refusal,
    isLast: refusal === 'resume_failed',
  });
  if (refusal === 'resume_failed') failSession(draft, session);
}

function begin(draft: Draft, session: ModelSession, turn: ModelTurn): void {
  session.hasAgent = true;
  session.idleSince = Infinity;
  turn.grants = session.approvals.flatMap((one) =>
    one.turn === turn.name && one.isHeld ? [one.subject] : [],
  );
  for (const approval of session.approvals) approval.isHeld = false;
  turn.status = 'running';
  turn.hasAgent = true;
  turn.limitAt = draft.state.now + TURN_MS;
  session.status = 'running';
  if (session.waitUntil !== null) endRestOfAgent(session);
  emit(draft.state, session.id, `turn.started ${turn.name}`);
  for (const entry of entriesOf(session, turn)) {
    if (entry.kind === 'queue') moveEntry(draft, session, entry, 'running', 'started');
    else if (entry.kind === 'team') moveDelivery(draft, entry.name, 'injected', {});
  }
}

function endRestOfAgent(session: ModelSession): void {
  session.waitUntil = null;
  session.failures = 0;
}

export interface TurnEnd {
  status: End;
  error: string | null;
  /** Whether the session ends with it. */
  isLast?: boolean;
  /** Whether the server stops: nothing of the inbox starts. */
  isStopping?: boolean;
}

/** Ends a turn: its approvals are cancelled, its entries move on, and the next turn begins. */
export function end(
  draft: Draft,
  session: ModelSession,
  turn: ModelTurn,
  { status: said, error, isLast = false, isStopping = false }: TurnEnd,
): void {
  if (hasEnded(turn)) return;
  const isUnseen = turn.limitAt === null && turn.status === 'accepted';
  const isOverruled = turn.isInterrupting && said !== 'interrupted';
  const status = isOverruled ? 'interrupted' : said;
  cancelApprovals(draft, session, turn);
  closeTool(draft, session, turn, status === 'completed' ? 'completed' : status);
  if (status === 'completed' && !turn.hasItems)
    emit(draft.state, session.id, `session.notice turn_without_items ${turn.name}`);
  turn.error = isOverruled ? turn.error : (error ?? turn.error);
  turn.status = status;
  if (turn.hasAgent) session.idleSince = draft.state.now;
  turn.hasAgent = false;
  session.status = 'ready';
  emit(draft.state, session.id, `turn.${status} ${turn.name} ${turn.error ?? '-'}`);
  if (!isUnseen) count(draft, session, turn);
  settleEntries(draft, session, turn, isUnseen);
  if (!isLast && !isStopping) beginNext(draft, session);
}

function settleEntries(
  draft: Draft,
  session: ModelSession,
  turn: ModelTurn,
  isUnseen: boolean,
): void {
  const entries = entriesOf(session, turn);
  for (const entry of entries) {
    entry.turn = null;
    const stays = isUnseen
      ? deferEntry(draft, session, entry, turn)
      : endEntry(draft, session, entry, turn);
    if (!stays) session.inbox = session.inbox.filter((one) => one !== entry);
  }
  if (!isUnseen || turn.status !== 'failed' || entries.length === 0) return;
  session.failures += 1;
  session.waitUntil = draft.state.now + RETRY_MS * 2 ** (session.failures - 1);
  session.tries.push(session.waitUntil);
}

function deferEntry(
  draft: Draft,
  session: ModelSession,
  entry: ModelEntry,
  turn: ModelTurn,
): boolean {
  if (entry.kind === 'queue') {
    moveEntry(draft, session, entry, 'waiting', 'changed');
    return true;
  }
  if (entry.kind === 'process') return true;
  const obstacle = obstacleOf(draft, session);
  const message = draft.state.messages.find(({ name }) => entry.name.startsWith(`${name}>`));
  const isOver = message?.isCancelled === true || draft.state.isTeamDeleted;
  if (isOver) moveDelivery(draft, entry.name, 'cancelled', { turn: null, error: null });
  else if (obstacle) moveDelivery(draft, entry.name, 'failed', { turn: null, error: obstacle });
  else
    moveDelivery(draft, entry.name, 'deferred', {
      turn: null,
      error: turn.error ?? `turn_${turn.status}`,
    });
  return !isOver && obstacle === null;
}

function endEntry(
  draft: Draft,
  session: ModelSession,
  entry: ModelEntry,
  turn: ModelTurn,
): boolean {
  const isCompleted = turn.status === 'completed';
  if (entry.kind === 'queue') {
    emit(draft.state, session.id, `queue.finished ${entry.name} ${turn.status}`);
    emit(draft.state, session.id, `queue.removed ${entry.name} done`);
  } else if (entry.kind === 'process') return false;
  else if (isCompleted) moveDelivery(draft, entry.name, 'injected', { isConsumed: true });
  else moveDelivery(draft, entry.name, 'injected', { error: turn.error ?? `turn_${turn.status}` });
  return false;
}

/** Why no message can reach a session; null if one can. */
export function obstacleOf({ state }: Draft, { id, status }: ModelSession): string | null {
  if (!state.members.includes(id)) return 'recipient_left';
  return status === 'closed' || status === 'failed' ? `recipient_${status}` : null;
}

export function entriesOf(session: ModelSession, turn: ModelTurn): ModelEntry[] {
  const own = session.inbox.filter((entry) => entry.turn === turn.name);
  return own.toSorted((one, other) => one.rank - other.rank);
}

export function moveEntry(
  { state }: Draft,
  session: ModelSession,
  entry: ModelEntry,
  status: ModelEntry['status'],
  event: string,
): void {
  entry.status = status;
  emit(state, session.id, `queue.${event} ${entry.name} ${status}`);
}

export function moveDelivery(
  { state }: Draft,
  name: string,
  status: ModelState['deliveries'][number]['status'],
  change: Partial<ModelState['deliveries'][number]>,
): void {
  const delivery = state.deliveries.find((one) => one.name === name);
  if (!delivery) throw new Error(`the model has no delivery ${name}`);
  const error = status === 'injecting' ? null : delivery.error;
  Object.assign(delivery, { error }, change, { status });
  const kind = change.isConsumed === true ? 'consumed' : status;
  const { to, turn, error: why } = delivery;
  emit(state, to, `delivery.${kind} ${name} ${turn ?? '-'} ${why ?? '-'}`);
}

/** Stores an interrupt. The agent is asked to end the turn after that; a turn without an agent ends at once. */
export function interrupt(
  draft: Draft,
  session: ModelSession,
  turn: ModelTurn,
  error: string | null = null,
): void {
  if (hasEnded(turn)) return;
  if (!turn.isInterrupting) {
    turn.isInterrupting = true;
    turn.error = error;
    emit(draft.state, session.id, `turn.interrupt_requested ${turn.name}`);
    cancelApprovals(draft, session, turn);
  }
  if (!turn.hasAgent && turn.limitAt !== null)
    return end(draft, session, turn, { status: 'interrupted', error });
  draft.reactions.push({ session: session.id, does: 'cancel', name: turn.name });
}

/** The agent of a turn is asked to end it. */
export function cancel(draft: Draft, session: ModelSession, turn: ModelTurn): void {
  if (hasEnded(turn)) return;
  turn.killAt ??= draft.state.now + KILL_MS;
  if (draft.isObedient(session.id))
    end(draft, session, turn, { status: 'interrupted', error: null });
}

function cancelApprovals(draft: Draft, session: ModelSession, turn: ModelTurn): void {
  for (const approval of pendingOf(session, turn)) resolve(draft, session, approval, 'cancelled');
  for (const approval of session.approvals) approval.isHeld = false;
}

export function resolve(
  { state }: Draft,
  session: ModelSession,
  approval: ModelApproval,
  status: ModelApproval['status'],
): void {
  approval.status = status;
  emit(state, session.id, `approval.resolved ${approval.name} ${status}`);
  const turn = turnNamed(session, approval.turn);
  if (!turn || hasEnded(turn) || turn.status !== 'waiting_for_approval') return;
  if (pendingOf(session, turn).length > 0) return;
  turn.status = 'running';
  session.status = 'running';
}

/** A message that interrupts at a tool boundary does so when no tool runs and no approval is pending. */
export function atBoundary(draft: Draft, session: ModelSession): void {
  const turn = activeTurn(session);
  const isWanted = waitingOf(session).some(({ wantsBoundary }) => wantsBoundary);
  if (!turn || !isWanted || turn.isInterrupting) return;
  if (turn.hasOpenTool || pendingOf(session, turn).length > 0) return;
  interrupt(draft, session, turn);
}

export function closeTool(
  { state }: Draft,
  session: ModelSession,
  turn: ModelTurn,
  status: string,
): void {
  if (!turn.hasOpenTool) return;
  turn.hasOpenTool = false;
  emit(state, session.id, `tool.completed ${turn.name} ${status}`);
}

/** Gives up what waits for a session that was closed or has failed. */
export function giveUp(draft: Draft, session: ModelSession, status: 'closed' | 'failed'): void {
  for (const entry of session.inbox.filter(({ turn }) => turn === null)) {
    if (entry.kind === 'team') {
      moveDelivery(draft, entry.name, 'failed', { turn: null, error: `recipient_${status}` });
      session.inbox = session.inbox.filter((one) => one !== entry);
    } else if (entry.kind === 'process') {
      // A session that has failed may be resumed.
      if (status === 'closed') session.inbox = session.inbox.filter((one) => one !== entry);
    } else if (entry.hold !== 'paused' || status === 'closed') {
      entry.hold = `session_${status}`;
      moveEntry(draft, session, entry, 'held', 'held');
    }
  }
  endRest(session);
  if (status === 'closed') session.pause = null;
}

function failSession(draft: Draft, session: ModelSession): void {
  giveUp(draft, session, 'failed');
  session.status = 'failed';
  emit(draft.state, session.id, 'session.failed failed');
}
