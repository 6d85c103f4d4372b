import type { Figure, Result } from './result.ts';

/** A result for people: a line for each figure, with the sides beside each other. */
export function textOf({ workload, about, figures, failures }: Result): string {
  const lines = [`${workload}: ${about}`];
  for (const figure of figures) lines.push(`  ${lineOf(figure)}`);
  for (const { side, reason } of failures) lines.push(`  ${side} could not run it: ${reason}`);
  return `${lines.join('\n')}\n`;
}

/** Three digits that count, and no more. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  if (size >= 100) return value.toFixed(0);
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function lineOf({ what, unit, sides, ratios, secondRatios = {} }: Figure): string {
  const parts = Object.entries(sides).map(([side, { median, low, high }]) => {
    const both = [ratios[side], secondRatios[side]].filter((one) => one !== undefined);
    const ratio = both.map((one) => ` x${shortNumber(one.median)}`).join('');
    const between = `${shortNumber(low)}-${shortNumber(high)}`;
    return `${side} ${shortNumber(median).padStart(7)} (${between})${ratio}`.padEnd(38);
  });
  return `${what.padEnd(30)} ${unit.padEnd(5)} ${parts.join(' ')}`.trimEnd();
}
