import type { Figure, Result } from './result.ts';
import type { Spread } from './statistics.ts';
import { shortNumber } from './text.ts';

const BEGIN = '<!-- The tables are written by `node bench/page.ts`. -->';
const END = '<!-- End of the tables. -->';

/** The order of the columns, with their headings. A table shows only the columns that were measured. */
const SIDES = {
  cadre: 'cadre',
  before: 'before',
  peer: 'peer',
  'bare-server': 'bare-server',
  libraries: 'libraries',
  bare: 'bare',
} as const;

/** Replaces the part of a page between the two marks by the tables of the results. Throws if a mark is missing. */
export function withTables(page: string, results: readonly Result[]): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the page lacks "${BEGIN}" or "${END}" after it`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${tables(results)}\n\n${page.slice(end)}`;
}

/** A heading, a sentence and a table for each result. */
export function tables(results: readonly Result[]): string {
  return results.map(tableOf).join('\n\n');
}

function tableOf({ workload, about, form, rounds, machine, node, figures }: Result): string {
  const sides = (Object.keys(SIDES) as (keyof typeof SIDES)[]).filter((side) =>
    figures.some((figure) => figure.sides[side]),
  );
  const compared = sides.filter((side) => figures.some((figure) => figure.ratios[side]));
  const toSecond = sides.filter((side) => figures.some((figure) => figure.secondRatios?.[side]));
  const second = sides.includes('bare-server') ? 'bare-server' : 'libraries';
  const head = [
    '',
    '',
    ...sides.map((side) => SIDES[side]),
    ...compared.map((side) => `${SIDES[side]} / bare`),
    ...toSecond.map((side) => `${SIDES[side]} / ${second}`),
  ];
  const rows = figures.map((figure) => [
    figure.what,
    figure.unit,
    ...sides.map((side) => cell(figure, side)),
    ...compared.map((side) => ratioCell(figure.ratios[side])),
    ...toSecond.map((side) => ratioCell(figure.secondRatios?.[side])),
  ]);
  const rule = head.map((_, n) => (n < 2 ? '---' : '--:'));
  return [
    `### ${workload}`,
    '',
    `This benchmark measures ${about}. The \`${form}\` form of this benchmark ran ${rounds} rounds on a machine with ${machine} and Node ${node}.`,
    '',
    ...[head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n');
}

function cell({ sides }: Figure, side: string): string {
  const spread = sides[side];
  if (!spread) return '';
  const { median, low, high } = spread;
  return `${shortNumber(median)} (${shortNumber(low)}-${shortNumber(high)})`;
}

function ratioCell(ratio: Spread | undefined): string {
  return ratio ? shortNumber(ratio.median) : '';
}
