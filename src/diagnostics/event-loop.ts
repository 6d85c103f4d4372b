import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { spreadOf } from './spread.ts';

/** How often the delay of the event loop is sampled. */
const RESOLUTION_MS = 20;

/** Measures the delay of the event loop; disposing it ends the measurement. */
export function watchEventLoop(): Disposable & {
  delayMicroseconds(): ReturnType<typeof spreadOf>;
} {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return {
    delayMicroseconds() {
      if (histogram.count === 0) return spreadOf(createHistogram());
      const { count, mean, p50, p99, max } = spreadOf(histogram);
      const micros = (nanoseconds: number) => Math.round(nanoseconds / 1000);
      return { count, mean: micros(mean), p50: micros(p50), p99: micros(p99), max: micros(max) };
    },
    [Symbol.dispose]: () => histogram.disable(),
  };
}
