import { isDeepStrictEqual } from 'node:util';
import type { Hold, StoredQueueEntry } from '../../../api/queue.ts';
import type { Turn } from '../../../api/sessions.ts';
import { type Recurrence, recurrenceOf } from '../../../core/lib/cron.ts';

type Entry = StoredQueueEntry;

type EntryRequest = Pick<
  Entry,
  | 'id'
  | 'session_id'
  | 'name'
  | 'reason'
  | 'input'
  | 'permission_mode'
  | 'agent_mode'
  | 'model'
  | 'thinking_effort'
  | 'at'
  | 'every'
  | 'time_zone'
  | 'overlap'
  | 'created_by'
>;

/** The fields of an entry that a person may change. `at` and `every` replace each other; null for both means now. */
export type EntryChange = Partial<
  Omit<EntryRequest, 'id' | 'session_id' | 'created_by' | 'at' | 'every'>
> & { time?: Pick<Entry, 'at' | 'every'> };

/** An entry at a later time, and the runs that were skipped until then. */
export interface Aged {
  entry: Entry;
  skipped: Skipped[];
}

/** Returns a new entry: due at once, unless it has a time that has not come. */
export function newEntry(request: EntryRequest, now: number): Entry {
  const fresh: Entry = {
    ...request,
    status: 'scheduled',
    next_at: null,
    due_at: null,
    again_at: null,
    settled_until: null,
    hold: null,
    turn_id: null,
    last_turn_id: null,
    last_status: null,
    runs: 0,
    skipped: 0,
    created_at: now,
    updated_at: now,
  };
  return timed(fresh, request, now);
}

/** Returns the entry at a time: due if its next time has passed, else unchanged. */
export function atTime(entry: Entry, now: number): Aged {
  if (entry.next_at === null || entry.next_at > now) return { entry, skipped: [] };
  if (entry.every === null)
    return { entry: restated({ ...entry, due_at: entry.at }, now), skipped: [] };
  const { due, missed, until } = settle(entry, entry.settled_until ?? now, now);
  const skipped: Skipped[] = missed ? [{ why: 'missed', ...missed }] : [];
  const after = { ...entry, settled_until: until };
  if (due === null) return aged(after, skipped, now);
  if (entry.turn_id === null && entry.due_at === null)
    return aged({ ...after, due_at: due }, skipped, now);
  const follows = entry.overlap === 'queue' && entry.turn_id !== null && entry.again_at === null;
  if (follows) return aged({ ...after, again_at: due }, skipped, now);
  skipped.push({ why: 'overlap', count: 1, first_at: due, last_at: due });
  return aged(after, skipped, now);
}

/** Whether times of a schedule were settled more than a day ahead of the clock, so that it was set back. */
export function isAhead({ settled_until }: Pick<Entry, 'settled_until'>, now: number): boolean {
  return settled_until !== null && settled_until - now > DAY_MS;
}

const DAY_MS = 86_400_000;

export function restartedEntry(entry: Entry, now: number): Entry {
  return restated({ ...entry, settled_until: now }, now);
}

/** Returns the entry with a hold, so that it becomes no turn. A running turn of the entry continues. */
export function heldEntry(entry: Entry, hold: Hold, now: number): Entry {
  return restated({ ...entry, hold }, now);
}

/** Returns the entry without its hold. A schedule skips the runs that it has missed; any other entry may be late. */
export function releasedEntry(entry: Entry, now: number): Aged {
  const free = { ...entry, hold: null };
  if (entry.every === null || entry.settled_until === null) return atTime(restated(free, now), now);
  const { due, missed, until } = settle(entry, entry.settled_until, now);
  const waited = entry.turn_id === null ? entry.due_at : null;
  const isKept = waited !== null && missed === null && due === null;
  const left = waited !== null && !isKept ? [{ count: 1, first_at: waited, last_at: waited }] : [];
  const due_at = entry.turn_id === null && !isKept ? null : entry.due_at;
  const skipped = joined([...left, ...(missed ? [missed] : [])]);
  const after = { ...free, due_at, settled_until: until };
  if (due === null) return aged(after, skipped, now);
  if (entry.turn_id === null) return aged({ ...after, due_at: due }, skipped, now);
  // It runs: the newest time counts as missed, too.
  const late = { count: 1, first_at: due, last_at: due };
  return aged(after, joined([...skipped, late]), now);
}

export function acceptedEntry(
  entry: Entry,
  { turn_id }: Pick<Turn, 'turn_id'>,
  now: number,
): Entry {
  return restated({ ...entry, turn_id }, now);
}

export function startedEntry(entry: Entry, { turn_id }: Pick<Turn, 'turn_id'>, now: number): Entry {
  return restated({ ...entry, runs: entry.runs + 1, last_turn_id: turn_id }, now);
}

/** Returns the entry as waiting again, because its turn ended before any agent saw it. */
export function deferredEntry(entry: Entry, now: number): Entry {
  return restated({ ...entry, turn_id: null }, now);
}

/** Returns the entry after its turn has ended: a run that follows waits from now on. */
export function entryAfterTurn(entry: Entry, { status }: Pick<Turn, 'status'>, now: number): Entry {
  const { again_at: due_at } = entry;
  return restated({ ...entry, turn_id: null, last_status: status, due_at, again_at: null }, now);
}

/** Returns the entry with the changes of a user; the same entry if nothing changed. */
export function editedEntry(entry: Entry, { time, ...change }: EntryChange, now: number): Entry {
  const changed = { ...entry, ...change };
  const isTimed = time !== undefined || changed.time_zone !== entry.time_zone;
  const after = isTimed ? timed(changed, time ?? entry, now) : restated(changed, now);
  return isDeepStrictEqual({ ...after, updated_at: entry.updated_at }, entry) ? entry : after;
}

/** Returns the entry with another time. A run of it that runs stays; one that waits is replaced. */
function timed(entry: Entry, { at, every }: Pick<Entry, 'at' | 'every'>, now: number): Entry {
  const isNow = every === null && (at === null || at <= now);
  const running = entry.turn_id === null ? null : entry.due_at;
  return restated(
    {
      ...entry,
      at,
      every,
      due_at: isNow ? (at ?? now) : running,
      again_at: null,
      settled_until: every === null ? null : now,
    },
    now,
  );
}

function aged(entry: Entry, skipped: Skipped[], now: number): Aged {
  const count = skipped.reduce((sum, one) => sum + one.count, 0);
  return { entry: restated({ ...entry, skipped: entry.skipped + count }, now), skipped };
}

function joined(parts: readonly Omit<Skipped, 'why'>[]): Skipped[] {
  const [first] = parts;
  const last = parts.at(-1);
  if (!first || !last) return [];
  const count = parts.reduce((sum, one) => sum + one.count, 0);
  return [{ why: 'held', count, first_at: first.first_at, last_at: last.last_at }];
}

/** Returns the entry with the status and the next time that follow from its other fields. */
function restated(entry: Entry, now: number): Entry {
  const { turn_id, hold, due_at, every, at, settled_until } = entry;
  const isIdle = turn_id === null && due_at === null;
  const status =
    turn_id !== null ? 'running' : hold !== null ? 'held' : isIdle ? 'scheduled' : 'waiting';
  const next = every === null ? (isIdle ? at : null) : nextOf(entry, settled_until ?? now);
  return { ...entry, status, next_at: hold === null ? next : null, updated_at: now };
}

/** A run that could not begin within this time, in ms, is missed. It covers a restart of the server. */
const LATE_MS = 5 * 60_000;
const MAX_COUNTED = 1000;

interface Skipped {
  why: 'missed' | 'held' | 'overlap';
  count: number;
  first_at: number;
  last_at: number;
}

interface Settled {
  /** The newest time, if it is not too late for it. */
  due: number | null;
  /** The times that are too late, or have a newer time behind them. */
  missed: Omit<Skipped, 'why'> | null;
  /** The newest time; the one from before if there is none since. */
  until: number;
}

type Schedule = Pick<StoredQueueEntry, 'every' | 'time_zone'>;

function nextOf({ every, time_zone }: Schedule, after: number): number | null {
  return every === null ? null : recurrenceIn({ every, time_zone }).after(after);
}

/** Settles the times of a schedule after `from` and up to `now`: however many they are, one at most is due. */
function settle(schedule: Schedule, from: number, now: number): Settled {
  const times = recurrenceIn(schedule);
  const newest = times.upTo(now);
  if (newest === null || newest <= from) return { due: null, missed: null, until: from };
  const due = now - newest <= LATE_MS ? newest : null;
  const last = due === null ? newest : (times.upTo(newest - 1) ?? from);
  return { due, missed: last > from ? span(times.after, from, last) : null, until: newest };
}

function recurrenceIn({ every, time_zone }: Schedule): Recurrence {
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
