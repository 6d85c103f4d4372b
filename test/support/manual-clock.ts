import { type Clock, systemClock } from '../../src/core/lib/clock.ts';

interface Timer {
  at: number;
  every: number | null;
  fn: () => void;
}

/**
 * How often at most a timer that recurs is called while a test lets time pass once. A day has 17,280 times five seconds:
 * whoever tests what is after a day waits for none of them.
 */
const MAX_CALLS = 100;

/** Time that stands still until a test moves it. */
export class ManualClock implements Clock {
  readonly #start: number;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;
  /** By how much the wall clock was set. */
  #set = 0;
  #runsFree = false;

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
    if (this.#runsFree) return systemClock.after(ms, fn);
    return this.#add({ at: this.#elapsed + ms, every: null, fn });
  }

  every(ms: number, fn: () => void): Disposable {
    if (this.#runsFree) return systemClock.every(ms, fn);
    return this.#add({ at: this.#elapsed + ms, every: ms, fn });
  }

  /** How many timers wait. */
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

  /** Sets the wall clock forward, or back: no timer notices that, as where the machine slept or its clock was wrong. */
  jump(ms: number): void {
    this.#set += ms;
  }

  /** From here on time goes by itself: a runtime that stops may need it. */
  runFree(): void {
    this.#runsFree = true;
    for (const { at, fn } of this.#timers) systemClock.after(Math.max(0, at - this.#elapsed), fn);
    this.#timers.clear();
  }

  #next(end: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
  }

  #add(timer: Timer): Disposable {
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }
}
