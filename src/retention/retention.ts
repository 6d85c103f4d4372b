import type { Process } from '../api/processes.ts';
import type { Session } from '../api/sessions.ts';
import type { EventLog } from '../events/log.ts';
import { EventTrim, type Trimmed } from './trim.ts';
import type { Clock } from '../lib/clock.ts';
import type { ProcessStore } from '../processes/store.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { Writer } from '../store/transaction.ts';
import type { RetentionSettings, StorageBudget } from './budget.ts';

const DAY_MS = 86_400_000;
/** What one transaction takes at most, so that nobody waits for it. */
const STEP_EVENTS = 500;
const STEP_TURNS = 10;
/** Once over the budget, so much of it is made free that the next event does not bring us back. */
const TARGET = 0.9;
/** Free pages go back to the disk, so many at a time, once they are more than this. */
const VACUUM_PAGES = 500;
const KEPT_FREE_PAGES = 4000;

type Reason = 'max_bytes' | 'max_age_days';

interface RetentionDependencies {
  db: Database;
  log: EventLog;
  store: SessionStore;
  processes: ProcessStore;
  /** Called with the highest seq that went, once that is on disk. */
  onTrimmed: (seq: number) => void;
  /** Removes what a process printed; answers how much that was. */
  removeLogs: (processId: string) => Promise<number>;
  clock: Clock;
  budget: StorageBudget;
  settings: () => RetentionSettings;
}

/**
 * Keeps events and logs within their budget. What is over goes first, the oldest first: closed sessions with what
 * their turns said, ended processes with what they printed; then the oldest events of the rest, never those of an
 * unfinished turn. Records stay.
 */
export class Retention {
  readonly #given: RetentionDependencies;
  readonly #trim: EventTrim;
  readonly #vacuum;
  #running = false;

  constructor(given: RetentionDependencies) {
    this.#given = given;
    this.#trim = new EventTrim(given);
    this.#vacuum = given.db.prepare(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  }

  /** Lets go what is too old or too much, in small steps, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      const { max_age_days: days, max_bytes: max } = this.#given.settings();
      await this.#given.budget.measureLogs();
      if (days !== null) {
        const before = this.#given.clock.now() - days * DAY_MS;
        await this.#pass('max_age_days', before, () => !signal.aborted);
      }
      if (max > 0 && !signal.aborted && this.#given.budget.usedBytes > max) {
        const isOver = () => !signal.aborted && this.#given.budget.usedBytes > max * TARGET;
        await this.#pass('max_bytes', Number.MAX_SAFE_INTEGER, isOver);
      }
      if (signal.aborted) return;
      this.#given.budget.isSpent = max > 0 && this.#given.budget.usedBytes > max;
      while (!signal.aborted && this.#given.budget.freePages > KEPT_FREE_PAGES)
        await this.#given.db.transact((tx) => void this.#vacuum.all(tx));
    } finally {
      this.#running = false;
    }
  }

  /** Takes what is older than `before`, step by step, as long as `goesOn` says so. */
  async #pass(reason: Reason, before: number, goesOn: () => boolean): Promise<void> {
    while (goesOn() && (await this.#stepOfOver(reason, before)));
    let after: number | null = 0;
    while (after !== null && goesOn()) {
      const from: number = after;
      after = await this.#given.db.transact((tx) => {
        const { end, ...trimmed } = this.#trim.oldest(tx, from, before, STEP_EVENTS);
        if (trimmed.events > 0) this.#append(tx, reason, trimmed, {});
        return end;
      });
    }
  }

  /** Something of what has been over for longest: a closed session, or an ended process. False where nothing has. */
  async #stepOfOver(reason: Reason, before: number): Promise<boolean> {
    const { session, process } = await this.#given.db.read((rx) => ({
      session: this.#given.store.oldestTrimmable(rx),
      process: this.#given.processes.oldestTrimmable(rx),
    }));
    const closed = session?.closed_at ?? Number.POSITIVE_INFINITY;
    const ended = process?.ended_at ?? Number.POSITIVE_INFINITY;
    if (Math.min(closed, ended) >= before) return false;
    if (session && closed <= ended)
      await this.#given.db.transact((tx) => this.#takeOfSession(tx, reason, session));
    else if (process) await this.#takeOfProcess(reason, process);
    return true;
  }

  #takeOfSession(tx: Writer, reason: Reason, { id }: Session): void {
    const trimmed = this.#trim.of(tx, 'session_id', id, STEP_EVENTS);
    const isWhole = !trimmed.isFull && !this.#given.store.trimTurns(tx, id, STEP_TURNS);
    if (isWhole) this.#given.store.markTrimmed(tx, this.#given.store.session(tx, id));
    if (isWhole || trimmed.events > 0)
      this.#append(tx, reason, trimmed, { closed_session_id: id, is_whole: isWhole });
  }

  async #takeOfProcess(reason: Reason, { process_id }: Process): Promise<void> {
    // Should the server die before the event is stored, the next pass finds no files, and stores it.
    this.#given.budget.logBytes -= await this.#given.removeLogs(process_id);
    await this.#given.db.transact((tx) => {
      const process = this.#given.processes.process(tx, process_id);
      const trimmed = this.#trim.of(tx, 'process_id', process_id, STEP_EVENTS);
      const isWhole = !trimmed.isFull;
      if (isWhole) this.#given.processes.markTrimmed(tx, process);
      this.#append(tx, reason, trimmed, { process_id, is_whole: isWhole });
    });
  }

  #append(tx: Writer, reason: Reason, { events, seq }: Trimmed, of: Record<string, unknown>): void {
    const payload = { reason, events, trimmed_seq: seq, ...of };
    this.#given.log.append(tx, { kind: 'storage.trimmed', payload });
  }
}
