import type { RuntimeEventRecord } from '../../api/events.ts';
import { summarizeEvent } from '../../client/event-summary.ts';
import { usageError } from '../../api/errors.ts';
import { parseDuration } from '../../core/lib/duration.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { shortId } from './output.ts';

/** The Unix milliseconds of a date, or of a duration before `now`. Throws `usage` for any other text. */
export function timeOf(text: string, now: number): number {
  const ago = parseDuration(text);
  if (ago !== null) return now - ago;
  // Date.parse takes a number such as 10 for a month.
  const date = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(date)) return date;
  throw usageError(
    `invalid --since "${text}": expected a duration such as 30s, 5m, 2h or 7d, or a date such as 2026-11-30 or 2026-11-30T08:00Z`,
  );
}

/** The descriptor of an output; null for a stream without one. */
export function descriptorOf(output: NodeJS.WritableStream): number | null {
  return 'fd' in output && typeof output.fd === 'number' ? output.fd : null;
}

export function eventLine(event: RuntimeEventRecord): string {
  const { seq, kind, session_id, process_id, team_id, created_at } = event;
  const summary = summarizeEvent(event);
  const cut = shorten(summary, LINE_CHARACTERS);
  const time = new Date(created_at).toISOString().slice(11, 23);
  const whose = session_id ?? process_id ?? team_id;
  const who = whose ? shortId(whose) : '-'.padEnd(8);
  return `${String(seq).padStart(6)}  ${time}  ${who}  ${kind.padEnd(20)}  ${cut}`.trimEnd();
}

const LINE_CHARACTERS = 100;
