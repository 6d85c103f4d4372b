import { type Clock, systemClock } from '../../src/core/lib/clock.ts';

interface Timer {
  at: number;
  every: number | null;
  fn: () => void;
  /** Set once the clock runs in real time. */
  real?: Disposable;
}

/**
 * The maximum number of calls of a recurring timer during one advance of the clock. A day has 17,280 intervals of five
 * seconds, and a test of the time after a day needs none of them.
 */
const MAX_CALLS = 100;

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  readonly #start: number;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;
  /** The offset of the wall clock. */
  #set = 0;
  #runsFree = false;
  /** The timers that run in real time. */
  readonly #real: Disposable[] = [];

  constructor(start = 1_750_000_000_000) {
    this.#start = start;
  }

  now(): number {
    return this.#start + this.#elapsed + this.#set;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal?.reason as Error);
      if (signal?.aborted) return stop();
      const timer = this.after(ms, () => {
        signal?.removeEventListener('abort', gone);
        resolve();
      });
      const gone = () => {
        timer[Symbol.dispose]();
        stop();
      };
      signal?.addEventListener('abort', gone, { once: true });
    });
  }

  after(ms: number, fn: () => void): Disposable {
    if (this.#runsFree) return this.#inRealTime(systemClock.after(ms, fn));
    return this.#add({ at: this.#elapsed + ms, every: null, fn });
  }

  every(ms: number, fn: () => void): Disposable {
    if (this.#runsFree) return this.#inRealTime(systemClock.every(ms, fn));
    return this.#add({ at: this.#elapsed + ms, every: ms, fn });
  }

  /** The number of waiting timers. */
  get waiting(): number {
    return this.#timers.size;
  }

  /**
   * Advances the time by `ms`, and calls due timers in order. An interval is called a hundred times and at its end, as
   * Node skips the intervals of a busy process.
   */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    const calls = new Map<Timer, number>();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#elapsed = next.at;
      if (next.every === null) this.#timers.delete(next);
      else {
        const count = (calls.get(next) ?? 0) + 1;
        calls.set(next, count);
        const left = Math.floor((end - next.at) / next.every);
        next.at += next.every * (count >= MAX_CALLS && left > 1 ? left : 1);
      }
      next.fn();
    }
    this.#elapsed = end;
  }

  /** Sets the wall clock without calling timers, as a sleep of the machine or a correction of its clock does. */
  jump(ms: number): void {
    this.#set += ms;
  }

  /** Makes the clock run in real time from now on, because a runtime may need it to stop. */
  runFree(): void {
    this.#runsFree = true;
    for (const timer of this.#timers)
      timer.real = this.#inRealTime(
        systemClock.after(Math.max(0, timer.at - this.#elapsed), timer.fn),
      );
    this.#timers.clear();
  }

  /** Ends a clock that runs in real time. Otherwise its timers would keep a stopped runtime in memory. */
  stop(): void {
    for (const timer of this.#real) timer[Symbol.dispose]();
  }

  #inRealTime(timer: Disposable): Disposable {
    this.#real.push(timer);
    return timer;
  }

  #next(end: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
  }

  #add(timer: Timer): Disposable {
    this.#timers.add(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers.delete(timer);
        timer.real?.[Symbol.dispose]();
      },
    };
  }
}
