import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** How numbers are spread: their percentiles, and how many are not above each of some bounds. */
export class Distribution {
  readonly #histogram: RecordableHistogram = createHistogram();
  readonly #bounds: readonly number[];
  /** By the lowest bound that holds a number; those above all bounds come last. */
  readonly #counts: number[];
  #sum = 0;

  /** The bounds have to rise. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** A whole number from 1 on. */
  record(value: number): void {
    this.#histogram.record(value);
    this.#sum += value;
    const at = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = at < 0 ? this.#bounds.length : at;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  get count(): number {
    return this.#histogram.count;
  }
  get sum(): number {
    return this.#sum;
  }
  get mean(): number {
    return this.#histogram.mean;
  }
  get max(): number {
    return this.#histogram.max;
  }
  percentile(percent: number): number {
    return this.#histogram.percentile(percent);
  }

  /** For each bound, how many numbers are not above it. */
  buckets(): { bound: number; count: number }[] {
    let count = 0;
    return this.#bounds.map((bound, at) => ({ bound, count: (count += this.#counts[at] ?? 0) }));
  }
}
