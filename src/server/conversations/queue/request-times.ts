import type { BodyOf } from '../../../api/endpoint.ts';
import type { addToQueue, editQueueEntry, StoredQueueEntry } from '../../../api/queue.ts';
import { invalidError } from '../../../api/errors.ts';
import { isTimeZone, ownTimeZone, recurrenceOf } from '../../../core/lib/cron.ts';
import type { EntryChange } from './entry.ts';

const OVERLAP_OF_NONE = 'body.overlap: requires a schedule: add every';

type Times = Pick<StoredQueueEntry, 'at' | 'every' | 'time_zone'>;

/** Returns when a new entry is due. Throws `invalid` for a malformed time, or one that never comes. */
export function timesOf(
  { at, every, time_zone, overlap }: BodyOf<typeof addToQueue>,
  now: number,
): Times {
  const times = { at: at ?? null, every: every ?? null };
  assertTimed(times, time_zone ?? null);
  if (times.every === null && (overlap ?? null) !== null) throw invalidError(OVERLAP_OF_NONE);
  return zoned(times, time_zone ?? null, now);
}

/** Returns what a request changes of an entry, without its input. Throws `invalid` as `timesOf`. */
export function changeOf(
  body: BodyOf<typeof editQueueEntry>,
  known: Times,
  now: number,
): EntryChange {
  const { at, every, time_zone, input: _input, overlap, ...plain } = body;
  const isTimed = at !== undefined || every !== undefined;
  const time = isTimed ? { at: at ?? null, every: every ?? null } : known;
  assertTimed(time, time_zone ?? null);
  const zone = time_zone === undefined ? known.time_zone : time_zone;
  const times = zoned({ at: time.at, every: time.every }, zone, now);
  if (times.every === null && overlap !== undefined) throw invalidError(OVERLAP_OF_NONE);
  return {
    ...(Object.fromEntries(
      Object.entries(plain).filter(([, value]) => value !== undefined),
    ) as EntryChange),
    ...(overlap === undefined ? {} : { overlap }),
    time_zone: times.time_zone,
    ...(isTimed ? { time: { at: times.at, every: times.every } } : {}),
  };
}

/** Throws `invalid` for a time zone of an entry without a time. */
function assertTimed({ at, every }: Omit<Times, 'time_zone'>, zone: string | null): void {
  if (zone !== null && at === null && every === null)
    throw invalidError(
      'body.time_zone: a time zone requires a time: add the field "at" or "every"',
    );
}

function zoned({ at, every }: Omit<Times, 'time_zone'>, zone: string | null, now: number): Times {
  if (zone !== null && !isTimeZone(zone))
    throw invalidError(
      `body.time_zone: "${zone}" is not a time zone: use a name such as Europe/Berlin or UTC`,
    );
  if (every === null) return { at, every, time_zone: zone };
  if (at !== null)
    throw invalidError(
      'body.every: the fields "every" and "at" cannot be combined: send only one of the two fields',
    );
  const time_zone = zone ?? ownTimeZone();
  const times = recurrenceOf(every, time_zone);
  if (!times)
    throw invalidError(
      `body.every: "${every}" is not a cron expression: use five fields (minute, hour, day of month, month, day of week), such as "30 8 * * MON-FRI", or a name such as @daily`,
    );
  if (times.after(now) === null)
    throw invalidError(`body.every: the cron expression "${every}" matches no time in the future`);
  return { at, every, time_zone };
}
