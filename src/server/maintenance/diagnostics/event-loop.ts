import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../../../core/lib/clock.ts';
import { spreadOf } from './spread.ts';

/** How often the delay of the event loop is sampled. */
const RESOLUTION_MS = 20;
/** A start does not wait for the histogram, nor is it measured, in milliseconds. */
const BEGIN_AFTER_MS = 500;

/** Measures the delay of the event loop; disposing it ends the measurement. */
export function watchEventLoop(clock: Clock): Disposable & {
  delayMicroseconds(): ReturnType<typeof spreadOf>;
} {
  let histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;
  const begin = clock.after(BEGIN_AFTER_MS, () => {
    histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    histogram.enable();
  });
  return {
    delayMicroseconds() {
      if (!histogram || histogram.count === 0) return spreadOf(createHistogram());
      const { count, mean, p50, p99, max } = spreadOf(histogram);
      // A sample is the time between two timers, which includes the interval of the timers.
      const micros = (nanoseconds: number) =>
        Math.max(0, Math.round(nanoseconds / 1000) - RESOLUTION_MS * 1000);
      return { count, mean: micros(mean), p50: micros(p50), p99: micros(p99), max: micros(max) };
    },
    [Symbol.dispose]() {
      begin[Symbol.dispose]();
      histogram?.disable();
    },
  };
}
