import type { ServerParts } from '../../../core/events/server-parts.ts';
import { runSlice, yieldToEventLoop } from '../../../core/lib/slices.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

/** The maximum time between two looks at the clock, in ms: a monotonic timer notices neither a set wall clock nor sleep. */
const LOOK_EVERY_MS = 60_000;
/** The time until the next look after one that failed, because the disk was full for example, in ms. */
const RETRY_MS = 5000;

export interface Scheduled {
  /** Returns the time of the next row, in Unix ms; null if no row has a time. */
  due: (rx: Reader) => number | null;
  /** Stores what becomes of all rows whose time has come, and stops early if `signal` aborts. */
  act: (signal: AbortSignal) => Promise<void>;
}

/** Acts on rows when they are due by the wall clock. Its only state is a timer: the rows have the times. */
export class Scheduler {
  readonly #deps: Pick<ServerParts, 'db' | 'clock' | 'logger'>;
  readonly #scheduled: Scheduled[] = [];
  readonly #stopping = new AbortController();
  #isOpen = false;
  #looking: Promise<void> | undefined;
  #timer: Disposable | undefined;
  #firesAt = Infinity;
  #isFailing = false;

  constructor(deps: Pick<ServerParts, 'db' | 'clock' | 'logger'>) {
    this.#deps = deps;
  }

  /** Adds a kind of rows. The kinds act in the order of their registration. */
  register(scheduled: Scheduled): void {
    this.#scheduled.push(scheduled);
  }

  /** Looks at once if any row has a time. Resolves after the first look. */
  async open(): Promise<void> {
    this.#isOpen = true;
    if (this.#nextTime() < Infinity) await this.#look();
  }

  /** Must be called once a row is on disk that has a time, in Unix ms. */
  wake(at: number): void {
    // A look that is under way sees the row.
    if (!this.#isOpen || this.#looking) return;
    const wait = this.#waitFor(at);
    if (this.#deps.clock.monotonic() + wait < this.#firesAt) this.#setTimer(wait);
  }

  /** Leaves all rows for the next start of the server. */
  stop(): void {
    this.#isOpen = false;
    this.#stopping.abort();
    this.#timer?.[Symbol.dispose]();
  }

  #look(): Promise<void> {
    return (this.#looking ??= this.#actUntilSettled().finally(() => {
      this.#looking = undefined;
      this.#setNextTimer();
    }));
  }

  /** Acts until no row is due, or a kind fails. One that fails keeps no other kind from acting. */
  async #actUntilSettled(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopping;
    this.#isFailing = false;
    do
      for (const { act } of this.#scheduled)
        if (!signal.aborted) await act(signal).catch((error: unknown) => this.#fail(error));
    while (this.#isOpen && !this.#isFailing && this.#nextTimeOrFail() <= clock.now());
  }

  #fail(error: unknown): void {
    this.#isFailing = true;
    this.#deps.logger.error({ err: error }, 'cannot store the changes of due rows');
  }

  #setNextTimer(): void {
    if (!this.#isOpen) return;
    const next = this.#isFailing ? Infinity : this.#nextTimeOrFail();
    if (this.#isFailing) this.#setTimer(RETRY_MS);
    else if (next < Infinity) this.#setTimer(this.#waitFor(next));
  }

  #nextTimeOrFail(): number {
    try {
      return this.#nextTime();
    } catch (error) {
      this.#fail(error);
      return Infinity;
    }
  }

  #nextTime(): number {
    const times = this.#deps.db.peek((rx) => this.#scheduled.map(({ due }) => due(rx)));
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
}

/**
 * Acts on rows by their ids, each in a transaction of its own, so that a damaged row keeps no other one waiting. Yields to
 * the event loop between slices. Throws the first error after the last row.
 */
export async function actOnEach(
  { db, clock }: Pick<ServerParts, 'db' | 'clock'>,
  ids: readonly string[],
  signal: AbortSignal,
  act: (tx: Writer, id: string) => void,
): Promise<void> {
  const results: PromiseSettledResult<void>[] = [];
  for (let at = 0; at < ids.length && !signal.aborted;) {
    const stored: Promise<void>[] = [];
    at = runSlice(clock, ids, at, (id) => void stored.push(db.transact((tx) => act(tx, id))));
    results.push(...(await Promise.allSettled(stored)));
    if (at < ids.length) await yieldToEventLoop();
  }
  const failed = results.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason as Error;
}
