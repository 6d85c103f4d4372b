import { type Clock, systemClock } from '../../../src/lib/clock.ts';

interface Timer {
  due: number;
  /** Null: once. */
  every: number | null;
  fn: () => void;
}

/** Time that stands still until a test moves it. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #time: number;
  #runsFree = false;

  constructor(start = 1_700_000_000_000) {
    this.#time = start;
  }

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
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
    return this.#add(ms, null, fn);
  }

  every(ms: number, fn: () => void): Disposable {
    return this.#add(ms, ms, fn);
  }

  /** Moves the time on: what falls due by then is called once, in the order in which it was due. */
  advance(ms: number): void {
    this.#time += ms;
    const due = [...this.#timers].filter((timer) => timer.due <= this.#time);
    for (const timer of due.toSorted((a, b) => a.due - b.due)) {
      if (!this.#timers.delete(timer)) continue;
      if (timer.every !== null)
        this.#timers.add(Object.assign(timer, { due: this.#time + timer.every }));
      timer.fn();
    }
  }

  /** From here on time goes by itself: a runtime that stops may need it. */
  runFree(): void {
    this.#runsFree = true;
    for (const { due, fn } of this.#timers) systemClock.after(Math.max(0, due - this.#time), fn);
    this.#timers.clear();
  }

  #add(ms: number, every: number | null, fn: () => void): Disposable {
    if (this.#runsFree)
      return every === null ? systemClock.after(ms, fn) : systemClock.every(ms, fn);
    const timer: Timer = { due: this.#time + ms, every, fn };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }
}
