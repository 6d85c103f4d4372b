import { plain } from '../../core/lib/plain.ts';
import { ago as agoOf } from '../terminal/time.ts';

export { details } from './details.ts';
export { listOf, table } from './table.ts';
export { plain };

/** The last 8 characters of an id, as tables show it. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** The time between two moments in Unix milliseconds, in a few characters: `5m`. */
export function ago(then: number, now: number): string {
  return agoOf(now - then);
}

/** A size in MiB, with one decimal. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
