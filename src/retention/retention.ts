import type { EventLog } from '../events/log.ts';
import { EventTrim, type Trimmed } from '../events/trim.ts';
import type { Clock } from '../lib/clock.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { RetentionSettings, StorageBudget } from './budget.ts';

const DAY_MS = 86_400_000;
/** What one transaction takes at most, so that nobody waits for it. */
const STEP_EVENTS = 500;
const STEP_TURNS = 50;
/** Once over the budget, so much of it is made free that the next event does not bring us back. */
const TARGET = 0.9;
/** Free pages go back to the disk, so many at a time, once they are more than this. */
const VACUUM_PAGES = 500;
const KEPT_FREE_PAGES = 4000;

type Reason = 'max_bytes' | 'max_age_days';

/**
 * Keeps the log within its budget: the oldest events of closed sessions go first, with what their turns said, then
 * the oldest of the rest, never those of an unfinished turn. Records stay.
 */
export class Retention {
  readonly #db: Database;
  readonly #log: EventLog;
  readonly #store: SessionStore;
  readonly #clock: Clock;
  readonly #budget: StorageBudget;
  readonly #settings: () => RetentionSettings;
  readonly #trim: EventTrim;
  readonly #vacuum;
  #running = false;

  constructor(given: {
    db: Database;
    log: EventLog;
    store: SessionStore;
    clock: Clock;
    budget: StorageBudget;
    settings: () => RetentionSettings;
  }) {
    this.#db = given.db;
    this.#log = given.log;
    this.#store = given.store;
    this.#clock = given.clock;
    this.#budget = given.budget;
    this.#settings = given.settings;
    this.#trim = new EventTrim(given.db);
    this.#vacuum = given.db.prepare(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  }

  /** Lets go what is too old or too much, in small steps, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      const { max_age_days: days, max_bytes: max } = this.#settings();
      if (days !== null) {
        const before = this.#clock.now() - days * DAY_MS;
        await this.#pass('max_age_days', before, () => !signal.aborted);
      }
      if (max > 0 && this.#budget.usedBytes > max) {
        const isOver = () => !signal.aborted && this.#budget.usedBytes > max * TARGET;
        await this.#pass('max_bytes', Number.MAX_SAFE_INTEGER, isOver);
      }
      this.#budget.isSpent = max > 0 && this.#budget.usedBytes > max;
      while (!signal.aborted && this.#budget.freePages > KEPT_FREE_PAGES)
        await this.#db.transact(() => void this.#vacuum.all());
    } finally {
      this.#running = false;
    }
  }

  /** Takes what is older than `before`, step by step, as long as `goesOn` says so. */
  async #pass(reason: Reason, before: number, goesOn: () => boolean): Promise<void> {
    while (goesOn() && (await this.#db.transact(() => this.#stepOfClosed(reason, before))));
    let after = 0;
    while (goesOn()) {
      const { events, seq } = await this.#db.transact(() =>
        this.#stepOfOldest(reason, after, before),
      );
      if (events < STEP_EVENTS) return;
      after = seq;
    }
  }

  /** Something of the oldest closed session that still has something; false where none has. */
  #stepOfClosed(reason: Reason, before: number): boolean {
    const session = this.#store.oldestTrimmable();
    if (!session || (session.closed_at ?? 0) >= before) return false;
    const trimmed = this.#trim.ofSession(session.id, STEP_EVENTS);
    this.#tell(reason, trimmed, session.id);
    if (trimmed.events === STEP_EVENTS) return true;
    if (this.#store.trimTurns(session.id, STEP_TURNS)) return true;
    this.#store.markTrimmed(session);
    return true;
  }

  #stepOfOldest(reason: Reason, after: number, before: number): Trimmed {
    const trimmed = this.#trim.oldest(after, before, STEP_EVENTS);
    this.#tell(reason, trimmed, null);
    return trimmed;
  }

  #tell(reason: Reason, { events, seq }: Trimmed, closedSession: string | null): void {
    if (events === 0) return;
    const payload = { reason, events, trimmed_seq: seq, closed_session_id: closedSession };
    this.#log.append({ kind: 'storage.trimmed', payload });
  }
}
