import { oneLine, plain } from '../../core/lib/plain.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { ago as agoOf } from '../terminal/time.ts';

export { details } from './details.ts';
export { listOf, shortId, table } from './table.ts';
export { plain };

/** An id with the name of its record, if it has one: `"fix login" (sess_…)`. */
export function labelOf(id: string, name: string | null | undefined): string {
  return name ? `"${shorten(oneLine(name), NAME_CHARACTERS)}" (${id})` : id;
}

const NAME_CHARACTERS = 60;

/** The time between two moments in Unix milliseconds, in a few characters: `5m`. */
export function ago(then: number, now: number): string {
  return agoOf(now - then);
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
