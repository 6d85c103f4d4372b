import type { Figures } from './meter.ts';

/** The growth that a figure may have from the smallest size to the largest. */
type Growth = 'flat' | 'linear';

/** A flat figure grows by this factor at most. */
const MAX_RATIO = 2;
/** Differences below this are noise: milliseconds of CPU time, or megabytes. */
const NOISE = 2;

/** Figures that are work on everything there is, and so are at most linear. All others have to be flat. */
const LINEAR: ReadonlySet<string> = new Set([
  'start',
  'start after a kill',
  'memory with all alive',
  'memory of all processes',
  'memory at the end',
  'turn of one word, for all followers',
]);

export interface Curve {
  name: string;
  values: number[];
  /** The time that passed, in milliseconds. */
  passed: (number | null)[];
  /** The value of the largest size divided by the one of the smallest. */
  ratio: number;
  allowed: Growth;
  isAsAllowed: boolean;
}

/** The curves of figures of several sizes, whose largest is `factor` times the smallest. */
export function curvesOf(figures: readonly Figures[], factor: number): Curve[] {
  return Object.keys(figures[0] ?? {}).map((name) => {
    const values = figures.map((one) => one[name]?.value ?? Number.NaN);
    const passed = figures.map((one) => one[name]?.passedMs ?? null);
    const [first = Number.NaN, last = Number.NaN] = [values[0], values.at(-1)];
    const allowed = LINEAR.has(name) ? 'linear' : 'flat';
    const limit = first * (allowed === 'flat' ? MAX_RATIO : factor) + NOISE;
    return { name, values, passed, ratio: last / first, allowed, isAsAllowed: last <= limit };
  });
}

/** A table of the curves in Markdown, with a column for each size. The time that passed is in parentheses. */
export function tableOf(curves: readonly Curve[], columns: readonly string[]): string {
  const head = ['Figure', ...columns, 'Ratio', 'Allowed'];
  const rows = curves.map(({ name, values, passed, ratio, allowed, isAsAllowed }) => [
    name,
    ...values.map((value, at) => {
      const ms = passed[at] ?? null;
      return ms === null ? short(value) : `${short(value)} (${short(ms)})`;
    }),
    ratio.toFixed(2),
    isAsAllowed ? allowed : `${allowed}: **not met**`,
  ]);
  const line = head.map((_, at) => (at === 0 || at === head.length - 1 ? '---' : '--:'));
  return [head, line, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}
