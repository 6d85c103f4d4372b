import { median } from '../../../bench/report/statistics.ts';
import { type Measure, type Sample, units } from './samples.ts';

/** The highest ratio of the last quarter of a run to its second quarter; the first quarter is the warm-up. */
export const MAX_RATIO = 1.3;

/** Differences below this are not growth, whatever their ratio is. */
const NOISE: Partial<Record<Measure, number>> = {
  descriptors: 10,
  threads: 4,
  children: 5,
  'search index': 2,
  'events, deltas and items': 1,
};

/** The values that must not grow. Times depend on other work of the machine. The number of records grows by design. */
const FLAT: ReadonlySet<Measure> = new Set<Measure>([
  'resident memory',
  'heap',
  'descriptors',
  'threads',
  'children',
  'events, deltas and items',
  'records for each turn',
  'search index',
]);

/** One curve: its medians in ten equal parts of the run, its slope after the warm-up, and the ratio of two quarters. */
export interface Curve {
  measure: Measure;
  tenths: number[];
  slopePerHour: number;
  ratio: number;
  isChecked: boolean;
  isFlat: boolean;
}

export function curvesOf(samples: readonly Sample[]): Curve[] {
  return (Object.keys(units) as Measure[]).map((measure) => {
    const values = samples.map((sample) => sample.values[measure]);
    const [before, after] = [medianOf(values, 1 / 4, 2 / 4), medianOf(values, 3 / 4, 1)];
    const isFlat = after <= before * MAX_RATIO || after - before <= (NOISE[measure] ?? 0);
    return {
      measure,
      tenths: Array.from({ length: 10 }, (_, at) => medianOf(values, at / 10, (at + 1) / 10)),
      slopePerHour: slopePerHour(samples.slice(Math.floor(samples.length / 4)), measure),
      ratio: after / before,
      isChecked: FLAT.has(measure),
      isFlat,
    };
  });
}

/** Names the curves that must be flat and are not. */
export function growthIn(samples: readonly Sample[]): string[] {
  return curvesOf(samples)
    .filter(({ isChecked, isFlat }) => isChecked && !isFlat)
    .map(({ measure, ratio }) => `${measure} grew by a factor of ${ratio.toFixed(2)}`);
}

function medianOf(values: readonly number[], from: number, to: number): number {
  const count = values.length;
  return median(values.slice(Math.floor(from * count), Math.ceil(to * count)));
}

/** The slope of the line through the samples with the least squares. */
function slopePerHour(samples: readonly Sample[], measure: Measure): number {
  const points = samples.map(({ seconds, values }) => ({ x: seconds / 3600, y: values[measure] }));
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  return mean((point) => (point.x - x) * (point.y - y)) / mean((point) => (point.x - x) ** 2);
}
