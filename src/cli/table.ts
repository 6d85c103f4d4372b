import { plain } from '../lib/plain.ts';
import { padded, truncated, widthOf } from '../terminal/width.ts';
import { type Layout, stateStyle, whole } from './layout.ts';

const GAP = 2;
/** A column is never cut to less than this; columns at the right are left out instead. */
const LEAST = 6;
/** The columns whose cells have the colour of a state. */
const STATES = new Set(['STATUS', 'STATE', 'HEALTHY']);

/**
 * A table with a heading and columns two spaces apart. Each cell becomes one line of plain text. No line is wider than
 * the layout: the widest cells are cut, but never those of the first column, which has the ids.
 */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  layout: Layout = whole,
): string {
  const lines = [heading, ...rows].map((row) =>
    row.map((cell) => plain(cell).replaceAll(/\s+/g, ' ')),
  );
  const wanted = heading.map((_, column) =>
    Math.max(...lines.map((line) => widthOf(line[column] ?? ''))),
  );
  const widths = fitted(wanted, layout.columns);
  const { palette } = layout;
  return lines
    .map((line, row) =>
      line
        .slice(0, widths.length)
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          const cut = truncated(cell, width);
          const styled =
            row > 0 && STATES.has(heading[column] ?? '')
              ? stateStyle(palette, cell)(cut)
              : row === 0
                ? palette.faint(cut)
                : cut;
          return column === widths.length - 1 ? styled : padded(styled, width);
        })
        .join(' '.repeat(GAP)),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** Prints a list as a table with a row for each record; `now` is in Unix milliseconds. */
export function listOf<T>(
  heading: readonly string[],
  cellsOf: (one: T, now: number) => readonly string[],
): (found: readonly T[], at: { now: number; layout?: Layout }) => string {
  return (found, { now, layout }) =>
    table(
      heading,
      found.map((one) => cellsOf(one, now)),
      layout,
    );
}

/**
 * The widths of columns within a line of `columns` columns. The first one keeps its width, and so do narrow ones; the
 * wide ones share what is left.
 */
function fitted(wanted: readonly number[], columns: number): readonly number[] {
  const [first = 0, ...others] = wanted;
  const room = columns - first - GAP * others.length;
  if (sum(others) <= room) return wanted;
  const least = sum(others.map((width) => Math.min(width, LEAST)));
  if (least > room && others.length > 0) return fitted(wanted.slice(0, -1), columns);
  const cap = shareOf(others, room);
  const cut = others.map((width) => Math.min(width, cap));
  // What the division left over goes to the last column that was cut.
  const last = others.findLastIndex((width) => width > cap);
  return [Math.min(first, columns), ...cut.with(last, (cut[last] ?? 0) + room - sum(cut))];
}

/** The largest width to which all columns can be cut so that they fit. */
function shareOf(widths: readonly number[], room: number): number {
  let rest = room;
  const ascending = widths.toSorted((a, b) => a - b);
  for (const [at, width] of ascending.entries()) {
    const share = Math.floor(rest / (ascending.length - at));
    if (width > share) return share;
    rest -= width;
  }
  return rest;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
