import type { Act } from './acts.ts';
import { isCounted, applyBudget } from './budget-rules.ts';
import {
  activeTurn,
  type Answer,
  emit,
  hasEnded,
  type ModelApproval,
  type ModelEntry,
  type ModelSession,
  pendingOf,
  processesOf,
  sessionNamed,
  turnNamed,
} from './state.ts';
import {
  accept,
  atBoundary,
  beginNext,
  type Draft,
  end,
  endRest,
  giveUp,
  interrupt,
  moveEntry,
  resolve,
} from './turns.ts';

export function done(says: string, status = 200): Answer {
  return { status, code: null, says, isReplayed: false };
}

export function refused(status: number, code: string): Answer {
  return { status, code, says: null, isReplayed: false };
}

/** Names are unique in the whole server: names of turns, approvals and entries begin with their session. */
export function own(session: ModelSession, name: string): string {
  return `${session.id}.${name}`;
}

function isClosed({ status }: ModelSession): Answer | null {
  return status === 'closed' ? refused(409, 'session_closed') : null;
}

function isOver(session: ModelSession): Answer | null {
  if (session.status === 'failed') return refused(409, 'session_failed');
  return isClosed(session);
}

export function send(draft: Draft, { session: id, expected }: Act & { does: 'send' }): Answer {
  const session = sessionNamed(draft.state, id);
  const last = session.turns.at(-1);
  if (expected !== null && (!last || expected !== own(session, last.name)))
    return refused(409, 'turn_conflict');
  const over = isOver(session);
  if (over) return over;
  if (activeTurn(session)) return refused(409, 'turn_in_progress');
  if (draft.state.budgets.some((one) => one.session === id && one.status !== 'open'))
    return refused(409, 'budget_reached');
  endRest(session);
  return done(accept(draft, session, 'user', []).name);
}

export function interruptTurn(draft: Draft, act: Act & { does: 'interrupt' }): Answer {
  const session = sessionNamed(draft.state, act.session);
  const turn = session.turns.find(({ name }) => own(session, name) === act.turn);
  if (!turn) return refused(404, 'not_found');
  if (hasEnded(turn)) return refused(409, 'turn_not_active');
  session.isStopped = true;
  interrupt(draft, session, turn);
  return done(`${turn.name} ${turn.status}`, 202);
}

export function decide(draft: Draft, act: Act & { does: 'decide' }): Answer {
  if (act.decision === 'maybe') return refused(400, 'invalid');
  const session = sessionNamed(draft.state, act.session);
  const approval = session.approvals.find(({ name }) => own(session, name) === act.approval);
  if (!approval) return refused(404, 'not_found');
  if (approval.status !== 'pending') return refused(409, 'approval_resolved');
  const status = act.decision === 'accept' ? 'accepted' : 'declined';
  settle(draft, session, approval, status);
  return done(status);
}

/** Resolves an approval. A turn without an agent continues once nothing is pending, or ends if a request was declined. */
export function settle(
  draft: Draft,
  session: ModelSession,
  approval: ModelApproval,
  status: 'accepted' | 'declined' | 'expired',
): void {
  const turn = turnNamed(session, approval.turn);
  const isLeft = turn?.status === 'waiting_for_approval' && !turn.hasAgent;
  if (isLeft) {
    approval.status = status;
    emit(draft.state, session.id, `approval.resolved ${approval.name} ${status}`);
  } else resolve(draft, session, approval, status);
  if (approval.subject < 0) return settleBudget(draft, session, approval);
  atBoundary(draft, session);
  if (!turn || !isLeft) return;
  if (status !== 'accepted')
    return end(draft, session, turn, { status: 'interrupted', error: null });
  approval.isHeld = true;
  if (pendingOf(session, turn).length === 0)
    draft.reactions.push({ session: session.id, does: 'start', name: turn.name });
}

function settleBudget(draft: Draft, session: ModelSession, approval: ModelApproval): void {
  const budget = draft.state.budgets.find(
    (one) => one.approval === approval.name && one.session === session.id,
  );
  if (!budget || budget.status !== 'reached') return;
  if (approval.status !== 'accepted') {
    budget.status = 'declined';
    emit(draft.state, session.id, 'budget.declined');
    return;
  }
  Object.assign(budget, { status: 'open', approval: null, allowed: budget.spent + budget.limit });
  emit(draft.state, session.id, 'budget.released');
  beginNext(draft, session);
}

export function setBudget(draft: Draft, { session: id, turns }: Act & { does: 'budget' }): Answer {
  const session = sessionNamed(draft.state, id);
  const closed = isClosed(session);
  if (closed) return closed;
  const before = draft.state.budgets.find((one) => one.session === id);
  const asked = session.approvals.find(({ name }) => name === before?.approval);
  if (asked?.status === 'pending') resolve(draft, session, asked, 'cancelled');
  const spent = session.turns.filter(isCounted).length;
  const budget = {
    session: id,
    limit: turns,
    allowed: turns,
    spent,
    status: 'open' as const,
    approval: null,
  };
  draft.state.budgets = [...draft.state.budgets.filter((one) => one !== before), budget];
  emit(draft.state, id, 'budget.set');
  applyBudget(draft, session, null);
  const now = draft.state.budgets.find((one) => one.session === id);
  if (before && before.status !== 'open' && now?.status === 'open') {
    emit(draft.state, id, 'budget.released');
    beginNext(draft, session);
  }
  return done(`${now?.status} ${spent}`);
}

export function close(draft: Draft, { session: id }: { session: string }): Answer {
  const session = sessionNamed(draft.state, id);
  if (session.status === 'closed') return done('closed');
  const turn = activeTurn(session);
  if (turn) end(draft, session, turn, { status: 'interrupted', error: null, isLast: true });
  giveUp(draft, session, 'closed');
  for (const budget of draft.state.budgets.filter((one) => one.session === id)) {
    const asked = session.approvals.find(({ name }) => name === budget.approval);
    if (asked?.status === 'pending') resolve(draft, session, asked, 'cancelled');
    emit(draft.state, id, 'budget.removed');
  }
  draft.state.budgets = draft.state.budgets.filter((one) => one.session !== id);
  session.status = 'closed';
  session.hasAgent = false;
  emit(draft.state, id, 'session.closed closed');
  return done('closed');
}

export function resume(draft: Draft, { session: id }: { session: string }): Answer {
  const session = sessionNamed(draft.state, id);
  const closed = isClosed(session);
  if (closed || session.status !== 'failed') return closed ?? done(session.status);
  session.status = 'ready';
  emit(draft.state, id, 'session.resumed ready');
  for (const entry of session.inbox)
    if (entry.hold === 'session_failed') release(draft, session, entry);
  beginNext(draft, session);
  return done('ready');
}

/** Ends the hold of an entry. One whose time has come meanwhile is due. */
function release(draft: Draft, session: ModelSession, entry: ModelEntry): void {
  entry.hold = null;
  const isAhead = entry.at !== null && entry.at > draft.state.now;
  const isNew = entry.at !== null && !isAhead && !entry.isDue;
  moveEntry(
    draft,
    session,
    entry,
    entry.turn ? 'running' : isAhead ? 'scheduled' : 'waiting',
    'released',
  );
  if (isNew) becomeDue(draft, session, entry);
  else if (!isAhead) beginNext(draft, session);
}

export function becomeDue(draft: Draft, session: ModelSession, entry: ModelEntry): void {
  entry.isDue = true;
  moveEntry(draft, session, entry, 'waiting', 'due');
  beginNext(draft, session);
}

export function queue(draft: Draft, { session: id, at }: Act & { does: 'queue' }): Answer {
  const session = sessionNamed(draft.state, id);
  const over = isOver(session);
  if (over) return over;
  const isAhead = at !== null && at > draft.state.now;
  const entry: ModelEntry = {
    name: `q${++session.entries}`,
    kind: 'queue',
    rank: 1,
    at,
    isDue: !isAhead,
    status: isAhead ? 'scheduled' : 'waiting',
    hold: null,
    turn: null,
    wantsBoundary: false,
  };
  session.inbox.push(entry);
  emit(draft.state, id, `queue.added ${entry.name} ${entry.status}`);
  if (!isAhead) {
    endRest(session);
    beginNext(draft, session);
  }
  return done(`${entry.name} ${entry.status} ${positionOf(session, entry)}`);
}

export function run(draft: Draft, act: Act & { does: 'run' }): Answer {
  const session = sessionNamed(draft.state, act.session);
  const over = isOver(session);
  if (over) return over;
  const name = `p${session.processes.length + 1}`;
  session.processes.push({ name, code: act.code, notifies: act.notifies });
  emit(draft.state, processesOf(session.id), `process.queued ${name}`);
  draft.reactions.push({ session: session.id, does: 'exit', name });
  return done(`${name} queued`);
}

/** A command has run. Its owner gets a turn about its end, if that was asked for. */
export function exit(draft: Draft, session: ModelSession, name: string): void {
  const process = session.processes.find((one) => one.name === name);
  if (!process) return;
  const end = process.code === 0 ? 'completed' : 'failed';
  emit(draft.state, processesOf(session.id), `process.started ${name}`);
  emit(draft.state, processesOf(session.id), `process.${end} ${name} ${process.code}`);
  if (!process.notifies) return;
  session.inbox.push({
    name,
    kind: 'process',
    rank: 1,
    at: null,
    isDue: true,
    status: 'waiting',
    hold: null,
    turn: null,
    wantsBoundary: false,
  });
  beginNext(draft, session);
}

function positionOf({ inbox }: ModelSession, entry: ModelEntry): number {
  return inbox.filter(({ kind }) => kind === 'queue').indexOf(entry) + 1;
}

export function pauseQueue(draft: Draft, act: Act & { does: 'pause_queue' }): Answer {
  const session = sessionNamed(draft.state, act.session);
  if (act.until !== null && act.until <= draft.state.now) return refused(400, 'invalid');
  const closed = isClosed(session);
  if (closed) return closed;
  session.pause = { until: act.until };
  emit(draft.state, session.id, 'queue.session_held paused');
  return done(holdsOf(draft, session));
}

export function resumeQueue(draft: Draft, { session: id }: { session: string }): Answer {
  const session = sessionNamed(draft.state, id);
  const closed = isClosed(session);
  if (closed) return closed;
  endPause(draft, session);
  endRest(session);
  beginNext(draft, session);
  return done(holdsOf(draft, session));
}

export function endPause({ state }: Draft, session: ModelSession): void {
  if (session.pause === null) return;
  session.pause = null;
  emit(state, session.id, 'queue.session_released paused');
}

function holdsOf({ state }: Draft, session: ModelSession): string {
  const holds = [
    session.status === 'failed' ? 'session_failed' : [],
    session.waitUntil !== null && session.waitUntil > state.now ? 'no_agent' : [],
    session.isStopped ? 'stopped' : [],
    session.pause === null ? [] : 'paused',
    state.budgets.some((one) => one.session === session.id && one.status !== 'open')
      ? 'budget'
      : [],
  ];
  return holds.flat().join(' ');
}

export function changeEntry(
  draft: Draft,
  act: Act & { does: 'pause_entry' | 'resume_entry' | 'drop_entry' },
): Answer {
  const session = sessionNamed(draft.state, act.session);
  const entry = session.inbox.find(({ name }) => own(session, name) === act.entry);
  if (!entry) return refused(404, 'not_found');
  if (act.does === 'resume_entry') {
    const over = isOver(session);
    if (over) return over;
    if (entry.hold !== null) release(draft, session, entry);
    return done(entry.status);
  }
  if (entry.turn !== null) return refused(409, 'conflict');
  if (act.does === 'drop_entry') {
    session.inbox = session.inbox.filter((one) => one !== entry);
    emit(draft.state, session.id, `queue.removed ${entry.name} dropped`);
    return done(entry.status);
  }
  if (entry.hold === null || entry.hold === 'session_failed') {
    entry.hold = 'paused';
    moveEntry(draft, session, entry, 'held', 'held');
  }
  return done(entry.status);
}
