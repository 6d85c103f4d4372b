import { plain } from '../lib/plain.ts';

export { plain };

/** The last 8 characters of an id, as tables show it. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** The time between two moments in Unix milliseconds, in a few characters: `5m`. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** A size in MiB, with one decimal. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** A table with a heading and columns two spaces apart. Each cell becomes one line of plain text. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, ...rows].map((row) =>
    row.map((cell) => plain(cell).replaceAll(/\s+/g, ' ')),
  );
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === line.length - 1 ? cell : cell.padEnd(widths[column] ?? 0),
        )
        .join('  '),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** Prints a list as a table with a row for each record; `now` is in Unix milliseconds. */
export function listOf<T>(
  heading: readonly string[],
  cellsOf: (one: T, now: number) => readonly string[],
): (found: readonly T[], at: { now: number }) => string {
  return (found, { now }) =>
    table(
      heading,
      found.map((one) => cellsOf(one, now)),
    );
}

/** A record as aligned lines `name  value`, with objects as JSON. */
export function details(record: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  return Object.entries(record)
    .map(
      ([name, value]) =>
        `${name.padEnd(width)}  ${value === null ? '-' : plain(typeof value === 'string' ? value : JSON.stringify(value))}\n`,
    )
    .join('');
}
