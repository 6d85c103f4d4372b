/** What is needed of any of Node's histograms. */
interface Histogram {
  readonly count: number;
  readonly mean: number;
  readonly max: number;
  percentile(percent: number): number;
}

/** A histogram in five numbers, in the unit it was recorded in. */
export function spreadOf(histogram: Histogram): {
  count: number;
  mean: number;
  p50: number;
  p99: number;
  max: number;
} {
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
