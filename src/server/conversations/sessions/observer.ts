import type { Session, Turn } from '../../../api/sessions.ts';
import type { Writer } from '../../../core/store/transaction.ts';

/** Work of the later parts of the server at the steps of a session. Runtime adds it before any agent starts. */
export interface SessionObserver {
  /** Runs in the transaction that closes a session, before the session is written. */
  closing?: (tx: Writer, session: Session) => void;
  failed?: (tx: Writer, sessionId: string) => void;
  /** Runs in the transaction that accepts a turn from a client. */
  turnSent?: (tx: Writer, session: Session) => void;
  /**
   * Called before the agent sees a turn; null: there is nothing to wait for. It never rejects, and ends soon, at once if
   * `signal` aborts.
   */
  beforeTurn?: (session: Session, turn: Turn, signal: AbortSignal) => Promise<void> | null;
  /** Runs in the transaction after which a session at a usage limit is handed over. */
  handoffDue?: (tx: Writer, sessionId: string) => void;
  /** Called once the end of a turn that the agent has seen is stored. */
  afterTurn?: (session: Session, turn: Turn) => void;
}
