import type { Approval } from '../api/approvals.ts';
import type { Turn } from '../api/sessions.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { TurnOutcome } from '../providers/provider.ts';
import { resolveApproval } from './approval.ts';
import { closeStoredItems, type TurnOutput } from './output.ts';
import { endTurn } from './session.ts';
import type { SessionStore } from './store.ts';
import { finishTurn } from './turn.ts';

interface Rows {
  store: SessionStore;
  log: EventLog;
  clock: Clock;
}

/** Cancels what is pending for a turn, in the running transaction; returns what it cancelled. */
export function cancelApprovals(turn: Turn, reason: string, { store, clock }: Rows): Approval[] {
  return store.pendingApprovals(turn.turn_id).map((approval) => {
    const cancelled = resolveApproval(approval, { status: 'cancelled', reason }, clock.now());
    store.resolveApproval(store.session(turn.session_id), turn, cancelled);
    return cancelled;
  });
}

/** What was accepted while the turn had no agent is of no use once that has heard of it, or the turn has ended. */
export function releaseHeld(turnId: string, { store }: Pick<Rows, 'store'>): void {
  for (const approval of store.approvalsOf(turnId))
    if (approval.held) store.approvals.update({ ...approval, held: false });
}

/**
 * Ends a turn that has not ended, in the running transaction: its approvals are cancelled, its open items closed,
 * its session is free. An interrupt that was stored first is how it ends, and why, whatever else its agent says.
 * `output` is what its agent says just now; without one, or where the disk refused some of it, the rows tell.
 */
export function endTurnInRows(
  turn: Turn,
  outcome: TurnOutcome,
  rows: Rows,
  output?: TurnOutput,
): { ended: Turn; cancelled: Approval[] } {
  const { store, clock } = rows;
  const cancelled = cancelApprovals(turn, 'the turn ended', rows);
  releaseHeld(turn.turn_id, rows);
  const isCut = turn.interrupt_requested_at !== null && outcome.status !== 'interrupted';
  const interrupted = { status: 'interrupted' as const, error: turn.error };
  const { status } = isCut ? interrupted : outcome;
  const error = isCut ? interrupted.error : (outcome.error ?? turn.error);
  const left = output?.close(status, outcome.usage) ?? { text: null, usage: turn.usage };
  const isWhole = output !== undefined && !output.broken;
  if (!isWhole) closeStoredItems(store.openItems(turn.turn_id), status, rows);
  const text = (isWhole ? left.text : null) ?? store.lastMessage(turn.turn_id);
  const ended = finishTurn(turn, { status, error }, { text, usage: left.usage }, clock.now());
  const session = endTurn(store.session(turn.session_id), ended, clock.now());
  store.moveTurn(session, ended, `turn.${status}`);
  return { ended, cancelled };
}
