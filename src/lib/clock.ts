import { setTimeout as sleep } from 'node:timers/promises';

/** Time, handed in, so that a test can own it. */
export interface Clock {
  /** Wall time, integer Unix milliseconds: for records, never for limits. */
  now(): number;
  /** Milliseconds since an arbitrary start that never jump: for limits and measurements. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`, unless disposed first. Does not keep the process alive. */
  after(ms: number, fn: () => void): Disposable;
  /** Calls `fn` every `ms` until disposed. Does not keep the process alive. */
  every(ms: number, fn: () => void): Disposable;
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    await sleep(ms, undefined, signal ? { signal } : {});
  },
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
  every(ms, fn) {
    const timer = setInterval(fn, ms);
    timer.unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  },
};
