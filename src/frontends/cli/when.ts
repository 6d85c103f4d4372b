import { isTimeZone, localTime, ownTimeZone, recurrenceOf } from '../../core/lib/cron.ts';
import { durationText } from '../terminal/time.ts';
import { usageError } from '../../api/errors.ts';
import { parseDuration } from '../../core/lib/duration.ts';

/** The time zone of `--zone`, else of this machine. Throws `usage` for an unknown time zone. */
export function zoneOf(zone: string | undefined): string {
  if (zone === undefined) return ownTimeZone();
  if (isTimeZone(zone)) return zone;
  throw usageError(`invalid --zone "${zone}": expected a time zone such as Europe/Berlin or UTC`);
}

/**
 * The moment of a text, in Unix ms: a length of time from now (`+2h`), the next time of the day (`18:00`), or an ISO 8601
 * time, which is read in `zone` if it has no offset. Throws `usage` for any other text.
 */
export function momentOf(text: string, now: number, zone: string): number {
  const found = text.startsWith('+')
    ? later(text.slice(1), now)
    : (timeOfDay(text, now, zone) ?? dated(text.replace(' ', 'T'), zone));
  if (found !== null && found <= MAX_MOMENT) return found;
  throw usageError(
    `invalid time "${text}": expected a time such as 18:00, +2h, 2026-11-30T08:00 or 2026-11-30T08:00Z`,
  );
}

/** The last moment that has a date, in Unix ms. */
const MAX_MOMENT = 8_640_000_000_000_000;

/** A moment as people read it: the date and time in a zone, the zone, and how far away it is. */
export function momentText(at: number, now: number, zone: string): string {
  const away = at > now ? `in ${durationText(at - now)}` : 'now';
  return `${dateText(at, zone)} (${zone}), ${away}`;
}

/** A moment as `2026-11-30 08:00` in a zone (default: of this machine), with seconds where it has some. */
export function dateText(at: number, zone = ownTimeZone()): string {
  const text = new Date(at).toLocaleString('sv-SE', { timeZone: zone });
  return text.replace(/:00$/, '');
}

function later(text: string, now: number): number | null {
  const ms = parseDuration(text);
  return ms === null ? null : now + ms;
}

function timeOfDay(text: string, now: number, zone: string): number | null {
  const [, hour, minute] = /^(\d{1,2}):(\d\d)$/.exec(text) ?? [];
  if (hour === undefined || minute === undefined) return null;
  return recurrenceOf(`${Number(minute)} ${Number(hour)} * * *`, zone)?.after(now) ?? null;
}

function dated(text: string, zone: string): number | null {
  const [, date = ''] = /^(\d{4}-\d\d-\d\d)T/.exec(text) ?? [];
  if (!isDate(date)) return null;
  const hasOffset = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (!hasOffset) return localTime(text, zone);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** Whether there is such a day: 30 February would be read as 2 March. */
function isDate(text: string): boolean {
  const day = new Date(`${text}T00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/**
 * The moment of `--since`, in Unix ms: a length of time before now (`7d`), a day (`2026-11-01`) or a time
 * (`2026-11-01T08:00`) in `zone` (default: of this machine), or `all` for 0. Throws `usage` for any other text.
 */
export function sinceOf(text: string, now: number, zone = ownTimeZone()): number {
  if (text === 'all') return 0;
  const length = parseDuration(text);
  if (length !== null) return Math.max(0, now - length);
  const at = dated(text.length === 10 ? `${text}T00:00` : text, zone);
  if (at !== null && at >= 0) return at;
  throw usageError(
    `invalid --since "${text}": expected a time such as 7d, 2026-11-01, 2026-11-01T08:00 or all`,
  );
}
