import { settlingKinds } from '../api/events.ts';
import type { Database } from '../store/database.ts';
import type { SqlValue } from '../store/raw-statement.ts';
import type { Statement } from '../store/statement.ts';
import type { Writer } from '../store/transaction.ts';

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
/** One step looks at so many events, taken or not. */
const LOOK_EVENTS = 2000;

/** What one step of trimming took. */
export interface Trimmed {
  /** Events that went, without those that only tell of trimming. */
  events: number;
  /** Whether it took all it was allowed to: there may be more. */
  isFull: boolean;
  /** The highest seq that went. */
  seq: number;
}

/**
 * Takes events out of the log for good, a few at a time, and remembers for each scope how far: a reader who has not
 * come past that number is told.
 */
export class EventTrim {
  readonly #onTrimmed: (seq: number) => void;
  readonly #of: Record<'session_id' | 'process_id', Statement<Row>>;
  readonly #next: Statement<AgedRow>;
  readonly #deletes: readonly Statement[];
  readonly #deleteDeltas: Statement;
  readonly #remember: Statement;

  /** `onTrimmed` is called with the highest seq that went, once that is on disk. */
  constructor({ db, onTrimmed }: { db: Database; onTrimmed: (seq: number) => void }) {
    this.#onTrimmed = onTrimmed;
    const part = (table: string, condition: string) =>
      `SELECT seq, kind, ${IDS} FROM ${table} WHERE ${condition}`;
    const both = (condition: string) =>
      `${part('events', condition)} UNION ALL ${part('deltas', condition)} ORDER BY seq LIMIT ?`;
    this.#of = {
      session_id: db.prepare(both('session_id = ?')),
      process_id: db.prepare(both('process_id = ?')),
    };
    this.#next = db.prepare(
      `SELECT seq, kind, created_at, EXISTS (
         SELECT 1 FROM sessions WHERE id = event.session_id
         AND active_turn_id = event.record ->> '$.turn_id'
       ), coalesce(record ->> '$.payload.item_id', process_id), ${IDS} FROM events AS event WHERE seq > ? ORDER BY seq LIMIT ?`,
    );
    this.#deletes = ['events', 'deltas'].map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE seq = ?`),
    );
    this.#deleteDeltas = db.prepare('DELETE FROM deltas WHERE item_id = ?');
    this.#remember = db.prepare(
      `INSERT INTO trimmed (scope, seq) VALUES (?, ?)
       ON CONFLICT (scope) DO UPDATE SET seq = max(seq, excluded.seq)`,
    );
  }

  /** The oldest events of a session or a process, deltas too. */
  of(tx: Writer, column: 'session_id' | 'process_id', id: string, limit: number): Trimmed {
    const rows = this.#of[column].all(tx, id, id, limit);
    return { ...this.#take(tx, rows), isFull: rows.length === limit };
  }

  /**
   * The oldest events after `after` that are older than `before`, of whatever is not an unfinished turn, and with an
   * event that closes an item what is left of its deltas. `end` is how far it has looked; null: there is nothing more of
   * that age.
   */
  oldest(
    tx: Writer,
    after: number,
    before: number,
    limit: number,
  ): Trimmed & { end: number | null } {
    const rows: Row[] = [];
    const closed: string[] = [];
    let looked = 0;
    let end = after;
    let isOver = false;
    this.#next.scan(
      tx,
      [after, LOOK_EVENTS],
      ([seq, kind, createdAt, isUnfinished, item, ...ids]) => {
        isOver = createdAt >= before;
        if (isOver) return false;
        looked++;
        end = seq;
        if (isUnfinished !== 0) return true;
        rows.push([seq, kind, ...ids]);
        if (item !== null && settlingKinds.has(kind)) closed.push(item);
        return rows.length < limit;
      },
    );
    const isFull = rows.length === limit;
    let deltas = 0;
    for (const item of closed) deltas += this.#deleteDeltas.run(tx, item);
    const isEnd = isOver || (!isFull && looked < LOOK_EVENTS);
    const taken = this.#take(tx, rows);
    return { ...taken, events: taken.events + deltas, isFull, end: isEnd ? null : end };
  }

  #take(tx: Writer, rows: readonly Row[]): Omit<Trimmed, 'isFull'> {
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
