import type { Clock } from '../../src/lib/clock.ts';

interface Timer {
  at: number;
  every: number | null;
  fn: () => void;
}

/** Time that stands still until a test moves it. */
export class ManualClock implements Clock {
  readonly #start = 1_750_000_000_000;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;

  now(): number {
    return this.#start + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const timer = this.after(ms, resolve);
      signal?.addEventListener('abort', () => {
        timer[Symbol.dispose]();
        reject(signal.reason as Error);
      });
    });
  }

  after(ms: number, fn: () => void): Disposable {
    return this.#add({ at: this.#elapsed + ms, every: null, fn });
  }

  every(ms: number, fn: () => void): Disposable {
    return this.#add({ at: this.#elapsed + ms, every: ms, fn });
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Lets `ms` pass: what falls due is called, in order. */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#elapsed = next.at;
      if (next.every === null) this.#timers.delete(next);
      else next.at += next.every;
      next.fn();
    }
    this.#elapsed = end;
  }

  #next(end: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
  }

  #add(timer: Timer): Disposable {
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }
}
