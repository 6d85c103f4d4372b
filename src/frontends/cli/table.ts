import { plain } from '../../core/lib/plain.ts';
import { sum } from '../../core/lib/sum.ts';
import { ago } from '../terminal/time.ts';
import type { Style } from '../terminal/palette.ts';
import { type Layout, stateStyle, whole } from './layout.ts';
import { truncated, widthOf } from './widths.ts';

const GAP = 2;
/** A column is never cut to less than this; columns at the right are left out instead. */
const LEAST = 6;
/** A narrower last column is cut, because most lines would have one word. */
const ROOMY = 16;
/** The columns whose cells have the colour of a state. */
const STATES = new Set(['STATUS', 'STATE', 'HEALTHY', 'LOGGED IN']);

/**
 * Prints a table with a heading and columns two spaces apart. Each cell becomes one line of plain text. The widest
 * cells are cut so that no line exceeds the layout; the first column has the ids and is never cut. With `wraps`, the
 * last column continues below instead, because its commands must stay whole. In a pipe, tabs separate the cells of a
 * list.
 */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  layout: Layout = whole,
  { wraps = false } = {},
): string {
  if (layout.hasTabs) return rows.map(tabbed).join('');
  const lines = [heading, ...rows].map((row) =>
    row.map((cell) => plain(cell).replaceAll(/\s+/g, ' ')),
  );
  const wanted = heading.map((_, column) =>
    Math.max(...lines.map((line) => widthOf(line[column] ?? ''))),
  );
  const widths = fitted(wanted, layout.columns);
  return lines
    .flatMap((line) =>
      wraps && (widths.at(-1) ?? 0) >= ROOMY ? lastWrapped(line, widths) : [line],
    )
    .map((line, row) =>
      line
        .slice(0, widths.length)
        .map((cell, column) => {
          const cut = truncated(cell, widths[column] ?? 0);
          const space = ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cut)));
          return styleOf(row, heading[column] ?? '', cell, layout)(cut) + space;
        })
        .join(' '.repeat(GAP)),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** A row with tabs between its cells: a tab, a line feed and a backslash in a cell are written as \t, \n and \\. */
function tabbed(row: readonly string[]): string {
  const cells = row.map((cell) =>
    plain(cell)
      .trim()
      .replaceAll(/[\t\n\\]/g, (one) => escapes[one] ?? one),
  );
  return `${cells.join('\t')}\n`;
}

const escapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\\': '\\\\' };

/** A row, and below it rows with what does not fit into its last cell, cut between words. */
function lastWrapped(line: readonly string[], widths: readonly number[]): string[][] {
  const rest = line.slice(0, -1);
  const room = widths[rest.length] ?? 0;
  const parts: string[] = [];
  for (const word of (line.at(-1) ?? '').split(' ')) {
    const longer = parts.length === 0 ? word : `${parts.at(-1)} ${word}`;
    if (parts.length > 0 && widthOf(longer) <= room) parts[parts.length - 1] = longer;
    else parts.push(word);
  }
  return parts.map((part, at) => [...(at === 0 ? rest : rest.map(() => '')), part]);
}

/** The style of a cell: a heading is faint, a state has its colour. */
function styleOf(row: number, heading: string, cell: string, { palette }: Layout): Style {
  if (row === 0) return palette.faint;
  return STATES.has(heading) ? stateStyle(palette, cell) : (text) => text;
}

/**
 * Prints a list as a table with a row for each record; `now` is in Unix milliseconds. Records of several servers have a
 * column with the server of each.
 */
export function listOf<T>(
  heading: readonly string[],
  cellsOf: (one: T, now: number) => readonly string[],
): ListPrint<T> {
  const print = (found: readonly T[], { now, layout }: { now: number; layout?: Layout }) => {
    const isOfSeveral = found.some((one) => nodeOf(one, now) !== null);
    return table(
      isOfSeveral ? withNode(heading, 'NODE') : heading,
      found.map((one) => {
        const cells = layout?.isWide ? withWholeIds(cellsOf(one, now), one) : cellsOf(one, now);
        return isOfSeveral ? withNode(cells, nodeOf(one, now) ?? '-') : cells;
      }),
      layout,
    );
  };
  return Object.assign(print, { isList: true } as const);
}

/** Prints a list; commands that print one take the options of lists. */
type ListPrint<T> = ((found: readonly T[], at: { now: number; layout?: Layout }) => string) & {
  isList: true;
};

function withWholeIds(cells: readonly string[], record: unknown): string[] {
  const fields = Object.entries(record as object) as [string, unknown][];
  const ids = fields.flatMap(([name, value]) =>
    /(^|_)id$/.test(name) && typeof value === 'string' ? value : [],
  );
  return cells.map((cell) => ids.find((id) => shortId(id) === cell) ?? cell);
}

/** The column of the server comes after the one of ids. */
export function withNode(cells: readonly string[], node: string): string[] {
  return [...cells.slice(0, 1), node, ...cells.slice(1)];
}

/** The server of a record, and the age of the record if the server does not answer; null with only one server. */
export function nodeOf(record: unknown, now: number): string | null {
  const { node, last_known_at } = record as { node?: unknown; last_known_at?: unknown };
  if (typeof node !== 'string') return null;
  return typeof last_known_at === 'number' ? `${node} (${ago(now - last_known_at)} old)` : node;
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
  // The last column that was cut gets the remainder of the division.
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

/** The last 8 characters of an id, as tables show it. */
export function shortId(id: string): string {
  return id.slice(-8);
}
