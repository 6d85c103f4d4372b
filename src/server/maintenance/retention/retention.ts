import { isAppError } from '../../../api/errors.ts';
import type { Payload } from '../../../api/events.ts';
import type { Process } from '../../../api/processes.ts';
import type { Session } from '../../../api/sessions.ts';
import { EventTrim, type Trimmed } from './trim.ts';
import type { ProcessStore } from '../../work/processes/store.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { RetentionSettings, StorageBudget } from './budget.ts';

const DAY_MS = 86_400_000;
/** The maximum number of events and turns that one transaction trims, so that no other transaction waits for long. */
const STEP_EVENTS = 500;
const STEP_TURNS = 10;
/** Data over the budget is trimmed to this part of it, so that the next event does not exceed it again. */
const TARGET_FRACTION = 0.9;
/** The number of free pages that one transaction returns to the file system, and how many stay in the database. */
const VACUUM_PAGES = 500;
const KEPT_FREE_PAGES = 4000;

type Reason = 'max_bytes' | 'max_age_days';

interface RetentionDeps extends Pick<ServerParts, 'db' | 'log' | 'clock'> {
  store: SessionStore;
  processes: ProcessStore;
  /** Called with the highest trimmed seq, once that is on disk. */
  onTrimmed: (seq: number) => void;
  /** Runs in the transaction that trims a closed session whole, to remove what waits for it. */
  onSessionTrimmed: (tx: Writer, sessionId: string) => void;
  /** Removes the logs of a process. Resolves with their size in bytes. */
  removeLogs: (processId: string) => Promise<number>;
  budget: StorageBudget;
  settings: () => RetentionSettings;
}

/**
 * Keeps events and logs within their budget, by size and by age. It trims closed sessions with the content of their
 * turns and ended processes with their logs first, oldest first; then the oldest other events, but no event
 * of an unfinished turn. The records of sessions, turns and processes stay.
 */
export class Retention {
  readonly #deps: RetentionDeps;
  readonly #trim: EventTrim;
  readonly #vacuum;
  /** The sessions and processes that cannot be trimmed, because a row of theirs is damaged. Each run tries them again. */
  readonly #damaged = new Set<string>();
  #running = false;

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
    this.#trim = new EventTrim(deps);
    this.#vacuum = deps.db.prepare(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  }

  /** Trims the data that is too old or exceeds the budget, in small steps, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    this.#damaged.clear();
    try {
      const { max_age_days: days, max_bytes: max } = this.#deps.settings();
      await this.#deps.budget.measureLogs();
      if (days !== null) {
        const before = this.#deps.clock.now() - days * DAY_MS;
        await this.#pass('max_age_days', before, () => !signal.aborted);
      }
      if (max > 0 && !signal.aborted && this.#deps.budget.usedBytes > max) {
        const isOver = () => !signal.aborted && this.#deps.budget.usedBytes > max * TARGET_FRACTION;
        await this.#pass('max_bytes', Number.MAX_SAFE_INTEGER, isOver);
      }
      if (signal.aborted) return;
      this.#deps.budget.isSpent = max > 0 && this.#deps.budget.usedBytes > max;
      while (!signal.aborted && this.#deps.budget.freePages > KEPT_FREE_PAGES)
        await this.#deps.db.transact((tx) => void this.#vacuum.all(tx));
    } finally {
      this.#running = false;
    }
  }

  /** Trims the data from before the time `before`, step by step, while `shouldContinue` returns true. */
  async #pass(reason: Reason, before: number, shouldContinue: () => boolean): Promise<void> {
    while (shouldContinue() && (await this.#trimOldestEnded(reason, before)));
    let after: number | null = 0;
    while (after !== null && shouldContinue()) {
      const from: number = after;
      after = await this.#deps.db.transact((tx) => {
        const { end, ...trimmed } = this.#trim.oldest(tx, from, before, STEP_EVENTS);
        if (trimmed.events > 0) this.#append(tx, reason, trimmed, {});
        return end;
      });
    }
  }

  /** Trims a step of the session or process that ended first. Resolves with false if none ended before `before`. */
  async #trimOldestEnded(reason: Reason, before: number): Promise<boolean> {
    const { session, process } = await this.#deps.db.read((rx) => ({
      session: this.#deps.store.oldestTrimmable(rx, ({ id }) => !this.#damaged.has(id)),
      process: this.#deps.processes.oldestTrimmable(
        rx,
        ({ process_id }) => !this.#damaged.has(process_id),
      ),
    }));
    const closed = session?.closed_at ?? Number.POSITIVE_INFINITY;
    const ended = process?.ended_at ?? Number.POSITIVE_INFINITY;
    if (Math.min(closed, ended) >= before) return false;
    const isSession = session !== undefined && closed <= ended;
    try {
      if (isSession) await this.#deps.db.transact((tx) => this.#trimSession(tx, reason, session));
      else if (process) await this.#trimProcess(reason, process);
    } catch (error) {
      // Others can be trimmed, and health reports the damage.
      if (!isAppError(error, 'storage_damaged')) throw error;
      this.#damaged.add((isSession ? session.id : process?.process_id) ?? '');
    }
    return true;
  }

  #trimSession(tx: Writer, reason: Reason, { id }: Session): void {
    const trimmed = this.#trim.eventsOf(tx, 'session_id', id, STEP_EVENTS);
    const isWhole = !trimmed.isFull && !this.#deps.store.trimTurns(tx, id, STEP_TURNS);
    if (isWhole) {
      this.#deps.onSessionTrimmed(tx, id);
      this.#deps.store.markTrimmed(tx, this.#deps.store.session(tx, id));
    }
    if (isWhole || trimmed.events > 0)
      this.#append(tx, reason, trimmed, { closed_session_id: id, is_whole: isWhole });
  }

  async #trimProcess(reason: Reason, { process_id }: Process): Promise<void> {
    // If the server dies before the event is stored, the next pass finds no files and stores the event.
    this.#deps.budget.logBytes -= await this.#deps.removeLogs(process_id);
    await this.#deps.db.transact((tx) => {
      const process = this.#deps.processes.process(tx, process_id);
      const trimmed = this.#trim.eventsOf(tx, 'process_id', process_id, STEP_EVENTS);
      const isWhole = !trimmed.isFull;
      if (isWhole) this.#deps.processes.markTrimmed(tx, process);
      this.#append(tx, reason, trimmed, { process_id, is_whole: isWhole });
    });
  }

  #append(
    tx: Writer,
    reason: Reason,
    { events, seq }: Trimmed,
    subject: Partial<Payload<'storage.trimmed'>>,
  ): void {
    const payload = { reason, events, trimmed_seq: seq, ...subject };
    this.#deps.log.append(tx, { kind: 'storage.trimmed', payload });
  }
}
