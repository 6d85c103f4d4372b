import { type Figure, isMoreBetter, type Result } from './result.ts';
import type { Spread } from './statistics.ts';

/** By how much a figure may be worse than the stored one. */
export const LIMIT = 0.15;

/** A figure beside the stored one. */
export interface Comparison {
  workload: string;
  what: string;
  /** The ratio to the baseline; for a figure that has none, the value in its unit. */
  stored: number;
  now: Spread;
  /** By which share it got worse; below 0: better. */
  change: number;
  /**
   * `worse` and `better`: the median by more than the limit, and each round beside each stored round. `unsure`: the median
   * is worse, but the rounds overlap.
   */
  verdict: 'worse' | 'better' | 'same' | 'unsure';
}

/**
 * Compares results with stored ones, figure by figure: the ratios to the baseline, which ran beside them on the same
 * machine. Where there is no baseline, megabytes and factors are compared as they are, and times not at all, because they
 * depend on the machine. A figure that only one result has is left out.
 */
export function compare(stored: readonly Result[], now: readonly Result[]): Comparison[] {
  return now.flatMap(({ workload, figures, form }) => {
    const before = stored.find((one) => one.workload === workload && one.form === form);
    return figures.flatMap((figure) => {
      const [old, own] = [before?.figures.find(({ what }) => what === figure.what), figure].map(
        comparable,
      );
      return old && own ? [{ workload, what: figure.what, ...judge(old, own, figure.unit) }] : [];
    });
  });
}

function comparable(figure: Figure | undefined): Spread | undefined {
  if (!figure) return undefined;
  if (figure.ratios.cadre) return figure.ratios.cadre;
  return ['MB', 'x'].includes(figure.unit) ? figure.sides.cadre : undefined;
}

function judge(
  old: Spread,
  now: Spread,
  unit: string,
): Pick<Comparison, 'stored' | 'now' | 'change' | 'verdict'> {
  const change = isMoreBetter(unit) ? old.median / now.median - 1 : now.median / old.median - 1;
  const [isHigher, isLower] = [now.low > old.high, now.high < old.low];
  const [isWorse, isBetter] = isMoreBetter(unit) ? [isLower, isHigher] : [isHigher, isLower];
  const common = { stored: old.median, now, change };
  if (change > LIMIT) return { ...common, verdict: isWorse ? 'worse' : 'unsure' };
  return { ...common, verdict: change < -LIMIT && isBetter ? 'better' : 'same' };
}
