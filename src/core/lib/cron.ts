import { Cron } from 'croner';

/** The times of a cron expression in a time zone. All times are Unix milliseconds. */
export interface Recurrence {
  /** The first time after `moment`; null if there is none. */
  after: (moment: number) => number | null;
  /** The last time at or before `moment`; null if there is none. */
  upTo: (moment: number) => number | null;
}

/** Expressions that were read before: each look at a schedule needs its times, and reading one costs more than they do. */
const known = new Map<string, Recurrence>();
const MAX_KNOWN = 2000;

/**
 * Reads a cron expression of five fields (minute, hour, day of month, month, day of week), or a name such as `@daily`,
 * in a time zone of the IANA database. A time that the zone skips when its clocks move forward occurs right after the
 * gap; a time that the zone has twice occurs once, unless the expression repeats within the hour. Null for any other
 * text.
 */
export function recurrenceOf(expression: string, timeZone: string): Recurrence | null {
  const key = `${timeZone} ${expression}`;
  const read = known.get(key) ?? readRecurrence(expression, timeZone);
  if (!read) return null;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, read);
  return read;
}

export function ownTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Whether a text is a time zone of the IANA database. */
export function isTimeZone(text: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: text }) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Returns the moment of a local time such as `2026-11-22T18:00:00`, without an offset, in a time zone. Null for any
 * other text. A time that the zone skips is read with the offset from before the gap.
 */
export function localTime(text: string, timeZone: string): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return null;
  const at = read(text.length === 16 ? `${text}:00` : text, { timezone: timeZone });
  return at?.nextRun(new Date(0))?.getTime() ?? null;
}

function readRecurrence(expression: string, timeZone: string): Recurrence | null {
  // A question mark means the moment at which the expression is read, so its times would change with each start.
  if (!/^(@[a-z]+|[^\s?]+( +[^\s?]+){4})$/i.test(expression)) return null;
  const times = read(expression, { timezone: timeZone, mode: '5-part' });
  return (
    times && {
      after: (moment) => times.nextRun(new Date(moment))?.getTime() ?? null,
      upTo: (moment) => times.previousRuns(1, new Date(moment + 1))[0]?.getTime() ?? null,
    }
  );
}

function read(text: string, options: { timezone: string; mode?: '5-part' }): Cron | null {
  try {
    return new Cron(text, { ...options, paused: true });
  } catch {
    return null;
  }
}
