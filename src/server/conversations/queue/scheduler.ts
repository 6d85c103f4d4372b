import type { Clock } from '../../../core/lib/clock.ts';
import type { Logger } from '../../../core/lib/log.ts';
import { runSlice, yieldToEventLoop } from '../../../core/lib/slices.ts';
import type { Holds } from '../inbox/holds.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { Database } from '../../../core/store/database.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { atTime, restartedEntry, isAhead } from './entry.ts';
import type { QueueInboxSource } from './inbox-source.ts';
import type { QueueStore } from './store.ts';

/**
 * The maximum time between two looks at the clock, in ms, while anything has a time: a timer runs on the monotonic clock,
 * which does not notice that the wall clock was set, nor that the machine slept.
 */
const LOOK_EVERY_MS = 60_000;
/** The time until the next look after one that failed, because the disk was full for example, in ms. */
const RETRY_MS = 5000;

interface SchedulerDependencies {
  db: Database;
  store: QueueStore;
  line: QueueInboxSource;
  holds: Holds;
  budgets: Days;
  inbox: Inbox;
  clock: Clock;
  logger: Logger;
}

/** Budgets whose next day ends what they hold. */
interface Days {
  /** When the next such day begins, in Unix ms; null: none does. */
  nextEnd: (rx: Reader) => number | null;
  /** Begins those that have come. */
  endPast: (tx: Writer) => void;
}

/** Looks when the next entry is due or the next hold ends, by the wall clock. All that it knows is in the rows. */
export class Scheduler {
  readonly #deps: SchedulerDependencies;
  #isOpen = false;
  #looking: Promise<void> | undefined;
  #timer: Disposable | undefined;
  /** When the timer fires, on the monotonic clock. */
  #firesAt = Infinity;
  #isFailing = false;

  constructor(deps: SchedulerDependencies) {
    this.#deps = deps;
  }

  /** Looks at once, if anything has a time, and from now on in time. Resolves after the first look. */
  async open(): Promise<void> {
    this.#isOpen = true;
    if (this.#nextTime() < Infinity) await this.#look();
  }

  /** Must be called once something is on disk that has a time, in Unix ms. */
  wake(at: number): void {
    // A look that is under way sees it.
    if (!this.#isOpen || this.#looking) return;
    const wait = this.#waitFor(at);
    if (this.#deps.clock.monotonic() + wait < this.#firesAt) this.#setTimer(wait);
  }

  /** Leaves everything for the next start of the server. */
  stop(): void {
    this.#isOpen = false;
    this.#timer?.[Symbol.dispose]();
  }

  #look(): Promise<void> {
    return (this.#looking ??= this.#lookUntilSettled().finally(() => {
      this.#looking = undefined;
      this.#setNextTimer();
    }));
  }

  async #lookUntilSettled(): Promise<void> {
    const { clock, logger } = this.#deps;
    try {
      do await this.#settleAll();
      while (this.#isOpen && this.#nextTime() <= clock.now());
      this.#isFailing = false;
    } catch (error) {
      this.#isFailing = true;
      logger.error({ err: error }, 'cannot store the due entries of the queue');
    }
  }

  #setNextTimer(): void {
    if (!this.#isOpen) return;
    const next = this.#nextTime();
    if (this.#isFailing) this.#setTimer(RETRY_MS);
    else if (next < Infinity) this.#setTimer(this.#waitFor(next));
  }

  /** When the next entry is due or the next hold ends, in Unix ms; Infinity: nothing has a time. */
  #nextTime(): number {
    const { db, store, holds, budgets } = this.#deps;
    const times = db.peek((rx) => [store.nextAt(rx), holds.nextEnd(rx), budgets.nextEnd(rx)]);
    return Math.min(...times.map((at) => at ?? Infinity));
  }

  #setTimer(wait: number): void {
    const { clock } = this.#deps;
    this.#timer?.[Symbol.dispose]();
    this.#firesAt = clock.monotonic() + wait;
    this.#timer = clock.after(wait, () => {
      this.#firesAt = Infinity;
      void this.#look();
    });
  }

  #waitFor(at: number): number {
    return Math.min(Math.max(0, at - this.#deps.clock.now()), LOOK_EVERY_MS);
  }

  async #settleAll(): Promise<void> {
    const { db, store, holds, budgets, inbox, clock } = this.#deps;
    const days = db.peek((rx) => budgets.nextEnd(rx));
    if (days !== null && days <= clock.now()) await db.transact((tx) => budgets.endPast(tx));
    for (let isMore = true; isMore && this.#isOpen;)
      isMore = await db.transact((tx) => {
        const sessions = holds.endPast(tx);
        for (const id of sessions) inbox.beginNextTurn(tx, id);
        return sessions.length > 0;
      });
    if (!this.#isOpen) return;
    const now = clock.now();
    const ids = db.peek((rx) => [...store.due(rx, now), ...store.settledAfter(rx, now)]);
    for (let from = 0; from < ids.length && this.#isOpen;) {
      const at = from;
      from = await db.transact((tx) => runSlice(clock, ids, at, (id) => this.#settle(tx, id)));
      if (from < ids.length) await yieldToEventLoop();
    }
  }

  #settle(tx: Writer, id: string): void {
    const { store, line, clock } = this.#deps;
    const entry = store.entries.get(tx, id);
    const now = clock.now();
    if (!entry || entry.next_at === null) return;
    if (isAhead(entry, now)) return line.write(tx, 'queue.changed', restartedEntry(entry, now));
    if (entry.next_at <= now) line.age(tx, entry, atTime(entry, now));
  }
}
