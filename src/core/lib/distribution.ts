import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** The distribution of recorded numbers: percentiles, and a cumulative histogram over fixed bounds. */
export class Distribution {
  readonly #histogram: RecordableHistogram = createHistogram();
  readonly #bounds: readonly number[];
  /** Numbers per bucket, one bucket for each bound; the last bucket has those above every bound. */
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` are the upper bounds of the buckets, in ascending order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** Records an integer of at least 1. */
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

  /** For each bound, how many numbers are at most that large: cumulative, as Prometheus wants it. */
  buckets(): { bound: number; count: number }[] {
    let count = 0;
    return this.#bounds.map((bound, at) => ({ bound, count: (count += this.#counts[at] ?? 0) }));
  }
}
