import type { Tokens } from 'marked';
import { inlineText } from './markdown-inline.ts';
import type { Palette } from './palette.ts';
import { padded, widthOf, wrapped } from './width.ts';

const GAP = '  ';
/** A column of a table is not made narrower than this. */
const NARROWEST = 4;

/** A Markdown table as aligned columns; the widest are wrapped until all fit. */
export function tableLines(
  table: Tokens.Table,
  { columns, palette }: { columns: number; palette: Palette },
): string[] {
  const textOf = ({ tokens }: Tokens.TableCell) => inlineText(tokens, palette);
  const head = table.header.map((cell) => palette.strong(textOf(cell)));
  const rows = table.rows.map((row) => row.map(textOf));
  const widths = fitting(
    head.map((cell, at) => Math.max(1, ...[cell, ...rows.map((row) => row[at] ?? '')].map(widest))),
    columns - GAP.length * (head.length - 1),
  );
  if (!widths) return asLists(head, rows, columns);
  const rule = palette.faint(widths.map((width) => '─'.repeat(width)).join(GAP));
  const lines = (cells: readonly string[]) => rowLines(cells, widths, table.align);
  return [...lines(head), rule, ...rows.flatMap(lines)];
}

/** The widths, the widest made narrower until they fit into `columns`; null where they cannot. */
function fitting(widths: readonly number[], columns: number): number[] | null {
  const fits = [...widths];
  for (let over = sum(fits) - columns; over > 0; over = sum(fits) - columns) {
    const most = Math.max(...fits);
    if (most <= NARROWEST) return null;
    fits[fits.indexOf(most)] = Math.max(NARROWEST, most - over, nextTo(most, fits));
  }
  return fits;
}

/** The second greatest width, so that no column shrinks far below the others; one less where all are equal. */
function nextTo(most: number, widths: readonly number[]): number {
  return Math.max(...widths.map((width) => (width === most ? 0 : width)), 0) || most - 1;
}

function rowLines(
  cells: readonly string[],
  widths: readonly number[],
  align: Tokens.Table['align'],
): string[] {
  const wrappedCells = widths.map((width, at) => wrapped(cells[at] ?? '', width, { trims: true }));
  const height = Math.max(...wrappedCells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    widths
      .map((width, at) => aligned(wrappedCells[at]?.[line] ?? '', width, align[at] ?? 'left'))
      .join(GAP)
      .trimEnd(),
  );
}

function aligned(text: string, width: number, align: 'left' | 'right' | 'center'): string {
  const room = width - widthOf(text);
  const before = align === 'right' ? room : align === 'center' ? Math.floor(room / 2) : 0;
  return padded(' '.repeat(Math.max(0, before)) + text, width);
}

/** The rows one below the other, for a terminal that is too narrow for the columns. */
function asLists(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): string[] {
  return rows.flatMap((row, at) => [
    ...(at === 0 ? [] : ['']),
    ...row.flatMap((cell, column) =>
      wrapped(`${head[column] ?? ''}: ${cell}`, columns, { trims: true }),
    ),
  ]);
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map(widthOf));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
