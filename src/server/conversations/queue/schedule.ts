import type { StoredQueueEntry } from '../../../api/queue.ts';
import { type Recurrence, recurrenceOf } from '../../../core/lib/cron.ts';

/**
 * A run of a schedule that could not be begun within this time is missed, in ms: it covers a restart of the server, and
 * the time between two looks at the clock.
 */
export const LATE_MS = 5 * 60_000;
/** The maximum number of missed runs that are counted. */
export const MAX_COUNTED = 1000;

/** Runs that are left out. */
export interface Skipped {
  why: 'missed' | 'held' | 'overlap';
  count: number;
  first_at: number;
  last_at: number;
}

/** The times of a schedule up to now. */
export interface Settled {
  /** The newest time, if it is not too late for it. */
  due: number | null;
  /** The times that are too late, or have a newer time behind them. */
  missed: Omit<Skipped, 'why'> | null;
  /** The newest time; the one from before if there is none since. */
  until: number;
}

type Schedule = Pick<StoredQueueEntry, 'every' | 'time_zone'>;

/** Returns the first time of a schedule after a moment, in Unix ms; null if it has no more. */
export function nextOf({ every, time_zone }: Schedule, after: number): number | null {
  return every === null ? null : timesOf({ every, time_zone }).after(after);
}

/** Settles the times of a schedule after `from` and up to `now`: however many they are, one at most is due. */
export function settle(schedule: Schedule, from: number, now: number): Settled {
  const times = timesOf(schedule);
  const newest = times.upTo(now);
  if (newest === null || newest <= from) return { due: null, missed: null, until: from };
  const due = now - newest <= LATE_MS ? newest : null;
  const last = due === null ? newest : (times.upTo(newest - 1) ?? from);
  return { due, missed: last > from ? span(times.after, from, last) : null, until: newest };
}

function timesOf({ every, time_zone }: Schedule): Recurrence {
  const times = recurrenceOf(every ?? '', time_zone ?? 'UTC');
  if (!times) throw new Error(`the stored schedule "${every}" cannot be read`);
  return times;
}

/** Counts the times after `from` and up to `last`, which is one of them. */
function span(
  after: (moment: number) => number | null,
  from: number,
  last: number,
): Omit<Skipped, 'why'> {
  const first = after(from) ?? last;
  let count = 1;
  for (let at: number | null = first; at !== null && at < last && count < MAX_COUNTED; count++)
    at = after(at);
  return { count, first_at: first, last_at: last };
}
