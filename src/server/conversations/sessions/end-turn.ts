import type { Approval } from '../../../api/approvals.ts';
import type { Turn } from '../../../api/sessions.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { TurnOutcome } from '../../../agents/provider.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { resolveApproval } from '../approvals/approval.ts';
import { closeStoredItems } from './close-items.ts';
import type { TurnOutput } from './output.ts';
import { endTurn } from './session.ts';
import type { SessionStore } from './store.ts';
import { withTurnEnd } from './turn.ts';

interface Rows {
  store: SessionStore;
  log: EventLog;
  clock: Clock;
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
 * one, or if one of its writes failed, from the stored rows; what the turn has used is then what was told of it last.
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
  const hasInterrupt = turn.interrupt_requested_at !== null && outcome.status !== 'interrupted';
  const interrupted = { status: 'interrupted' as const, error: turn.error };
  const { status } = hasInterrupt ? interrupted : outcome;
  const error = hasInterrupt ? interrupted.error : (outcome.error ?? turn.error);
  const closed = output?.close(tx, status, outcome.usage) ?? {
    text: null,
    usage: rows.log.lastUsage(tx, turn.session_id, turn.turn_id),
  };
  const isWhole = output !== undefined && !output.broken;
  if (!isWhole) closeStoredItems(tx, store.openItems(tx, turn.turn_id), status, rows);
  const text = (isWhole ? closed.text : null) ?? store.lastMessage(tx, turn.turn_id);
  const ended = withTurnEnd(turn, { status, error }, { text, usage: closed.usage }, clock.now());
  const session = endTurn(store.session(tx, turn.session_id), ended, clock.now());
  store.endTurn(tx, session, ended, status);
  return { ended, cancelled };
}
