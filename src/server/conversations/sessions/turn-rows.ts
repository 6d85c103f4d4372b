import { isDeepStrictEqual } from 'node:util';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { Agent, TurnOutcome } from '../../../agents/provider.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { SessionStore } from './store.ts';
import { startTurn, withTurnEnd } from './turn.ts';
import type { Approval } from '../../../api/approvals.ts';
import { resolveApproval } from '../approvals/approval.ts';
import { closeStoredItems } from './items.ts';
import type { TurnOutput } from './output.ts';
import { endTurn, failSession } from './session.ts';

interface Parts extends Pick<ServerParts, 'log' | 'clock' | 'ids'> {
  store: SessionStore;
  inbox: Inbox;
}

type Rows = Pick<Parts, 'log' | 'clock' | 'store'>;

type Server = Pick<Agent, 'ref' | 'defaults' | 'asks' | 'isForked' | 'output'>;

interface Outputs {
  /** Stores that an agent is about to see a turn. */
  begin: (tx: Writer, turn: Turn, agent: Server) => void;
}

/** Stores that an agent is about to see a turn that has not ended. After a crash the turn counts as seen. */
export function beginTurnInRows(
  tx: Writer,
  turn: Turn,
  agent: Server,
  { store, inbox, outputs, clock, ids }: Omit<Parts, 'log'> & { outputs: Outputs },
): void {
  releaseHeld(tx, turn.turn_id, store);
  const started_at = clock.now();
  const session: Session = {
    ...servedBy(store.session(tx, turn.session_id), agent),
    last_activity_at: started_at,
    status: 'running',
  };
  const started = { ...startTurn(turn, started_at), provider_turn_ref: ids.next('run') };
  store.moveTurn(tx, session, started, 'turn.started');
  inbox.turnStarted(tx, started);
  outputs.begin(tx, started, agent);
}

/** Stores that another agent is about to see a turn that has begun. */
export function changeAgentInRows(
  tx: Writer,
  { session_id }: Turn,
  agent: Server,
  store: SessionStore,
): void {
  const session = store.session(tx, session_id);
  const served = servedBy(session, agent);
  if (!isDeepStrictEqual(served, session)) store.updateSession(tx, served, 'session.updated');
}

function servedBy(session: Session, { ref, defaults, asks, isForked }: Server): Session {
  const { forked_from: origin, provider_session_ref: before } = session;
  const hasForked = isForked ?? (before === null ? false : undefined);
  const way = hasForked ? ('agent' as const) : ('record' as const);
  return {
    ...session,
    ...(origin && hasForked !== undefined && { forked_from: { ...origin, way } }),
    provider_session_ref: ref,
    agent_asks: asks ?? null,
    provider_defaults: {
      permission_mode: defaults.permissionMode,
      agent_mode: defaults.agentMode,
      model: defaults.model,
      thinking_effort: defaults.thinkingEffort,
    },
  };
}

/** Cancels the pending approvals of a turn, or some of them, and returns these. */
export function cancelApprovals(
  tx: Writer,
  turn: Turn,
  reason: string,
  { store, clock }: Pick<Rows, 'store' | 'clock'>,
  isOver: (approval: Approval) => boolean = () => true,
): Approval[] {
  return store.pendingApprovals(tx, turn.turn_id).flatMap((approval) => {
    if (!isOver(approval)) return [];
    const cancelled = resolveApproval(approval, { status: 'cancelled', reason }, clock.now());
    store.resolveApproval(tx, cancelled);
    return cancelled;
  });
}

/** Clears `held` of approvals without an agent: the new agent is about to read them, or the turn has ended. */
function releaseHeld(tx: Writer, turnId: string, store: SessionStore): void {
  for (const approval of store.approvalsOf(tx, turnId))
    if (approval.held) store.approvals.update(tx, { ...approval, held: false });
}

/**
 * Ends a turn that has not ended: cancels its approvals, closes its open items and frees its session. If an interrupt
 * of the turn is stored, the turn ends as interrupted, with the error stored with the interrupt, and the outcome that
 * its agent reports is ignored. Open items are closed from `output`, which holds the agent's text in memory; without
 * one, or if one of its writes failed, from the stored rows, with the usage that was stored last.
 */
export function endTurnInRows(
  tx: Writer,
  turn: Turn,
  outcome: TurnOutcome,
  rows: Rows,
  output?: TurnOutput,
): { ended: Turn; cancelled: Approval[] } {
  const { store, clock } = rows;
  const cancelled = cancelApprovals(tx, turn, 'the turn ended', rows);
  releaseHeld(tx, turn.turn_id, store);
  const { status, error } = outcomeOf(turn, outcome);
  const closed = output?.close(tx, status, outcome.usage) ?? {
    text: null,
    usage: rows.log.lastUsage(tx, turn.session_id, turn.turn_id),
  };
  const isWhole = output !== undefined && !output.broken;
  if (!isWhole) closeStoredItems(tx, store.openItems(tx, turn.turn_id), status, rows);
  // Items may be many and large: they are read only if the output has not had all of them.
  const before = output?.isComplete === true ? null : store.lastMessage(tx, turn.turn_id);
  const text = (isWhole ? closed.text : null) ?? before;
  const isSilent = status === 'completed' && text === null && output?.isSilent !== false;
  if (isSilent) noteNoItems(tx, turn, rows);
  const { ref } = outcome;
  const result = { text, usage: closed.usage, ...(ref !== undefined && { agent_turn_ref: ref }) };
  const ended = withTurnEnd(turn, { status, error }, result, clock.now());
  const session = endTurn(store.session(tx, turn.session_id), ended, clock.now());
  store.endTurn(tx, session, ended, status);
  return { ended, cancelled };
}

/**
 * The status and error with which a turn ends: a stored interrupt takes precedence over the outcome that the agent reports.
 */
export function outcomeOf(
  turn: Pick<Turn, 'interrupt_requested_at' | 'error'>,
  { status, error }: TurnOutcome,
): Pick<TurnOutcome, 'status' | 'error'> {
  const hasInterrupt = turn.interrupt_requested_at !== null && status !== 'interrupted';
  return hasInterrupt
    ? { status: 'interrupted', error: turn.error }
    : { status, error: error ?? turn.error };
}

/** Appends a notice if a completed turn has neither items nor approvals: nothing else would show that its agent did nothing. */
function noteNoItems(tx: Writer, { session_id, turn_id }: Turn, { store, log }: Rows): void {
  if (store.itemsOf(tx, turn_id).length > 0 || store.approvalsOf(tx, turn_id).length > 0) return;
  const payload = {
    code: 'turn_without_items',
    message:
      'the turn completed, but the agent sent no message and used no tool: check the model and the login of the agent',
  };
  log.append(tx, { kind: 'session.notice', session_id, turn_id, payload });
}

/** Fails a session that no agent can resume, and drops its inbox. Its turn must have ended before. */
export function failSessionInRows(
  tx: Writer,
  sessionId: string,
  failure: { code: string; message: string },
  { store, inbox, clock }: Pick<Parts, 'store' | 'inbox' | 'clock'>,
): void {
  const failed = failSession(store.session(tx, sessionId), failure, clock.now());
  inbox.giveUp(tx, failed);
  store.updateSession(tx, failed, 'session.failed');
}
