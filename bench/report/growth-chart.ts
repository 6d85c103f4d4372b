import { type Chart, lineChart } from './chart.ts';
import type { Result } from './result.ts';

/** The events of the smallest directory. */
export const eventsAtOne: Record<Result['form'], number> = { short: 300, full: 10_000 };

/** The name of a figure at a scale. */
export function nameAt(what: string, scale: number): string {
  return `${what} at ${scale}x`;
}

const AT = /^(.*) at (\d+)x$/;

/** The chart of the workload `growth`: how many times what they take at scale 1 things take at larger scales. */
export function growthChart({ figures, form }: Result): string {
  const factors = new Map<string, Map<number, number>>();
  for (const { what, sides } of figures) {
    const [, name = '', scale = ''] = AT.exec(what) ?? [];
    const value = sides.cadre?.median;
    if (name === '' || value === undefined) continue;
    const ofName = factors.get(name) ?? new Map<number, number>();
    factors.set(name, ofName.set(Number(scale), scale === '1' ? 1 : value));
  }
  const scales = [...new Set([...factors.values()].flatMap((one) => [...one.keys()]))];
  const chart: Chart = {
    title: 'What the same work takes as the log grows',
    places: scales.map((scale) => `${(scale * eventsAtOne[form]).toLocaleString('en-US')} events`),
    unit: 'x',
    series: [...factors].map(([name, ofName]) => ({
      name,
      values: scales.map((scale) => ofName.get(scale) ?? 0),
    })),
  };
  return lineChart(chart);
}
