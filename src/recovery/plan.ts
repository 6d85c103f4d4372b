import type { Approval } from '../api/approvals.ts';
import type { Session, Turn } from '../api/sessions.ts';
import { hasEnded } from '../sessions/turn.ts';

/** What a start finds unfinished. */
export interface Found {
  /** Turns that have not ended. */
  unfinishedTurns: readonly Turn[];
  /** Sessions that point at an active turn, or say they are at work. */
  busySessions: readonly Session[];
  /** The turn a session points at, by id, if there is one. */
  turn: (id: string) => Turn | undefined;
  approvalsOf: (turnId: string) => readonly Approval[];
  /** Whether the provider of a turn's session could take it up again. */
  canResume: (turn: Turn) => boolean;
}

/** What is to be done about it. */
export interface Plan {
  /** They were acknowledged and no agent has seen them, or all their approvals were given: they start now. */
  startTurns: Turn[];
  /** An agent may have seen them, and it died with the server. */
  failTurns: Turn[];
  /** They wait for somebody to answer: turn, session and approvals are kept. */
  keepTurns: Turn[];
  /** They waited, and nobody could take them up again: their sessions fail with them. */
  orphanTurns: Turn[];
  /** Sessions whose pointer names a turn that is not there or has ended. */
  clearPointers: Session[];
  /** Sessions that say they are at work while nothing is: their turn had ended. */
  readySessions: Session[];
}

/** Pure: from what is stored to what is mended. */
export function planRecovery(found: Found): Plan {
  const fates = Map.groupBy(found.unfinishedTurns, (turn) => fateOf(turn, found));
  const stale = found.busySessions.filter(({ active_turn_id: id }) => {
    const active = id === null ? undefined : found.turn(id);
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
  { approvalsOf, canResume }: Found,
): 'start' | 'fail' | 'keep' | 'orphan' {
  if (turn.interrupt_requested_at !== null) return 'fail';
  if (turn.status === 'accepted') return 'start';
  if (turn.status === 'running') return 'fail';
  if (!canResume(turn)) return 'orphan';
  const approvals = approvalsOf(turn.turn_id);
  // One whose time is up expires once the server runs, as it would have while it ran.
  if (approvals.some(({ status }) => status === 'pending')) return 'keep';
  return approvals.some(({ status }) => status === 'accepted') ? 'start' : 'orphan';
}
