import type { Sample } from './samples.ts';
import { curvesOf } from './growth.ts';
import { units } from './samples.ts';

/** A table of the curves in Markdown: the medians of ten parts, the slope after the warm-up, and the ratio of two quarters. */
export function tableOf(samples: readonly Sample[]): string {
  const head = [
    'Value',
    ...Array.from({ length: 10 }, (_, at) => `${at + 1}`),
    'Per hour',
    'Ratio',
  ];
  const rows = curvesOf(samples).map(({ measure, tenths, slopePerHour, ratio, isChecked }) => [
    `${isChecked ? '**' : ''}${measure}${isChecked ? '**' : ''}${units[measure] === '' ? '' : ` (${units[measure]})`}`,
    ...tenths.map(short),
    (slopePerHour > 0 ? '+' : '') + short(slopePerHour),
    ratio.toFixed(2),
  ]);
  return [head, head.map((_, at) => (at === 0 ? '---' : '--:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function short(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1);
}
