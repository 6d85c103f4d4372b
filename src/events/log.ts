import {
  type DeltaEvent,
  deltaKinds,
  type DescribedEvent,
  isDelta,
  type RuntimeEventRecord,
  settlesWith,
} from '../api/events.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { checksum } from '../store/checksum.ts';
import type { Database } from '../store/database.ts';
import type { SqlValue } from '../store/raw-statement.ts';
import type { Statement } from '../store/statement.ts';
import type { Reader, Writer } from '../store/transaction.ts';
import { type EventDraft, eventRecord, type Scope, scopeColumn, scopeKey } from './event.ts';

/** The time for which the deltas of a settled item stay in the log, in ms, for followers that are reading them. */
const SETTLED_KEEP_MS = 60_000;
/** The number of items whose deltas one transaction removes, so that no other transaction waits for long. */
const COMPACT_ITEMS = 20;

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

/** The matching entries of a scope up to the seq `end`. */
export interface LogPage {
  entries: LogEntry[];
  end: number;
  /** Whether the page ended at `limit` or `maxBytes`, so that there may be more. */
  isFull: boolean;
}

export interface PageBounds {
  after: number;
  /** The last seq of the page, which must be durable. */
  upTo: number;
  limit: number;
  maxBytes: number;
}

/** The number of seqs that a page of only some kinds scans, because a million events may hold none of these kinds. */
const KINDS_WINDOW = 20_000;

type EntryRow = [seq: number, kind: string, record: string, sum: number];

/** The ordered log of all events. */
export class EventLog {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #insertEvent: Statement;
  readonly #insertDelta: Statement;
  readonly #settle: Statement;
  readonly #pages = new Map<string, Statement<EntryRow>>();
  readonly #dueItems: Statement<[number, string]>;
  readonly #deleteDeltas: Statement;
  readonly #deleteSettled: Statement;
  readonly #itemDeltas: Statement<EntryRow>;
  readonly #trimmed: Statement<[number]>;

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
    this.#settle = db.prepare('INSERT INTO settled_items (item_id, settled_at) VALUES (?, ?)');
    this.#dueItems = db.prepare(
      'SELECT n, item_id FROM settled_items WHERE settled_at <= ? ORDER BY n LIMIT ?',
    );
    this.#deleteDeltas = db.prepare('DELETE FROM deltas WHERE item_id = ?');
    this.#deleteSettled = db.prepare('DELETE FROM settled_items WHERE n = ?');
    this.#itemDeltas = db.prepare(
      'SELECT seq, kind, record, sum FROM deltas WHERE item_id = ? ORDER BY seq',
    );
    this.#trimmed = db.prepare('SELECT seq FROM trimmed WHERE scope = ?');
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

  /** Marks an item as closed, in the transaction that closes it. Its deltas may then be removed from the log. */
  settleItem(tx: Writer, itemId: string): void {
    this.#settle.run(tx, itemId, this.#clock.now());
  }

  /** Returns the entries of a scope within the bounds, oldest first. The first one may exceed `maxBytes`. */
  page(scope: Scope, bounds: PageBounds): LogPage {
    const kinds = [...(scope.kinds ?? [])];
    const upTo = scope.kinds ? Math.min(bounds.upTo, bounds.after + KINDS_WINDOW) : bounds.upTo;
    const id = scope.name === 'runtime' ? [] : [scope.id];
    const range: SqlValue[] = [...id, bounds.after, upTo, ...kinds];
    const entries: LogEntry[] = [];
    let bytes = 0;
    let isFull = false;
    const query = this.#pageQuery(scopeColumn(scope), kinds.length);
    this.#db.peek((rx) =>
      query.scan(rx, [...range, ...range, bounds.limit], (row) => {
        bytes += Buffer.byteLength(row[2]);
        isFull = bytes > bounds.maxBytes && entries.length > 0;
        if (!isFull) entries.push(this.#entryOf(row));
        return !isFull;
      }),
    );
    isFull ||= entries.length === bounds.limit;
    return { entries, end: isFull ? (entries.at(-1)?.seq ?? upTo) : upTo, isFull };
  }

  /** Returns the highest seq of a scope that retention has deleted; 0: none. */
  trimmedSeq(scope: Scope): number {
    return this.#db.peek((rx) => this.#trimmed.get(rx, scopeKey(scope))?.[0] ?? 0);
  }

  /** Returns the deltas of one item that are still in the log, oldest first. */
  deltasOf(rx: Reader, itemId: string): DeltaEvent[] {
    return this.#itemDeltas
      .all(rx, itemId)
      .map((row) => JSON.parse(this.#entryOf(row).text) as DeltaEvent);
  }

  /** Removes the deltas of a few items settled over `SETTLED_KEEP_MS` ago. Resolves with whether there may be more. */
  compact(): Promise<boolean> {
    const before = this.#clock.now() - SETTLED_KEEP_MS;
    return this.#db.transact((tx) => {
      const due = this.#dueItems.all(tx, before, COMPACT_ITEMS);
      for (const [n, itemId] of due) {
        this.#deleteDeltas.run(tx, itemId);
        this.#deleteSettled.run(tx, n);
      }
      return due.length === COMPACT_ITEMS;
    });
  }

  #pageQuery(column: string | null, kinds: number): Statement<EntryRow> {
    const key = `${column ?? ''}:${kinds}`;
    let query = this.#pages.get(key);
    if (!query) {
      const ofScope = column ? `${column} = ? AND ` : '';
      const ofKinds = kinds > 0 ? ` AND kind IN (${'?, '.repeat(kinds - 1)}?)` : '';
      const condition = `${ofScope}seq > ? AND seq <= ?${ofKinds}`;
      const part = (table: string) =>
        `SELECT seq, kind, record, sum FROM ${table} WHERE ${condition}`;
      query = this.#db.prepare<EntryRow>(
        `${part('events')} UNION ALL ${part('deltas')} ORDER BY seq LIMIT ?`,
      );
      this.#pages.set(key, query);
    }
    return query;
  }

  #entryOf([seq, kind, text, sum]: EntryRow): LogEntry {
    const table = deltaKinds.has(kind) ? 'deltas' : 'events';
    this.#db.damage.verify(text, sum, { table, row: seq }, seq);
    return { seq, kind, text };
  }
}
