import type { StoredQueueEntry } from '../../../../src/api/queue.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import { DAY, MINUTE } from '../../../support/queue/queue.ts';

/** A schedule whose times can be computed: `offset` after each whole number of periods. */
export interface Schedule {
  every: string;
  period: number;
  offset: number;
}

/** The state of an entry, computed from the events alone. */
interface Known {
  entry: StoredQueueEntry;
  /** The log has an event for each time up to this one. */
  reportedUntil: number;
  /**
   * The times of the runs that are due and have neither begun nor been skipped. After the clock was set back, two runs
   * can have the same time.
   */
  waiting: number[];
  /** The time of the run that has begun. */
  begun: number | null;
  begunTimes: Set<number>;
  /** The times in `waiting` that were due before the schedule or the clock changed. */
  earlier: number[];
}

/** The longest delay after its time with which a run of a schedule may become due. */
const LATE = 5 * MINUTE;

/**
 * Compares the events of a queue with a model. Each time of a schedule is reported once, as due or as skipped. Each due
 * entry begins once, in queue order, in a session without a running turn or a hold.
 */
export class QueueChecker {
  readonly #schedules: readonly Schedule[];
  readonly #known = new Map<string, Known>();
  readonly #orders = new Map<string, string[]>();
  readonly #held = new Map<string, Set<string>>();
  readonly #busy = new Map<string, string>();
  readonly counts = { due: 0, begun: 0, skipped: 0, removed: 0, anew: 0 };

  constructor(schedules: readonly Schedule[]) {
    this.#schedules = schedules;
  }

  take(events: readonly UntypedEvent[]): void {
    for (const event of events) this.#take(event);
  }

  /** Throws if an entry should have become due or begun by now. */
  assertSettled(now: number, isFree: (session: string) => boolean): void {
    for (const { entry, reportedUntil } of this.#known.values()) {
      const { id, hold, status, session_id } = entry;
      if (hold !== null || status === 'running') continue;
      if (entry.every !== null && reportedUntil <= now) {
        const next = this.#next(entry, reportedUntil);
        if (next <= now) throw new Error(`${id}: no event reports the time ${next}; it is ${now}`);
      }
      if (status === 'scheduled' && entry.every === null && (entry.at ?? 0) <= now)
        throw new Error(`${id}: it is past its time, and not due: ${now} ${JSON.stringify(entry)}`);
      if (status === 'waiting' && isFree(session_id))
        throw new Error(`${id}: it waits, though its session is free`);
    }
  }

  #take(event: UntypedEvent): void {
    const { kind, payload, session_id, created_at: now } = event;
    const session = session_id ?? '';
    if (kind.startsWith('turn.')) return this.#turn(kind, session, event.turn_id ?? '');
    if (kind === 'queue.moved')
      return void this.#orders.set(session, payload.entry_ids as string[]);
    if (kind === 'queue.session_held' || kind === 'queue.session_released') {
      const codes = this.#held.get(session) ?? new Set();
      const { code } = payload.hold as { code: string };
      if (kind === 'queue.session_held') codes.add(code);
      else codes.delete(code);
      return void this.#held.set(session, codes);
    }
    if (!kind.startsWith('queue.')) return;
    const entry = payload.entry as StoredQueueEntry;
    if (kind === 'queue.added') this.#add(entry);
    const known = this.#known.get(entry.id);
    if (!known) throw new Error(`${kind} of an entry that is not there: ${entry.id}`);
    const before = known.entry;
    known.entry = entry;
    if (kind === 'queue.edited' && this.#isRetimed(before, entry)) retime(known, entry);
    if (kind === 'queue.skipped') this.#skipped(known, payload as unknown as Span);
    if (kind === 'queue.due') this.#due(known, payload.due_at as number, now);
    if (kind === 'queue.changed') this.#changed(known, before, now);
    if (kind === 'queue.started') this.#begun(known);
    if (kind === 'queue.finished') known.begun = null;
    if (kind === 'queue.removed') this.#removed(known, payload.why as string);
  }

  #add(entry: StoredQueueEntry): void {
    const known = {
      entry,
      reportedUntil: 0,
      waiting: [],
      begun: null,
      begunTimes: new Set<number>(),
      earlier: [],
    };
    retime(known, entry);
    this.#known.set(entry.id, known);
    this.#orders.set(entry.session_id, [...(this.#orders.get(entry.session_id) ?? []), entry.id]);
  }

  #isRetimed(a: StoredQueueEntry, b: StoredQueueEntry): boolean {
    return (
      a.every !== b.every ||
      a.at !== b.at ||
      a.settled_until !== b.settled_until ||
      a.due_at !== b.due_at
    );
  }

  #next({ every }: StoredQueueEntry, after: number): number {
    const schedule = this.#schedules.find((one) => one.every === every);
    if (!schedule) throw new Error(`no schedule is ${every}`);
    const { period, offset } = schedule;
    return (Math.floor((after - offset) / period) + 1) * period + offset;
  }

  #skipped(known: Known, { why, count, first_at, last_at }: Span): void {
    this.counts.skipped += count;
    let first = first_at;
    let left = count;
    // When a hold ends, a run that was due before the hold is skipped, unless the run has a turn.
    const isIdle = known.entry.turn_id === null;
    if (why === 'held' && isIdle && takeOne(known.waiting, first_at)) {
      left--;
      first = this.#next(known.entry, known.reportedUntil);
      if (left === 0) return;
    }
    const expected = this.#next(known.entry, known.reportedUntil);
    if (first !== expected)
      throw new Error(
        `${known.entry.id}: reported as skipped from ${first}, and ${expected} was next`,
      );
    const period = this.#next(known.entry, first) - first;
    const times = (last_at - first) / period + 1;
    if (Math.min(times, 1000) !== left && count < 1000)
      throw new Error(`${known.entry.id}: ${left} reported as skipped, and there were ${times}`);
    known.reportedUntil = last_at;
  }

  #due(known: Known, at: number, now: number): void {
    const { entry } = known;
    if (at > now) throw new Error(`${entry.id}: due at ${at}, which is to come at ${now}`);
    if (entry.hold !== null) throw new Error(`${entry.id}: due while it is held`);
    this.counts.due++;
    if (entry.every !== null) {
      const expected = this.#next(entry, known.reportedUntil);
      if (at !== expected) throw new Error(`${entry.id}: due at ${at}, and ${expected} was next`);
      if (now - at > LATE) throw new Error(`${entry.id}: due ${now - at} ms late`);
      known.reportedUntil = at;
    }
    known.waiting.push(at);
    if (known.waiting.length + (known.begun === null ? 0 : 1) > 2)
      throw new Error(`${entry.id}: a heap of runs`);
  }

  #changed(known: Known, before: StoredQueueEntry, now: number): void {
    const { entry } = known;
    if (entry.settled_until !== before.settled_until) {
      if (known.reportedUntil - now <= DAY)
        throw new Error(`${entry.id}: began anew without a reason`);
      known.reportedUntil = entry.settled_until ?? 0;
      known.begunTimes.clear();
      known.earlier = [...known.waiting];
      this.counts.anew++;
    }
    if (entry.turn_id === null || entry.turn_id === before.turn_id) return;
    if (before.status !== 'waiting') throw new Error(`${entry.id}: a turn while ${before.status}`);
    if ((this.#held.get(entry.session_id)?.size ?? 0) > 0)
      throw new Error(`${entry.id}: a turn while its session is held`);
    const first = this.#orders
      .get(entry.session_id)
      ?.find((id) => id === entry.id || this.#known.get(id)?.entry.status === 'waiting');
    if (first !== entry.id) throw new Error(`${entry.id}: a turn before ${first}`);
    if (this.#busy.get(entry.session_id) !== entry.turn_id)
      throw new Error(`${entry.id}: a turn that was not accepted`);
  }

  #begun(known: Known): void {
    const { entry } = known;
    const at = entry.due_at ?? 0;
    if (!takeOne(known.waiting, at))
      throw new Error(`${entry.id}: began at ${at}, and was not due`);
    if (known.begunTimes.has(at)) throw new Error(`${entry.id}: began twice for ${at}`);
    if (!takeOne(known.earlier, at)) known.begunTimes.add(at);
    known.begun = at;
    this.counts.begun++;
  }

  #removed({ entry, begunTimes }: Known, why: string): void {
    this.counts.removed++;
    this.#known.delete(entry.id);
    const order = this.#orders.get(entry.session_id) ?? [];
    this.#orders.set(
      entry.session_id,
      order.filter((id) => id !== entry.id),
    );
    if (why === 'done' && begunTimes.size !== 1)
      throw new Error(`${entry.id}: done, and began ${begunTimes.size} times`);
  }

  #turn(kind: string, session: string, turn: string): void {
    if (kind === 'turn.accepted') {
      if (this.#busy.has(session)) throw new Error(`${session}: two turns at once`);
      this.#busy.set(session, turn);
    } else if (/completed|failed|interrupted/.test(kind)) this.#busy.delete(session);
  }
}

interface Span {
  why: string;
  count: number;
  first_at: number;
  last_at: number;
}

/** Starts the model of an entry again after a change of its times. */
function retime(known: Known, entry: StoredQueueEntry): void {
  known.reportedUntil = entry.settled_until ?? 0;
  // After a change of the schedule or of the clock, an equal time belongs to a different run.
  known.begunTimes.clear();
  const { due_at } = entry;
  known.waiting = due_at === null || due_at === known.begun ? [] : [due_at];
  known.earlier = entry.every === null ? [] : [...known.waiting];
}

/** Removes one of several numbers; returns whether it was there. */
function takeOne(from: number[], one: number): boolean {
  const at = from.indexOf(one);
  if (at >= 0) from.splice(at, 1);
  return at >= 0;
}
