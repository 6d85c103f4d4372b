import { isDeepStrictEqual } from 'node:util';
import type { QueueEntryInEvents } from '../../../api/event-kinds/queue.ts';
import type { Hold, StoredQueueEntry } from '../../../api/queue.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Inbox, InboxSource } from '../inbox/inbox.ts';
import { actOnEach, type Scheduler } from '../inbox/scheduler.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import {
  acceptedEntry,
  type Aged,
  atTime,
  deferredEntry,
  entryAfterTurn,
  heldEntry,
  isAhead,
  releasedEntry,
  restartedEntry,
  startedEntry,
} from './entry.ts';
import { requestedSettings } from '../sessions/settings.ts';
import type { QueueStore } from './store.ts';

const OWNER = 'queue';
/** The rank of entries in the inbox. Ordinary messages have the same rank, so both wait in order of arrival. */
const RANK = 1;

/** The kinds of events that carry an entry and nothing else. */
type Plain = 'queue.added' | 'queue.changed' | 'queue.started' | 'queue.held' | 'queue.released';

interface QueueInboxDeps extends Pick<ServerParts, 'db' | 'log' | 'clock'> {
  store: QueueStore;
  inbox: Inbox;
  scheduler: Scheduler;
}

/** Keeps each entry of the queue in its session's inbox, held while it is not due. The inbox decides when it is a turn. */
export class QueueInboxSource {
  readonly #deps: QueueInboxDeps;

  constructor(deps: QueueInboxDeps) {
    this.#deps = deps;
    deps.inbox.register(OWNER, this.#owner());
    deps.scheduler.register({
      due: (rx) => deps.store.nextAt(rx),
      act: (signal) => this.#settleDue(signal),
    });
  }

  add(tx: Writer, entry: StoredQueueEntry): void {
    this.#deps.store.entries.insert(tx, entry);
    this.#put(tx, entry);
    this.#append(tx, 'queue.added', entry);
  }

  /** Stores a changed entry with its event. Its session begins its next turn, if it may. */
  write(tx: Writer, kind: Plain, entry: StoredQueueEntry): void {
    this.#store(tx, entry);
    this.#append(tx, kind, entry);
    this.#beginIfDue(tx, entry);
  }

  /** Stores what a person has changed of an entry. The event has the input only if that is another: it may be long. */
  edit(tx: Writer, before: StoredQueueEntry, after: StoredQueueEntry): void {
    this.#store(tx, after);
    const entry = isDeepStrictEqual(before.input, after.input) ? { ...after, input: null } : after;
    this.#deps.log.append(tx, { kind: 'queue.edited', ...ofTurn(after), payload: { entry } });
    this.#beginIfDue(tx, after);
  }

  /** Stores an entry after some time has passed, with the events of what has become of it. */
  age(
    tx: Writer,
    before: StoredQueueEntry,
    { entry, skipped }: Aged,
    kind?: 'queue.released',
  ): void {
    const { log } = this.#deps;
    const { session_id } = entry;
    const record = inEvents(entry);
    this.#store(tx, entry);
    if (kind) this.#append(tx, kind, entry);
    for (const runs of skipped)
      log.append(tx, { kind: 'queue.skipped', session_id, payload: { entry: record, ...runs } });
    const due_at = newlyDue(before, entry);
    if (due_at !== null)
      log.append(tx, { kind: 'queue.due', session_id, payload: { entry: record, due_at } });
    this.#beginIfDue(tx, entry);
  }

  remove(tx: Writer, entry: StoredQueueEntry, why: 'done' | 'dropped' | 'trimmed'): void {
    this.#deps.inbox.entries.remove(tx, OWNER, entry.id);
    this.#forget(tx, entry, why);
  }

  order(rx: Reader, sessionId: string): string[] {
    return this.#deps.inbox.entries.order(rx, sessionId, OWNER);
  }

  arrange(tx: Writer, session_id: string, entry_ids: string[]): void {
    this.#deps.inbox.entries.arrange(tx, session_id, OWNER, entry_ids);
    this.#deps.log.append(tx, { kind: 'queue.moved', session_id, payload: { entry_ids } });
  }

  /** Settles the entries that are due, and the schedules that are ahead of a clock that was set back. */
  async #settleDue(signal: AbortSignal): Promise<void> {
    const { db, store, clock } = this.#deps;
    const now = clock.now();
    const ids = db.peek((rx) => [...store.due(rx, now), ...store.settledAfter(rx, now)]);
    await actOnEach(this.#deps, ids, signal, (tx, id) => this.#settle(tx, id));
  }

  #settle(tx: Writer, id: string): void {
    const { store, clock } = this.#deps;
    const entry = store.entries.get(tx, id);
    const now = clock.now();
    if (!entry || entry.next_at === null) return;
    if (isAhead(entry, now)) return this.write(tx, 'queue.changed', restartedEntry(entry, now));
    if (entry.next_at <= now) this.age(tx, entry, atTime(entry, now));
  }

  #store(tx: Writer, entry: StoredQueueEntry): void {
    this.#deps.store.entries.update(tx, entry);
    this.#put(tx, entry);
  }

  /** Stores a schedule of which a run has ended, behind all that waits: otherwise its runs could keep that waiting for ever. */
  #storeBehind(tx: Writer, entry: StoredQueueEntry): void {
    const { inbox, log } = this.#deps;
    const { id, session_id } = entry;
    const before = this.order(tx, session_id);
    if (inbox.entries.hasNext(tx, session_id)) inbox.entries.remove(tx, OWNER, id);
    this.#store(tx, entry);
    const entry_ids = this.order(tx, session_id);
    if (!isDeepStrictEqual(entry_ids, before))
      log.append(tx, { kind: 'queue.moved', session_id, payload: { entry_ids } });
  }

  #beginIfDue(tx: Writer, { status, session_id }: StoredQueueEntry): void {
    if (status === 'waiting') this.#deps.inbox.beginNextTurn(tx, session_id);
  }

  #put(tx: Writer, { id: ref, session_id, status, next_at }: StoredQueueEntry): void {
    const held = status !== 'waiting';
    this.#deps.inbox.entries.put(tx, { session_id, owner: OWNER, ref, rank: RANK, held });
    if (next_at !== null) tx.whenDurable(() => this.#deps.scheduler.wake(next_at));
  }

  #forget(tx: Writer, entry: StoredQueueEntry, why: 'done' | 'dropped' | 'trimmed'): void {
    this.#deps.store.entries.delete(tx, entry.id);
    const payload = { entry: inEvents(entry), why };
    this.#deps.log.append(tx, { kind: 'queue.removed', session_id: entry.session_id, payload });
  }

  #append(tx: Writer, kind: Plain, entry: StoredQueueEntry): void {
    const of = ofTurn(entry);
    if (kind === 'queue.added') this.#deps.log.append(tx, { kind, ...of, payload: { entry } });
    else this.#deps.log.append(tx, { kind, ...of, payload: { entry: inEvents(entry) } });
  }

  #owner(): InboxSource {
    const { store, clock } = this.#deps;
    const entryOf = (rx: Reader, id: string) => store.entry(rx, id);
    return {
      isAlone: true,
      content: (rx, { ref }) => {
        const entry = entryOf(rx, ref);
        return { source: 'queue', input: entry.input, settings: requestedSettings(entry) };
      },
      injecting: (tx, ref, turn) =>
        this.write(tx, 'queue.changed', acceptedEntry(entryOf(tx, ref), turn, clock.now())),
      injected: (tx, ref, turn) =>
        this.write(tx, 'queue.started', startedEntry(entryOf(tx, ref), turn, clock.now())),
      deferred: (tx, ref) => {
        this.#store(tx, deferredEntry(entryOf(tx, ref), clock.now()));
        this.#append(tx, 'queue.changed', entryOf(tx, ref));
        return true;
      },
      ended: (tx, ref, turn) => this.#ended(tx, entryOf(tx, ref), turn),
      unreachable: (tx, ref, session) => {
        const entry = entryOf(tx, ref);
        // An entry that a person has paused stays paused when its session resumes. A closed session never does.
        if (entry.hold?.code === 'paused' && session.status !== 'closed') return true;
        const hold = holdFor(session, clock.now());
        this.write(tx, 'queue.held', heldEntry(entry, hold, clock.now()));
        return true;
      },
      reachable: (tx, ref) => {
        const entry = entryOf(tx, ref);
        if (entry.hold?.code === 'session_failed')
          this.age(tx, entry, releasedEntry(entry, clock.now()), 'queue.released');
      },
    };
  }

  /** Returns whether the entry stays: a schedule does, until somebody drops it. */
  #ended(tx: Writer, before: StoredQueueEntry, { turn_id, status }: Turn): boolean {
    const { session_id } = before;
    const entry = entryAfterTurn(before, { status }, this.#deps.clock.now());
    const stays = before.every !== null;
    if (stays) this.#storeBehind(tx, entry);
    const payload = { entry: inEvents(entry), status };
    this.#deps.log.append(tx, { kind: 'queue.finished', session_id, turn_id, payload });
    if (!stays) this.#forget(tx, entry, 'done');
    return stays;
  }
}

/** Returns the time of the run that an entry has and had not before; null if there is none. */
function newlyDue(before: StoredQueueEntry, { due_at, again_at }: StoredQueueEntry): number | null {
  if (again_at !== before.again_at) return again_at;
  return due_at === before.due_at ? null : due_at;
}

function ofTurn({ session_id, turn_id }: StoredQueueEntry) {
  return turn_id === null ? { session_id } : { session_id, turn_id };
}

/** Returns the entry for events that do not change its input. */
function inEvents({ input: _input, ...entry }: StoredQueueEntry): QueueEntryInEvents {
  return entry;
}

/** Returns the hold of the entries of a session that was closed or has failed. */
export function holdFor({ status, failure }: Session, since: number): Hold {
  return status === 'closed'
    ? { code: 'session_closed', message: 'the session is closed', since, until: null }
    : {
        code: 'session_failed',
        message: `the session has failed: ${failure?.message ?? 'unknown'}`,
        since,
        until: null,
      };
}
