import type { Approval } from '../../../api/approvals.ts';
import type { Turn } from '../../../api/sessions.ts';
import type { TurnOutcome } from '../../../agents/provider.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { resolveApproval } from '../approvals/approval.ts';
import { closeStoredItems } from './close-items.ts';
import type { TurnOutput } from './output.ts';
import { endTurn } from './session.ts';
import type { SessionStore } from './store.ts';
import { withTurnEnd } from './turn.ts';

interface Rows extends Pick<ServerParts, 'log' | 'clock'> {
  store: SessionStore;
}

/** Cancels the pending approvals of a turn, and returns them. */
export function cancelApprovals(
  tx: Writer,
  turn: Turn,
  reason: string,
  { store, clock }: Rows,
): Approval[] {
  return store.pendingApprovals(tx, turn.turn_id).map((approval) => {
    const cancelled = resolveApproval(approval, { status: 'cancelled', reason }, clock.now());
    store.resolveApproval(tx, store.session(tx, turn.session_id), turn, cancelled);
    return cancelled;
  });
}

/**
 * Clears `held` of the approvals that were accepted while the turn had no agent, because its new agent is about to read
 * them or the turn has ended.
 */
export function releaseHeld(tx: Writer, turnId: string, { store }: Pick<Rows, 'store'>): void {
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
  releaseHeld(tx, turn.turn_id, rows);
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
  const ended = withTurnEnd(turn, { status, error }, { text, usage: closed.usage }, clock.now());
  const session = endTurn(store.session(tx, turn.session_id), ended, clock.now());
  store.endTurn(tx, session, ended, status);
  return { ended, cancelled };
}

/** The status and error with which a turn ends: an interrupt that is stored counts more than what its agent reports. */
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
