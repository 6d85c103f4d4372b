import type { Turn } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { type Holds, NO_AGENT } from './holds.ts';
import type { Trial } from '../sessions/try-agent.ts';

/** After so many turns in a row that got no agent, no further turn begins before an agent was started without one. */
const TRIES = 5;
/** The wait before the next try, in ms: it doubles with each failure, up to the maximum. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 300_000;

interface AgentStartRetriesDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  holds: Holds;
  inbox: {
    beginNextTurn: (tx: Writer, sessionId: string) => void;
    /** Tries to get the agent of the next turn. It never rejects. */
    tryAgent: (sessionId: string) => Promise<Trial>;
    tryLater: (sessionId: string) => void;
  };
}

/**
 * Holds the sessions that no agent can be started for. The first failed turns are retried. After that, the server tries to
 * start an agent without a turn from time to time, because each retry with a turn would store another failed turn and its
 * events.
 */
export class AgentStartRetries {
  readonly #deps: AgentStartRetriesDeps;
  readonly #due: string[] = [];
  /** The timer of the next turn or trial of each session. */
  readonly #timers = new Map<string, Disposable>();
  #isOpen = false;
  #isWorking = false;

  constructor(deps: AgentStartRetriesDeps) {
    this.#deps = deps;
  }

  /** Must be called when a turn has got no agent. The session waits before its next turn or trial. */
  turnFailed(tx: Writer, { session_id: sessionId, error }: Turn): void {
    const { holds, clock, inbox } = this.#deps;
    const failures = holds.failures(tx, sessionId) + 1;
    const isHeld = failures >= TRIES;
    const delay = retryDelay(failures);
    if (isHeld) this.#hold(tx, sessionId, error?.message ?? 'unknown reason', failures);
    else holds.wait(tx, sessionId, failures, clock.now() + delay);
    const again = () => (isHeld ? this.#try(sessionId) : inbox.tryLater(sessionId));
    tx.whenDurable(() => this.#after(delay, sessionId, again));
  }

  /** Ends the hold of a session, because a person wants a try. If that fails too, the session is held again. */
  lift(tx: Writer, sessionId: string): void {
    const { holds } = this.#deps;
    if (holds.end(tx, sessionId, NO_AGENT)) holds.wait(tx, sessionId, TRIES - 1, 0);
  }

  open(): void {
    this.#isOpen = true;
    const { db, holds } = this.#deps;
    for (const id of db.peek((rx) => holds.sessionsWith(rx, NO_AGENT))) this.#try(id);
  }

  stop(): void {
    this.#isOpen = false;
  }

  #isHolding(rx: Reader, sessionId: string): boolean {
    return this.#deps.holds.find(rx, sessionId, NO_AGENT) !== undefined;
  }

  #hold(tx: Writer, sessionId: string, reason: string, failures: number): void {
    const message = `no agent could be started: ${reason}`;
    this.#deps.holds.putOnce(tx, sessionId, { code: NO_AGENT, message, until: null }, failures);
  }

  #try(sessionId: string): void {
    if (!this.#due.includes(sessionId)) this.#due.push(sessionId);
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#work().finally(() => (this.#isWorking = false));
  }

  /** One after the other, so that many sessions without an agent do not keep the machine busy. */
  async #work(): Promise<void> {
    for (let id = this.#due.shift(); this.#isOpen && id !== undefined; id = this.#due.shift())
      await this.#tryNow(id).catch((error: unknown) => this.#tryAgain(id, error));
  }

  #tryAgain(sessionId: string, error: unknown): void {
    this.#deps.logger.error(
      { err: error, session_id: sessionId },
      'cannot check whether an agent is available',
    );
    if (this.#isOpen) this.#after(retryDelay(TRIES), sessionId, () => this.#try(sessionId));
  }

  /** Calls `fn` after `delay` ms, in place of what a session waits for: a session must not be tried by two timers. */
  #after(delay: number, sessionId: string, fn: () => void): void {
    this.#timers.get(sessionId)?.[Symbol.dispose]();
    const timer = this.#deps.clock.after(delay, () => {
      this.#timers.delete(sessionId);
      fn();
    });
    this.#timers.set(sessionId, timer);
  }

  async #tryNow(sessionId: string): Promise<void> {
    const { db, holds, inbox } = this.#deps;
    if (!db.peek((rx) => this.#isHolding(rx, sessionId))) return;
    const trial = await inbox.tryAgent(sessionId);
    if (!this.#isOpen) return;
    await db.transact((tx) => {
      if (!this.#isHolding(tx, sessionId)) return;
      if (trial.is === 'ready') {
        holds.end(tx, sessionId, NO_AGENT);
        return inbox.beginNextTurn(tx, sessionId);
      }
      const failures = holds.failures(tx, sessionId) + (trial.is === 'failed' ? 1 : 0);
      if (trial.is === 'failed') this.#hold(tx, sessionId, trial.reason, failures);
      tx.whenDurable(() =>
        this.#after(retryDelay(failures), sessionId, () => this.#try(sessionId)),
      );
    });
  }
}

/** Returns the wait after so many failures in a row, in ms. */
function retryDelay(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
}
