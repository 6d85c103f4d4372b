/** A figure over all rounds: its median, and between which values it was. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** The value below which `share` of the values lie, between two neighbours by their distance. NaN of no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}

/**
 * The ratio to the baseline, round by round: the two sides of a round ran one right after the other, so what else the
 * machine did then is in both. Null if a baseline is missing or 0.
 */
export function ratios(values: readonly number[], bare: readonly number[]): Spread | null {
  const pairs = values.map((value, round) => value / (bare[round] ?? Number.NaN));
  return pairs.length > 0 && pairs.every(Number.isFinite) ? spread(pairs) : null;
}
