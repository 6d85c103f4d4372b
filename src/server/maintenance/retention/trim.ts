import { settlingKinds } from '../../../api/events.ts';
import { type ClosingEntry, ItemDeltas } from '../../../core/events/item-deltas.ts';
import type { Database } from '../../../core/store/database.ts';
import type { SqlValue } from '../../../core/store/raw-statement.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Writer } from '../../../core/store/transaction.ts';

type Ids = [
  session_id: string | null,
  process_id: string | null,
  worktree_id: string | null,
  team_id: string | null,
];
type Row = [seq: number, kind: string, ...ids: Ids];
type AgedRow = [
  seq: number,
  kind: string,
  created_at: number,
  isUnfinished: number,
  item_id: string | null,
  ...ids: Ids,
];

const IDS = 'session_id, process_id, worktree_id, team_id';
const fields = IDS.split(', ');
/** The maximum number of events that one step scans, whether it deletes them or not. */
const SCAN_EVENTS = 2000;

/** The result of one step of trimming. */
export interface Trimmed {
  /** The number of deleted events, without `storage.trimmed` events. */
  events: number;
  /** Whether the step reached its limit, so that there may be more. */
  isFull: boolean;
  seq: number;
}

/**
 * Deletes events from the log, a few at a time, and stores the highest deleted seq of each scope, so that a reader
 * whose cursor is before it can be notified.
 */
export class EventTrim {
  readonly #onTrimmed: (seq: number) => void;
  readonly #eventsOf: Record<'session_id' | 'process_id', Statement<Row>>;
  readonly #next: Statement<AgedRow>;
  readonly #deletes: readonly Statement[];
  readonly #itemDeltas: ItemDeltas;
  readonly #remember: Statement;

  /** `onTrimmed` is called with the highest deleted seq, once that is on disk. */
  constructor({ db, onTrimmed }: { db: Database; onTrimmed: (seq: number) => void }) {
    this.#onTrimmed = onTrimmed;
    const part = (table: string, condition: string) =>
      `SELECT seq, kind, ${IDS} FROM ${table} WHERE ${condition}`;
    const both = (condition: string) =>
      `${part('events', condition)} UNION ALL ${part('deltas', condition)} ORDER BY seq LIMIT ?`;
    this.#eventsOf = {
      session_id: db.prepare(both('session_id = ?')),
      process_id: db.prepare(both('process_id = ?')),
    };
    this.#next = db.prepare(
      `SELECT seq, kind, created_at, EXISTS (
         SELECT 1 FROM sessions WHERE id = event.session_id
         AND active_turn_id = event.record ->> '$.turn_id'
       ), record ->> '$.payload.item_id', ${IDS} FROM events AS event WHERE seq > ? ORDER BY seq LIMIT ?`,
    );
    this.#deletes = ['events', 'deltas'].map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE seq = ?`),
    );
    this.#itemDeltas = new ItemDeltas(db);
    this.#remember = db.prepare(
      `INSERT INTO trimmed (scope, seq) VALUES (?, ?)
       ON CONFLICT (scope) DO UPDATE SET seq = max(seq, excluded.seq)`,
    );
  }

  /** Deletes the oldest events of a session or a process, deltas included. */
  eventsOf(tx: Writer, column: 'session_id' | 'process_id', id: string, limit: number): Trimmed {
    const rows = this.#eventsOf[column].all(tx, id, id, limit);
    return { ...this.#delete(tx, rows), isFull: rows.length === limit };
  }

  /**
   * Deletes the oldest events after the seq `after` and from before the time `before`, but no event of an
   * unfinished turn. With an event that closes an item, it deletes the item's remaining deltas. `end` is the last scanned seq;
   * null: there are no more events of that age.
   */
  oldest(
    tx: Writer,
    after: number,
    before: number,
    limit: number,
  ): Trimmed & { end: number | null } {
    const rows: Row[] = [];
    const closed: ClosingEntry[] = [];
    let scanned = 0;
    let end = after;
    let isOver = false;
    this.#next.scan(
      tx,
      [after, SCAN_EVENTS],
      ([seq, kind, createdAt, isUnfinished, item_id, ...ids]) => {
        isOver = createdAt >= before;
        if (isOver) return false;
        scanned++;
        end = seq;
        if (isUnfinished !== 0) return true;
        rows.push([seq, kind, ...ids]);
        const [session_id, process_id] = ids;
        if (settlingKinds.has(kind)) closed.push({ seq, session_id, process_id, item_id });
        return rows.length < limit;
      },
    );
    const isFull = rows.length === limit;
    let deltas = 0;
    for (const item of closed) deltas += this.#itemDeltas.delete(tx, item);
    const isEnd = isOver || (!isFull && scanned < SCAN_EVENTS);
    const deleted = this.#delete(tx, rows);
    return { ...deleted, events: deleted.events + deltas, isFull, end: isEnd ? null : end };
  }

  #delete(tx: Writer, rows: readonly Row[]): Omit<Trimmed, 'isFull'> {
    const highest = new Map<string, number>();
    for (const [seq, , ...ids] of rows) {
      for (const statement of this.#deletes) statement.run(tx, seq);
      highest.set('', seq);
      for (const [at, id] of ids.entries())
        if (id !== null) highest.set(`${fields[at]}:${id}`, seq);
    }
    for (const entry of highest) this.#remember.run(tx, ...(entry satisfies SqlValue[]));
    const seq = highest.get('') ?? 0;
    if (rows.length > 0) tx.whenDurable(() => this.#onTrimmed(seq));
    return { events: rows.filter(([, kind]) => kind !== 'storage.trimmed').length, seq };
  }
}
