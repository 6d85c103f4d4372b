/** Time, handed in, so that a test can own it. */
export interface Clock {
  /** Wall time, integer Unix milliseconds: for records, never for limits. */
  now(): number;
  /** Milliseconds since an arbitrary start that never jump: for limits and measurements. */
  monotonic(): number;
  /** Resolves after `ms`, however many these are; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`, however many these are, unless disposed first. Does not keep the process alive. */
  after(ms: number, fn: () => void): Disposable;
  /** Calls `fn` every `ms`, at most 24 days, until disposed. Does not keep the process alive. */
  every(ms: number, fn: () => void): Disposable;
}

/** A timer of Node's that is set for longer goes off at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    using _timer = timer(ms, resolve);
    const abort = () => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  },
  after: (ms, fn) => timer(ms, fn, { isBackground: true }),
  every(ms, fn) {
    const interval = setInterval(fn, Math.min(ms, LONGEST_TIMER_MS));
    interval.unref();
    return { [Symbol.dispose]: () => clearInterval(interval) };
  },
};

/** Calls `fn` after `ms`, by as many timers one after the other as it takes. */
function timer(ms: number, fn: () => void, { isBackground = false } = {}): Disposable {
  const due = performance.now() + ms;
  let step: NodeJS.Timeout;
  const wait = () => {
    const rest = due - performance.now();
    if (rest <= LONGEST_TIMER_MS) step = setTimeout(fn, rest);
    else step = setTimeout(wait, LONGEST_TIMER_MS);
    if (isBackground) step.unref();
  };
  wait();
  return { [Symbol.dispose]: () => clearTimeout(step) };
}
