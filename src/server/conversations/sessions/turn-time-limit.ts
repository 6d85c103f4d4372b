import type { Turn } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { SessionStore } from './store.ts';

export interface TimeLimitDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  store: SessionStore;
  /** The time limit of a turn, in ms, after which it is interrupted; null: there is no limit. */
  turnTimeoutMs: () => number | null;
}

/**
 * Starts the time limit of the active turn of a session, if there is one. At its end `interrupt` is called with the turn,
 * unless somebody has interrupted it; the session stays open.
 */
export function turnTimeLimit(
  { db, store, clock, logger, turnTimeoutMs }: TimeLimitDeps,
  sessionId: string,
  interrupt: (tx: Writer, turn: Turn, error: NonNullable<Turn['error']>) => void,
): Disposable {
  const limitMs = turnTimeoutMs();
  if (limitMs === null) return { [Symbol.dispose]: () => undefined };
  const error = {
    code: 'turn_timeout',
    message: `the turn exceeded sessions.turn_timeout_ms (${limitMs} ms) and was interrupted`,
  };
  return clock.after(limitMs, () => {
    db.transact((tx) => {
      const turn = store.activeTurn(tx, sessionId);
      if (turn?.interrupt_requested_at === null) interrupt(tx, turn, error);
    }).catch((failure: unknown) =>
      logger.error({ err: failure }, 'cannot interrupt a turn that exceeded its time limit'),
    );
  });
}
