import {
  type DeltaEvent,
  deltaKinds,
  type DescribedEvent,
  type EventOf,
  isDelta,
  type RuntimeEventRecord,
  settlesWith,
  settlingKinds,
} from '../../api/events.ts';
import type { Usage } from '../../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { checksum } from '../store/corruption-log.ts';
import type { Database } from '../store/database.ts';
import type { SqlValue } from '../store/raw-statement.ts';
import type { Statement } from '../store/statement.ts';
import type { Reader, Writer } from '../store/transaction.ts';
import { type ClosingEntry, type DeltaRow, ItemDeltas } from './item-deltas.ts';
import { type EventDraft, eventRecord, type Scope, scopeColumn, scopeKey } from './event.ts';

/** The time for which the deltas of a settled item stay in the log, in ms, for subscribers that are reading them. */
const SETTLED_KEEP_MS = 60_000;
/** The number of items whose deltas one transaction removes, so that no other transaction waits for long. */
const COMPACT_ITEMS = 20;
/** The number of events among which a removal looks for settled items. */
const COMPACT_EVENTS = 500;

/** The number of the newest events of a session in which its plan is searched, so that a search reads few rows. */
const PLAN_EVENTS = 5000;

/** An event as it is stored. `text` is its record as JSON, which is sent unchanged. */
export interface LogEntry {
  seq: number;
  kind: string;
  text: string;
}

/** An entry as it is announced once it is durable, with the ids of its scopes. */
export interface AppendedEntry extends LogEntry {
  ids: Pick<RuntimeEventRecord, 'session_id' | 'process_id' | 'worktree_id' | 'team_id'>;
}

/** How far a reading of a scope came: all matching entries up to the seq `end` were passed on. */
export interface LogPage {
  /** Number of entries, and the seq of the last entry. Without entries, the seq of the cursor. */
  count: number;
  last: number;
  end: number;
  /** Whether it ended at `limit` or `maxBytes`, so that there may be more. */
  isFull: boolean;
}

/** Receives an entry. `text` is its record as JSON in UTF-8, which is valid until the function returns. */
export type TakeEntry = (seq: number, kind: string, text: Buffer) => void;

export interface PageBounds {
  after: number;
  /** The last seq of the page, which must be durable. */
  upTo: number;
  limit: number;
  maxBytes: number;
}

/**
 * Number of seqs that a page scans for some kinds of one session, process, worktree or team, because all its events may
 * be of other kinds. Events of the whole runtime are found by their kind.
 */
const KINDS_WINDOW = 20_000;

type ProcessOutput = EventOf<'process.output'>['payload'];
type FirstStatus = EventOf<'tool.started'>['payload']['status'];
type EntryRow = DeltaRow;
type CandidateRow = [
  seq: number,
  kind: string,
  created_at: number,
  session_id: string | null,
  process_id: string | null,
  item_id: string | null,
];
const [SEQ, KIND, RECORD, SUM] = [0, 1, 2, 3];

export class EventLog {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #insertEvent: Statement;
  readonly #insertDelta: Statement;
  readonly #pages = new Map<string, { page: Statement<EntryRow>; newest: Statement<[number]> }>();
  readonly #oldestDelta: Statement<[number | null]>;
  readonly #candidates: Statement<CandidateRow>;
  readonly #itemDeltas: ItemDeltas;
  readonly #trimmed: Statement<[number]>;
  readonly #before: Statement<[seq: number, begin: string]>[];
  readonly #lastUsage: Statement<EntryRow>;
  readonly #lastPlan: Statement<EntryRow>;
  readonly #toolStart: Statement<EntryRow>;
  /** The deltas of each item that an event up to this seq has closed are removed. Null until the first removal. */
  #compactedTo: number | null = null;

  constructor({ db, clock, ids }: { db: Database; clock: Clock; ids: Ids }) {
    this.#db = db;
    this.#clock = clock;
    this.#ids = ids;
    const columns =
      'seq, kind, session_id, process_id, worktree_id, team_id, created_at, record, sum';
    this.#insertEvent = db.prepare(
      `INSERT INTO events (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertDelta = db.prepare(
      `INSERT INTO deltas (${columns}, item_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#oldestDelta = db.prepare('SELECT min(seq) FROM deltas');
    this.#candidates = db.prepare(
      `SELECT seq, kind, created_at, session_id, process_id, record ->> '$.payload.item_id'
       FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
    );
    this.#itemDeltas = new ItemDeltas(db);
    this.#trimmed = db.prepare('SELECT seq FROM trimmed WHERE scope = ?');
    this.#before = ['events', 'deltas'].map((table) =>
      db.prepare(
        `SELECT seq, substr(record, 1, 32) FROM ${table} WHERE seq <= ? ORDER BY seq DESC LIMIT 1`,
      ),
    );
    // Neither part reads further back than the start of the newest turn of the session.
    this.#lastUsage = db.prepare(
      `SELECT seq, kind, record, sum FROM events INDEXED BY events_session
       WHERE session_id = ?1 AND kind = 'usage.updated' AND record ->> '$.turn_id' = ?2
       AND seq > coalesce((SELECT seq FROM events INDEXED BY events_session
         WHERE session_id = ?1 AND kind = 'turn.accepted' ORDER BY seq DESC LIMIT 1), 0)
       ORDER BY seq DESC LIMIT 1`,
    );
    this.#toolStart = db.prepare(
      `SELECT seq, kind, record, sum FROM events INDEXED BY events_session
       WHERE session_id = ? AND kind = 'tool.started' AND record ->> '$.payload.item_id' = ?
       ORDER BY seq DESC LIMIT 1`,
    );
    this.#lastPlan = db.prepare(
      `SELECT seq, kind, record, sum FROM (
         SELECT seq, kind, record, sum FROM events INDEXED BY events_session
         WHERE session_id = ? ORDER BY seq DESC LIMIT ${PLAN_EVENTS})
       WHERE kind = 'plan.updated' ORDER BY seq DESC LIMIT 1`,
    );
  }

  /**
   * Appends an event, in the transaction of the change that it describes. Returns its record. `seq` is for an event
   * that carries its own number: the next one of the sequence, taken just before.
   */
  append(tx: Writer, draft: EventDraft, seq = tx.nextSeq()): DescribedEvent {
    const assigned = { seq, id: this.#ids.next('evt'), now: this.#clock.now() };
    const { record, text } = eventRecord(draft, assigned);
    const { session_id, process_id, worktree_id, team_id } = record;
    const values: SqlValue[] = [seq, record.kind, session_id, process_id, worktree_id, team_id];
    values.push(record.created_at, text, checksum(text, seq));
    if (isDelta(record)) this.#insertDelta.run(tx, ...values, settlesWith(record));
    else this.#insertEvent.run(tx, ...values);
    const entry: AppendedEntry = {
      seq,
      kind: record.kind,
      text,
      ids: { session_id, process_id, worktree_id, team_id },
    };
    tx.announce(entry);
    return record;
  }

  /**
   * Passes the entries of a scope within the bounds to `take`, oldest first, as they are stored: nothing is decoded or
   * parsed. The first one may exceed `maxBytes`. Throws `storage_damaged` for one that is not what was written, not of this
   * scope or out of order, and for a page that a damaged key would begin late or end before the newest entry of the scope.
   */
  page(scope: Scope, bounds: PageBounds, take: TakeEntry): LogPage {
    const { after, limit } = bounds;
    const isWindow = scope.kinds !== undefined && scope.name !== 'runtime';
    const upTo = isWindow ? Math.min(bounds.upTo, after + KINDS_WINDOW) : bounds.upTo;
    const { query, newest, values } = this.#pageQuery(scope);
    const keyOfScope = keyIn(scope);
    if (scope.name === 'runtime' && after > 0) this.#verifyBegin(after);
    let count = 0;
    let last = after;
    let bytes = 0;
    let isFull = false;
    this.#db.peek((rx) =>
      query.scanBytes(rx, [after, upTo, limit, ...values], (row) => {
        const seq = row.number(SEQ);
        const sum = row.number(SUM);
        const kind = row.text(KIND).toString('latin1');
        // It has to be the last column: to read another one may move SQLite's memory from under it.
        const text = row.text(RECORD);
        bytes += text.length;
        isFull = bytes > bounds.maxBytes && count > 0;
        if (isFull) return false;
        this.#verify(seq, kind, text, sum);
        if (!text.includes(keyOfScope))
          this.#fail(seq, kind, 'was found under the key of another row');
        if (seq <= last) this.#fail(seq, kind, 'was found out of order');
        take(seq, kind, text);
        last = seq;
        count++;
        return true;
      }),
    );
    isFull ||= count === limit;
    if (!isFull && last < upTo && upTo === bounds.upTo)
      this.#verifyEnd(newest, values, { after, last, upTo });
    return { count, last, end: isFull ? last : upTo, isFull };
  }

  /** Returns the highest seq of a scope that retention has deleted; 0: none. */
  trimmedSeq(scope: Scope): number {
    return this.#db.peek((rx) => this.#trimmed.get(rx, scopeKey(scope))?.[0] ?? 0);
  }

  /** Returns the deltas of one item of a session that are still in the log, oldest first. */
  deltasOf(rx: Reader, sessionId: string, itemId: string): DeltaEvent[] {
    return this.#itemDeltas
      .of(rx, sessionId, itemId)
      .map((row) => this.#eventIn(row) as DeltaEvent);
  }

  /** Returns the newest event about an output of a process that has not ended; null if there is none. */
  lastOutput(rx: Reader, ...of: [processId: string, stream: string]): ProcessOutput | null {
    const row = this.#itemDeltas.lastOutput(rx, ...of);
    return row ? (this.#eventIn(row) as EventOf<'process.output'>).payload : null;
  }

  /** Returns what the newest turn of a session had used by its last `usage.updated`; null if there is none. */
  lastUsage(rx: Reader, sessionId: string, turnId: string): Usage | null {
    const row = this.#lastUsage.get(rx, sessionId, turnId);
    return row ? (this.#eventIn(row) as EventOf<'usage.updated'>).payload.usage : null;
  }

  /** Returns the status that a tool began with; null if the event is not in the log any more. Reads the whole session. */
  firstStatus(rx: Reader, sessionId: string, itemId: string): FirstStatus | null {
    const row = this.#toolStart.get(rx, sessionId, itemId);
    return row ? (this.#eventIn(row) as EventOf<'tool.started'>).payload.status : null;
  }

  /** Returns the last plan in the newest events of a session; null if there is none. */
  lastPlan(rx: Reader, sessionId: string): EventOf<'plan.updated'>['payload'] | null {
    const row = this.#lastPlan.get(rx, sessionId);
    return row ? (this.#eventIn(row) as EventOf<'plan.updated'>).payload : null;
  }

  /** Removes the deltas of a few items settled over `SETTLED_KEEP_MS` ago. Resolves with whether there may be more. */
  async compact(): Promise<boolean> {
    const { due, end, isFull } = this.#db.peek((rx) => this.#settledItems(rx));
    if (due.length > 0)
      await this.#db.transact((tx) => {
        for (const item of due) this.#itemDeltas.delete(tx, item);
      });
    this.#compactedTo = end;
    return isFull;
  }

  /** Returns the next items whose deltas may go, and the seq up to which the log has no other ones. */
  #settledItems(rx: Reader): { due: ClosingEntry[]; end: number; isFull: boolean } {
    const now = this.#clock.now();
    const upTo = this.#db.durableSeq;
    // An item with deltas is closed by an event that follows them.
    this.#compactedTo ??= (this.#oldestDelta.get(rx)?.[0] ?? upTo + 1) - 1;
    let end = this.#compactedTo;
    let scanned = 0;
    const due: ClosingEntry[] = [];
    this.#candidates.scan(
      rx,
      [end, upTo, COMPACT_EVENTS],
      ([seq, kind, createdAt, session_id, process_id, item_id]) => {
        // A time after now is from before the clock was set back.
        if (createdAt > now - SETTLED_KEEP_MS && createdAt <= now) return false;
        scanned++;
        end = seq;
        if (settlingKinds.has(kind)) due.push({ seq, session_id, process_id, item_id });
        return due.length < COMPACT_ITEMS;
      },
    );
    return { due, end, isFull: scanned === COMPACT_EVENTS || due.length === COMPACT_ITEMS };
  }

  /**
   * Throws `storage_damaged` if a damaged key has led the search for `after` past entries: the entry before the position
   * that was found then has another seq in its record, or one that is beyond `after`.
   */
  #verifyBegin(after: number): void {
    this.#db.peek((rx) => {
      for (const query of this.#before) {
        const [seq, begin] = query.get(rx, after) ?? [0, ''];
        const [, own = seq] = /^\{"seq":(\d+),/.exec(begin) ?? [];
        if (seq > after || Number(own) !== seq)
          this.#fail(Number(own), null, 'has a corrupt key, which hides later entries');
      }
    });
  }

  /**
   * Throws `storage_damaged` if an entry of the scope lies behind the end that a reading from the begin has found. A
   * damaged key ends that reading early; the newest entries are found by another way through the tree, from its end.
   */
  #verifyEnd(
    newest: Statement<[number]>,
    values: string[],
    { after, last, upTo }: { after: number; last: number; upTo: number },
  ): void {
    this.#db.peek((rx) =>
      newest.scan(rx, [after, upTo, -1, ...values], ([seq]) => {
        // An entry that is not durable yet.
        if (seq > upTo && seq <= this.#db.sequence.last) return true;
        if (seq <= last) return false;
        return this.#fail(seq, null, 'was not found in key order: a key is corrupt');
      }),
    );
  }

  #fail(seq: number, kind: string | null, problem: string): never {
    const table = kind !== null && deltaKinds.has(kind) ? 'deltas' : 'events';
    throw this.#db.damage.finding(table, seq, problem);
  }

  /** Returns the queries of a scope's pages and of its newest entries, and their values after the bounds. */
  #pageQuery(scope: Scope): {
    query: Statement<EntryRow>;
    newest: Statement<[number]>;
    values: string[];
  } {
    const column = scopeColumn(scope);
    const ofDeltas = [...(scope.kinds ?? [])].filter((kind) => deltaKinds.has(kind));
    const ofEvents = [...(scope.kinds ?? [])].filter((kind) => !deltaKinds.has(kind));
    const kinds = [...ofEvents, ...ofDeltas];
    const values = scope.name === 'runtime' ? kinds : [scope.id, ...kinds];
    const key =
      column === null ? `${ofEvents.length}+${ofDeltas.length}` : `${column}:${kinds.length}`;
    let queries = this.#pages.get(key);
    if (!queries) {
      const parts =
        column === null && kinds.length > 0
          ? partsOfKinds(ofEvents.length, ofDeltas.length)
          : partsOfTables(column, kinds.length);
      const page = parts.map((it) => `SELECT seq, kind, record, sum ${it} AND seq <= ?2`);
      const newest = parts.map((it) => `SELECT seq ${it}`);
      queries = {
        page: this.#db.prepare<EntryRow>(`${page.join(' UNION ALL ')} ORDER BY seq LIMIT ?3`),
        newest: this.#db.prepare<[number]>(
          `${newest.join(' UNION ALL ')} ORDER BY seq DESC LIMIT ?3`,
        ),
      };
      this.#pages.set(key, queries);
    }
    return { query: queries.page, newest: queries.newest, values };
  }

  /** Returns the event of a row. Throws `storage_damaged`. */
  #eventIn([seq, kind, text, sum]: EntryRow): unknown {
    this.#verify(seq, kind, text, sum);
    return JSON.parse(text);
  }

  #verify(seq: number, kind: string, text: string | Buffer, sum: number): void {
    const table = deltaKinds.has(kind) ? 'deltas' : 'events';
    this.#db.damage.verify(text, sum, { table, row: seq }, seq);
  }
}

function part(table: string, condition: string): string {
  return `FROM ${table} WHERE ${condition} AND seq > ?1`;
}

/** Returns the part of a record that names its scope; empty for the whole runtime. */
function keyIn(scope: Scope): string {
  const column = scopeColumn(scope);
  return column === null || scope.name === 'runtime'
    ? ''
    : `"${column}":${JSON.stringify(scope.id)}`;
}

/**
 * Each kind of events has a part of its own, so that its index has the events in their order. Deltas are few, because
 * they leave the log once their item is closed, and have no such index.
 */
function partsOfKinds(ofEvents: number, ofDeltas: number): string[] {
  const events = Array.from({ length: ofEvents }, (_, i) =>
    part('events INDEXED BY events_kind', `kind = ?${i + 4}`),
  );
  const kinds = Array.from({ length: ofDeltas }, (_, i) => `?${ofEvents + i + 4}`);
  return ofDeltas === 0 ? events : [...events, part('deltas', `kind IN (${kinds.join(', ')})`)];
}

function partsOfTables(column: string | null, kinds: number): string[] {
  const first = column === null ? 4 : 5;
  const numbered = Array.from({ length: kinds }, (_, i) => `?${first + i}`);
  const conditions = [
    ...(column === null ? [] : [`${column} = ?4`]),
    ...(kinds === 0 ? [] : [`kind IN (${numbered.join(', ')})`]),
  ];
  const condition = conditions.join(' AND ') || 'TRUE';
  return ['events', 'deltas'].map((table) => part(table, condition));
}
