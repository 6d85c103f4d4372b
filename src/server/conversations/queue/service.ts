import type { BodyOf, QueryOf } from '../../../api/endpoint.ts';
import {
  type addToQueue,
  type editQueueEntry,
  type Hold,
  type listQueue,
  type moveQueueEntry,
  type pauseSessionQueue,
  type QueueDiagnostics,
  type QueueEntry,
  queueLimits,
  type SessionQueue,
  type StoredQueueEntry,
} from '../../../api/queue.ts';
import { AppError, conflictError, invalidError, notFoundError } from '../../../api/errors.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { SessionService } from '../sessions/service.ts';
import { assertNotClosed, assertOpen } from '../sessions/session.ts';
import { requestedSettings } from '../sessions/settings.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { editedEntry, heldEntry, newEntry, releasedEntry } from './entry.ts';
import { holdFor, type QueueInboxSource } from './inbox-source.ts';
import type { QueueStore } from './store.ts';
import { changeOf, timesOf } from './request-times.ts';
import type { StoredInputItem } from '../../../api/input.ts';

interface QueueServiceDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids'> {
  store: QueueStore;
  source: QueueInboxSource;
  inbox: Inbox;
  sessionStore: SessionStore;
  sessions: Pick<SessionService, 'prepareInput'>;
  /** Ends the wait of a session for a usage limit. */
  limits: { resume: (tx: Writer, sessionId: string) => void };
}

/** The use-cases of the queue. Each resolves or rejects once the rows that its result was read from are on disk. */
export class QueueService {
  readonly #deps: QueueServiceDeps;

  constructor(deps: QueueServiceDeps) {
    this.#deps = deps;
  }

  /** Adds an entry, which becomes a turn at once if it is due and the session is free. Throws `too_many` at a limit. */
  async add(
    sessionId: string,
    body: BodyOf<typeof addToQueue>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<QueueEntry> {
    const { db, store, sessionStore, sessions, source, inbox, clock, ids } = this.#deps;
    const times = timesOf(body, clock.now());
    const input = await sessions.prepareInput(sessionId, body);
    assertSize(input);
    return db.transact((tx) => {
      assertOpen(sessionStore.session(tx, sessionId));
      this.#assertRoom(tx, sessionId);
      const request = {
        id: ids.next('que'),
        session_id: sessionId,
        name: body.name ?? null,
        reason: body.reason ?? null,
        input,
        ...requestedSettings(body),
        ...times,
        overlap: body.overlap ?? ('skip' as const),
        created_by: by,
      };
      const entry = newEntry(request, clock.now());
      source.add(tx, entry);
      if (entry.status === 'waiting') {
        // As a turn that is sent, it ends the pause after an interrupt.
        inbox.holds.endPause(tx, sessionId);
        inbox.beginNextTurn(tx, sessionId);
      }
      return this.#withPosition(tx, store.entry(tx, entry.id));
    }, saveResponse);
  }

  get(id: string): Promise<QueueEntry> {
    return this.#deps.db.read((rx) => this.#withPosition(rx, this.#deps.store.entry(rx, id)));
  }

  list({ limit, cursor, ...filters }: QueryOf<typeof listQueue>): Promise<RecordPage<QueueEntry>> {
    return this.#deps.db.read((rx) => {
      if (filters.session_id !== undefined) this.#deps.sessionStore.session(rx, filters.session_id);
      const page = this.#deps.store.entries.page(rx, filters, limit, cursor);
      const positions = new Map<string, QueuePositions>();
      return {
        ...page,
        records: page.records.map((entry) => this.#withPosition(rx, entry, positions)),
      };
    });
  }

  ofSession(sessionId: string): Promise<SessionQueue> {
    return this.#deps.db.read((rx) => this.#sessionQueue(rx, sessionId));
  }

  /** Changes an entry. Throws `conflict` for one whose only turn has begun. */
  async edit(id: string, body: BodyOf<typeof editQueueEntry>): Promise<QueueEntry> {
    const { db, store, sessions, source, clock } = this.#deps;
    const known = await this.get(id);
    const settings = { ...known, ...changeOf(body, known, clock.now()) };
    const requested = body.input ?? { type: 'text' as const, text: '' };
    const input = await sessions.prepareInput(known.session_id, {
      input: requested,
      ...requestedSettings(settings),
    });
    if (body.input !== undefined) assertSize(input);
    return db.transact((tx) => {
      const before = store.entry(tx, id);
      assertNotBegun(before, 'changed');
      const change = changeOf(body, before, clock.now());
      if (before.turn_id !== null && change.time?.every === null)
        throw conflictError(
          `turn ${before.turn_id} of schedule ${id} is running: wait until the turn ends, or interrupt the turn`,
        );
      const request = body.input === undefined ? change : { ...change, input };
      const after = editedEntry(before, request, clock.now());
      if (after !== before) source.edit(tx, before, after);
      return this.#withPosition(tx, store.entry(tx, id));
    });
  }

  /** Gives an entry another position. Throws `not_found` if the same session has no entry `before`. */
  move(
    id: string,
    { before, to }: BodyOf<typeof moveQueueEntry>,
    saveResponse?: SaveResponse,
  ): Promise<SessionQueue> {
    const { db, store, source } = this.#deps;
    return db.transact((tx) => {
      const { session_id } = store.entry(tx, id);
      const order = source.order(tx, session_id);
      const others = order.filter((one) => one !== id);
      const index =
        to === 'first'
          ? 0
          : (before ?? null) === null
            ? others.length
            : others.indexOf(before ?? '');
      if (index < 0 && before !== id)
        throw notFoundError(`the queue of session "${session_id}" has no entry "${before}"`);
      if (index >= 0 && order[index] !== id)
        source.arrange(tx, session_id, others.toSpliced(index, 0, id));
      return this.#sessionQueue(tx, session_id);
    }, saveResponse);
  }

  /** Holds an entry until it is resumed, also where its session is brought back before. One that is paused stays as it is. */
  pause(id: string, reason: string | null, saveResponse?: SaveResponse): Promise<QueueEntry> {
    const { db, store, source, clock } = this.#deps;
    return db.transact((tx) => {
      const entry = store.entry(tx, id);
      assertNotBegun(entry, 'paused');
      const now = clock.now();
      const message = reason ?? 'paused by a user';
      const hold = { code: 'paused', message, since: now, until: null };
      if (entry.hold === null || entry.hold.code === 'session_failed')
        source.write(tx, 'queue.held', heldEntry(entry, hold, now));
      return this.#withPosition(tx, store.entry(tx, id));
    }, saveResponse);
  }

  /** Ends the pause of an entry. Throws `session_closed` or `session_failed` if its session can have no turn. */
  resume(id: string, saveResponse?: SaveResponse): Promise<QueueEntry> {
    const { db, store, sessionStore, source, clock } = this.#deps;
    return db.transact((tx) => {
      const entry = store.entry(tx, id);
      assertOpen(sessionStore.session(tx, entry.session_id));
      if (entry.hold !== null)
        source.age(tx, entry, releasedEntry(entry, clock.now()), 'queue.released');
      return this.#withPosition(tx, store.entry(tx, id));
    }, saveResponse);
  }

  /** Removes an entry. Throws `conflict` for one whose only turn has begun. */
  drop(id: string): Promise<QueueEntry> {
    const { db, store, source } = this.#deps;
    return db.transact((tx) => {
      const entry = store.entry(tx, id);
      assertNotBegun(entry, 'dropped');
      const answer = this.#withPosition(tx, entry);
      source.remove(tx, entry, 'dropped');
      return answer;
    });
  }

  /** Holds all that waits for a session, until it is resumed or `until`, in Unix ms, has come. */
  pauseSession(
    sessionId: string,
    { reason, until = null }: BodyOf<typeof pauseSessionQueue>,
    saveResponse?: SaveResponse,
  ): Promise<SessionQueue> {
    const { db, sessionStore, inbox, clock } = this.#deps;
    if (until !== null && until <= clock.now())
      throw invalidError('body.until: the time is in the past: use a time in the future');
    return db.transact((tx) => {
      assertNotClosed(sessionStore.session(tx, sessionId));
      const message = reason ?? 'paused by a user';
      inbox.holds.put(tx, sessionId, { code: 'paused', message, until });
      return this.#sessionQueue(tx, sessionId);
    }, saveResponse);
  }

  /** Ends all pauses of a session: by a user, by a usage limit, after an interrupt, and after a failed start of an agent. */
  resumeSession(sessionId: string, saveResponse?: SaveResponse): Promise<SessionQueue> {
    const { db, sessionStore, inbox, limits } = this.#deps;
    return db.transact((tx) => {
      assertNotClosed(sessionStore.session(tx, sessionId));
      inbox.holds.end(tx, sessionId, 'paused');
      limits.resume(tx, sessionId);
      inbox.endHold(tx, sessionId);
      inbox.beginNextTurn(tx, sessionId);
      return this.#sessionQueue(tx, sessionId);
    }, saveResponse);
  }

  /** Removes the entries of a closed session whose contents retention deletes. */
  sessionTrimmed(tx: Writer, sessionId: string): void {
    for (const entry of this.#deps.store.ofSession(tx, sessionId))
      this.#deps.source.remove(tx, entry, 'trimmed');
  }

  diagnostics(): QueueDiagnostics {
    const { db, store, inbox } = this.#deps;
    return db.peek((rx) => ({
      entries: store.byStatus(rx),
      sessions_held: inbox.holds.count(rx),
      next_at: store.nextAt(rx),
    }));
  }

  #assertRoom(rx: Reader, sessionId: string): void {
    const { store } = this.#deps;
    const { entries, entriesOfSession } = queueLimits;
    if (store.count(rx, sessionId) >= entriesOfSession)
      throw new AppError(
        'too_many',
        `the queue of session ${sessionId} is full (${entriesOfSession} entries): remove some queue entries`,
      );
    if (store.count(rx) >= entries)
      throw new AppError(
        'too_many',
        `the queues of all sessions together are full (${entries} entries): remove some queue entries`,
      );
  }

  #sessionQueue(rx: Reader, sessionId: string): SessionQueue {
    const { store, sessionStore, inbox } = this.#deps;
    const session = sessionStore.session(rx, sessionId);
    const positions = new Map<string, QueuePositions>();
    const entries = store
      .ofSession(rx, sessionId)
      .map((entry) => this.#withPosition(rx, entry, positions))
      .toSorted((a, b) => a.position - b.position);
    const isOver = session.status === 'closed' || session.status === 'failed';
    const end = isOver ? [holdFor(session, session.updated_at)] : [];
    return { session_id: sessionId, holds: [...end, ...inbox.holds.of(rx, sessionId)], entries };
  }

  /** Returns an entry with its position. `positions`: the queues that were read before, by session. */
  #withPosition(
    rx: Reader,
    entry: StoredQueueEntry,
    positions = new Map<string, QueuePositions>(),
  ): QueueEntry {
    const { session_id } = entry;
    const { source, inbox } = this.#deps;
    const { order, session_holds } = positions.get(session_id) ?? {
      order: source.order(rx, session_id),
      session_holds: inbox.holds.of(rx, session_id),
    };
    positions.set(session_id, { order, session_holds });
    return { ...entry, position: order.indexOf(entry.id) + 1, session_holds };
  }
}

/** The entries of a session in their order, and what is in their way. */
interface QueuePositions {
  order: readonly string[];
  session_holds: Hold[];
}

function assertSize(input: readonly StoredInputItem[]): void {
  const bytes = Buffer.byteLength(JSON.stringify(input));
  if (bytes > queueLimits.inputBytes)
    throw invalidError(
      `body.input: the input has ${bytes} bytes, and a queue entry can have at most ${queueLimits.inputBytes} bytes: write the text to a file, and name the file in the input`,
    );
}

function assertNotBegun({ id, every, turn_id }: StoredQueueEntry, how: string): void {
  if (every === null && turn_id !== null)
    throw conflictError(
      `queue entry ${id} cannot be ${how}, because it is running as turn ${turn_id}: interrupt the turn`,
    );
}
