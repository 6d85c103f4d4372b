import type { Figure, Result } from '../../bench/report/result.ts';
import { spread } from '../../bench/report/statistics.ts';

/** A result with these figures. */
export function aResult(figures: Figure[], more: Partial<Result> = {}): Result {
  return {
    workload: 'turn',
    about: 'turns of one client',
    form: 'short',
    rounds: 3,
    version: '1.0.0',
    node: 'v24.0.0',
    machine: '2 cores',
    figures,
    failures: [],
    ...more,
  };
}

/** A figure whose ratios to the baseline were these, round by round. */
export function aRatio(values: number[], { what = 'first word', unit = 'ms' } = {}): Figure {
  return {
    what,
    unit,
    sides: { cadre: spread(values.map((value) => value * 10)), bare: spread(values.map(() => 10)) },
    ratios: { cadre: spread(values) },
  };
}

/** A figure without a baseline. */
export function aValue(values: number[], unit: string): Figure {
  return { what: 'idle', unit, sides: { cadre: spread(values) }, ratios: {} };
}
