import cliTruncate from 'cli-truncate';
import sliceAnsi from 'slice-ansi';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

// All functions of this file count columns of a terminal: a wide character takes two, a combining one none. The texts
// may contain colours, which take none.

/** The number of columns that a text of one line takes. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** A text of one line in at most `columns` columns; one that was cut ends with "…". */
export function truncated(text: string, columns: number): string {
  if (columns < 1) return '';
  return text.length <= columns && isAscii(text) ? text : cliTruncate(text, columns);
}

/** A text of one line in exactly `columns` columns: cut as `truncated` does, or with spaces after it. */
export function padded(text: string, columns: number): string {
  const cut = truncated(text, columns);
  return cut + ' '.repeat(Math.max(0, columns - widthOf(cut)));
}

/** The part of a line from the column `from` up to the column `to`, with its colours. */
export function between(line: string, from: number, to: number): string {
  return from < to ? sliceAnsi(line, from, to) : '';
}

/**
 * The lines of a text, none wider than `columns`, which is at least 2. Lines break at spaces where they can. Nothing is
 * lost, but with `trims` the spaces at both ends of a line are. Tabs become spaces. An empty text is one empty line.
 */
export function wrapped(text: string, columns: number, { trims = false } = {}): string[] {
  const width = Math.max(2, columns);
  return text.split('\n').flatMap((line) => {
    if (line.length <= width && !trims && isAscii(line)) return [line];
    const lines = wrapAnsi(line, width, { hard: true, trim: trims }).split('\n');
    return lines.flatMap((one) => (/[^\u001b -~]/.test(one) ? fitting(one, width) : [one]));
  });
}

/** The line, or parts of it: a single character with many marks may be wider than all columns. */
function fitting(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const lines = [''];
  let width = 0;
  for (const [part] of line.matchAll(/\u001b\[[\d;]*m|./gsu)) {
    const more = widthOf(part);
    if (width + more > columns) lines.push('');
    width = width + more > columns ? more : width + more;
    lines.push(`${lines.pop() ?? ''}${part}`);
  }
  return lines;
}

/** Whether every character of a text is printable ASCII, so that each takes one column. */
function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}
