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
}

/** What is to be done about it. */
export interface Plan {
  /** No agent has seen them: they were acknowledged, so they start now. */
  startTurns: Turn[];
  /** An agent may have seen them, and it died with the server. */
  failTurns: Turn[];
  /** Sessions whose pointer names a turn that is not there or has ended. */
  clearPointers: Session[];
  /** Sessions that say they are at work while nothing is: their turn had ended. */
  readySessions: Session[];
}

/** Contract, Startup recovery: pure, from what is stored to what is mended. */
export function planRecovery({ unfinishedTurns, busySessions, turn }: Found): Plan {
  const isStale = ({ active_turn_id: id }: Session) => {
    const active = id === null ? undefined : turn(id);
    return !active || hasEnded(active);
  };
  const stale = busySessions.filter(isStale);
  return {
    startTurns: unfinishedTurns.filter(({ status }) => status === 'accepted'),
    failTurns: unfinishedTurns.filter(({ status }) => status !== 'accepted'),
    clearPointers: stale.filter(({ active_turn_id: id }) => id !== null),
    readySessions: stale.filter(
      ({ status }) => status === 'running' || status === 'waiting_for_approval',
    ),
  };
}
