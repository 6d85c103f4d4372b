/** One measurement of cadre and of the baseline: the median over the rounds. */
export interface Figure {
  what: string;
  unit: string;
  cadre: number;
  bare: number;
}

/** A workload that is measured on cadre and on a minimal baseline. */
export interface Workload {
  about: string;
  run(rounds: number, progress: (line: string) => void): Promise<Figure[]>;
}

/** The value below which `share` of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Combines the measurements of all rounds of both sides into one figure for each unit. */
export function pair(
  cadre: readonly Record<string, number>[],
  bare: readonly Record<string, number>[],
  units: Record<string, string>,
): Figure[] {
  const of = (rounds: readonly Record<string, number>[], what: string) =>
    median(rounds.map((round) => round[what] ?? 0));
  return Object.entries(units).map(([what, unit]) => ({
    what,
    unit,
    cadre: of(cadre, what),
    bare: of(bare, what),
  }));
}
