import type { Session, Turn } from '../../../api/sessions.ts';
import type { Writer } from '../../../core/store/transaction.ts';

/** Work of the later parts of the server that belongs to a step of a session. */
export interface SessionObserver {
  /** Runs in the transaction that closes a session, before the session is written. */
  closing?(tx: Writer, session: Session): void;
  failed?(tx: Writer, sessionId: string): void;
  /** Runs in the transaction that accepts a turn from a client. */
  turnSent?(tx: Writer, session: Session): void;
  /**
   * Called before the agent sees a turn; null: there is nothing to wait for. It never rejects, and ends soon, at once if
   * `signal` aborts.
   */
  beforeTurn?(session: Session, turn: Turn, signal: AbortSignal): Promise<void> | null;
  /** Called once the end of a turn that the agent has seen is stored. */
  afterTurn?(session: Session, turn: Turn): void;
}

/** The observers of sessions, which are called in the order in which they were added. */
export class SessionObservers {
  readonly #observers: SessionObserver[] = [];

  add(observer: SessionObserver): void {
    this.#observers.push(observer);
  }

  closing(tx: Writer, session: Session): void {
    for (const one of this.#observers) one.closing?.(tx, session);
  }

  failed(tx: Writer, sessionId: string): void {
    for (const one of this.#observers) one.failed?.(tx, sessionId);
  }

  turnSent(tx: Writer, session: Session): void {
    for (const one of this.#observers) one.turnSent?.(tx, session);
  }

  beforeTurn(session: Session, turn: Turn, signal: AbortSignal): Promise<unknown> | null {
    const waits = this.#observers.flatMap((one) => one.beforeTurn?.(session, turn, signal) ?? []);
    return waits.length === 0 ? null : Promise.all(waits);
  }

  afterTurn(session: Session, turn: Turn): void {
    for (const one of this.#observers) one.afterTurn?.(session, turn);
  }
}
