import type { Clock } from '../../../core/lib/clock.ts';
import type { Logger } from '../../../core/lib/log.ts';
import type { Agent, TurnSettings } from '../../../agents/provider.ts';
import type { Database } from '../../../core/store/database.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { LiveAgent } from './agent-pool.ts';
import type { Holds } from '../inbox/holds.ts';
import { failureOf } from './turn-failures.ts';

/** The code of the hold of a session that no agent could be started for. */
export const NO_AGENT = 'no_agent';
/** After so many turns in a row that got no agent, no further turn begins before an agent was started without one. */
const TRIES = 5;
/** The wait before the next try, in ms: it doubles with each failure, up to the maximum. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 300_000;

/** What came of a try: the agent is there, it could not be started, or this is not the time to find out. */
export type Trial = { is: 'ready' } | { is: 'failed'; reason: string } | { is: 'later' };

interface Dependencies {
  db: Database;
  holds: Holds;
  clock: Clock;
  logger: Logger;
  /** Starts the agent that the next turn of a session needs, without a turn. It never rejects. */
  tryAgent: (sessionId: string) => Promise<Trial>;
  /** Runs in the transaction that ends the hold, because an agent was started or nothing waits any more. */
  onReady: (tx: Writer, sessionId: string) => void;
}

/** Waits until an agent has offered what some settings are about. Throws its objection to them. */
export async function offered(
  agent: Agent,
  settings: TurnSettings,
  signal: AbortSignal,
): Promise<void> {
  if (agent.awaits?.(settings)) {
    await agent.untilOffered?.(settings, signal);
    signal.throwIfAborted();
  }
  const objection = agent.objection(settings);
  if (objection) throw objection;
}

/** Starts an agent, and asks whether it can have some settings. */
export async function tryAgent(
  start: () => Promise<LiveAgent | undefined>,
  settings: TurnSettings,
  signal: AbortSignal,
): Promise<Trial> {
  try {
    const live = await start();
    if (!live) return { is: 'later' };
    await offered(live.agent, settings, signal);
    return { is: 'ready' };
  } catch (error) {
    if (signal.aborted) return { is: 'later' };
    const { code, message } = failureOf(error);
    // A turn fails the session, which says what is lost.
    return code === 'resume_failed' ? { is: 'ready' } : { is: 'failed', reason: message };
  }
}

/** Returns the wait after so many failures in a row, in ms. */
export function retryDelay(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
}

/**
 * Holds the sessions that no agent can be started for, and tries to start one from time to time, without a turn: a turn
 * for each try would be a failed turn, with its events, every few minutes for as long as the server runs.
 */
export class AgentTrials {
  readonly #deps: Dependencies;
  readonly #failures = new Map<string, number>();
  readonly #due: string[] = [];
  #isOpen = false;
  #isWorking = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  isHolding(rx: Reader, sessionId: string): boolean {
    return this.#deps.holds.of(rx, sessionId).some(({ code }) => code === NO_AGENT);
  }

  /** Holds a session of which so many turns in a row got no agent. Returns false where that is too few. */
  hold(tx: Writer, sessionId: string, failures: number, reason: string): boolean {
    if (failures < TRIES) return false;
    this.#put(tx, sessionId, reason);
    tx.whenDurable(() => this.#tryLater(sessionId, failures));
    return true;
  }

  /** Ends the hold, because a person wants a try. Returns the failures after which that try is the last; null: no hold. */
  lift(tx: Writer, sessionId: string): number | null {
    return this.#deps.holds.end(tx, sessionId, NO_AGENT) ? TRIES - 1 : null;
  }

  /** Tries all sessions that the last run held, one after the other. */
  open(): void {
    this.#isOpen = true;
    const { db, holds } = this.#deps;
    for (const id of db.peek((rx) => holds.sessionsWith(rx, NO_AGENT))) this.#try(id);
  }

  stop(): void {
    this.#isOpen = false;
  }

  #put(tx: Writer, sessionId: string, reason: string): void {
    const { holds } = this.#deps;
    const message = `no agent could be started: ${reason}`;
    const before = holds.of(tx, sessionId).find(({ code }) => code === NO_AGENT);
    if (before?.message !== message)
      holds.put(tx, sessionId, { code: NO_AGENT, message, until: null });
  }

  #tryLater(sessionId: string, failures: number): void {
    this.#failures.set(sessionId, failures);
    this.#deps.clock.after(retryDelay(failures), () => this.#try(sessionId));
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
      await this.#tryNow(id).catch((error: unknown) =>
        this.#deps.logger.error(
          { err: error, session_id: id },
          'cannot check whether an agent is available',
        ),
      );
  }

  async #tryNow(sessionId: string): Promise<void> {
    const { db, holds, tryAgent, onReady } = this.#deps;
    const failures = this.#failures.get(sessionId) ?? TRIES;
    this.#failures.delete(sessionId);
    if (!db.peek((rx) => this.isHolding(rx, sessionId))) return;
    const trial = await tryAgent(sessionId);
    if (!this.#isOpen) return;
    await db.transact((tx) => {
      if (!this.isHolding(tx, sessionId)) return;
      if (trial.is === 'ready') {
        holds.end(tx, sessionId, NO_AGENT);
        return onReady(tx, sessionId);
      }
      if (trial.is === 'failed') this.#put(tx, sessionId, trial.reason);
      const more = trial.is === 'failed' ? failures + 1 : failures;
      tx.whenDurable(() => this.#tryLater(sessionId, more));
    });
  }
}
