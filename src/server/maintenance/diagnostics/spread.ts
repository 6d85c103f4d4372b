/** The properties of Node's histograms that are used here. */
interface Histogram {
  readonly count: number;
  readonly mean: number;
  readonly max: number;
  percentile(percent: number): number;
}

/** Summarises a histogram in five numbers, in its own unit. */
export function spreadOf(histogram: Histogram) {
  const { count } = histogram;
  if (count === 0) return { count, mean: 0, p50: 0, p99: 0, max: 0 };
  return {
    count,
    mean: Math.round(histogram.mean * 10) / 10,
    p50: histogram.percentile(50),
    p99: histogram.percentile(99),
    max: histogram.max,
  };
}
