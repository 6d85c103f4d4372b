/** The clock, as a dependency that tests can replace. */
export interface Clock {
  /** Wall time, integer Unix milliseconds: for records, never for time limits, because it can jump. */
  now(): number;
  /** Milliseconds since an arbitrary moment, which never jump: for time limits and measurements. */
  monotonic(): number;
  /** Resolves after `ms`, which has no upper limit; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`, which has no upper limit, unless disposed first. Does not keep the process alive. */
  after(ms: number, fn: () => void): Disposable;
  /** Calls `fn` every `ms`, which is clamped to 24 days, until disposed. Does not keep the process alive. */
  every(ms: number, fn: () => void): Disposable;
}

/** Node fires a timer at once if its delay is longer than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

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

/** Calls `fn` after `ms`. A delay that is too long for one timer of Node is split over several in a row. */
function timer(ms: number, fn: () => void, { isBackground = false } = {}): Disposable {
  const due = performance.now() + ms;
  let step: NodeJS.Timeout;
  const wait = () => {
    const rest = due - performance.now();
    if (rest <= LONGEST_TIMER_MS) step = setTimeout(fn, Math.max(0, rest));
    else step = setTimeout(wait, LONGEST_TIMER_MS);
    if (isBackground) step.unref();
  };
  wait();
  return { [Symbol.dispose]: () => clearTimeout(step) };
}
