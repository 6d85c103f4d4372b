import type { Approval } from '../../../api/approvals.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import { hasEnded } from '../../conversations/sessions/turn.ts';

/** The unfinished work that startup recovery finds in the store. */
export interface UnfinishedWork {
  /** Turns that have not ended. */
  unfinishedTurns: readonly Turn[];
  /** Sessions with an `active_turn_id`, or with the status running or waiting_for_approval. */
  busySessions: readonly Session[];
  turn: (id: string) => Turn | undefined;
  approvalsOf: (turnId: string) => readonly Approval[];
  /** Whether the provider could resume the session of a turn. */
  canResume: (turn: Turn) => boolean;
}

/** The repairs to be made. */
export interface Plan {
  /**
   * Turns to start, because no agent has seen them, or because none of their approvals is pending and one is accepted.
   */
  startTurns: Turn[];
  /**
   * Turns to end, because an agent that died with the server may have seen them, or because their interrupt is stored.
   */
  failTurns: Turn[];
  /** Turns to keep with session and approvals, because an approval is pending. */
  keepTurns: Turn[];
  /** Turns to fail with their sessions, because they waited for an approval and nothing can continue them. */
  orphanTurns: Turn[];
  /** Sessions whose `active_turn_id` names a turn that does not exist or has ended. */
  clearPointers: Session[];
  /** Sessions to make ready, because they have a busy status but no unfinished turn. */
  readySessions: Session[];
}

/** Returns the repairs for the unfinished work. */
export function planRecovery(work: UnfinishedWork): Plan {
  const fates = Map.groupBy(work.unfinishedTurns, (turn) => fateOf(turn, work));
  const stale = work.busySessions.filter(({ active_turn_id: id }) => {
    const active = id === null ? undefined : work.turn(id);
    return !active || hasEnded(active);
  });
  return {
    startTurns: fates.get('start') ?? [],
    failTurns: fates.get('fail') ?? [],
    keepTurns: fates.get('keep') ?? [],
    orphanTurns: fates.get('orphan') ?? [],
    clearPointers: stale.filter(({ active_turn_id: id }) => id !== null),
    readySessions: stale.filter(
      ({ status }) => status === 'running' || status === 'waiting_for_approval',
    ),
  };
}

function fateOf(
  turn: Turn,
  { approvalsOf, canResume }: UnfinishedWork,
): 'start' | 'fail' | 'keep' | 'orphan' {
  if (turn.interrupt_requested_at !== null) return 'fail';
  if (turn.status === 'accepted') return 'start';
  if (turn.status === 'running') return 'fail';
  if (!canResume(turn)) return 'orphan';
  const approvals = approvalsOf(turn.turn_id);
  // An approval that has timed out meanwhile stays pending here, and expires once the server runs.
  if (approvals.some(({ status }) => status === 'pending')) return 'keep';
  return approvals.some(({ status }) => status === 'accepted') ? 'start' : 'orphan';
}
