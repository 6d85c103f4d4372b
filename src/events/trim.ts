import type { Database } from '../store/database.ts';
import type { SqlValue, Statement } from '../store/statement.ts';

type IdRow = [
  seq: number,
  session_id: string | null,
  process_id: string | null,
  worktree_id: string | null,
  team_id: string | null,
];

const IDS = 'session_id, process_id, worktree_id, team_id';
const fields = IDS.split(', ');

/** What one step of trimming took. */
export interface Trimmed {
  events: number;
  /** The highest seq that went. */
  seq: number;
}

/**
 * Takes events out of the log for good, a few at a time, and remembers for each scope how far: a reader who has not
 * come past there is told. Every method belongs inside a transaction.
 */
export class EventTrim {
  readonly #of: Record<'session_id' | 'process_id', Statement<IdRow>>;
  readonly #oldest: Statement<IdRow>;
  readonly #deletes: readonly Statement[];
  readonly #remember: Statement;

  constructor(db: Database) {
    const part = (table: string, condition: string) =>
      `SELECT seq, ${IDS} FROM ${table} WHERE ${condition}`;
    const both = (condition: string) =>
      `${part('events', condition)} UNION ALL ${part('deltas', condition)} ORDER BY seq LIMIT ?`;
    this.#of = {
      session_id: db.prepare(both('session_id = ?')),
      process_id: db.prepare(both('process_id = ?')),
    };
    this.#oldest = db.prepare(
      `SELECT seq, ${IDS} FROM events AS event WHERE seq > ? AND created_at < ?
       AND NOT EXISTS (
         SELECT 1 FROM sessions WHERE id = event.session_id
         AND active_turn_id = event.record ->> '$.turn_id'
       ) ORDER BY seq LIMIT ?`,
    );
    this.#deletes = ['events', 'deltas'].map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE seq = ?`),
    );
    this.#remember = db.prepare(
      `INSERT INTO trimmed (scope, seq) VALUES (?, ?)
       ON CONFLICT (scope) DO UPDATE SET seq = max(seq, excluded.seq)`,
    );
  }

  /** The oldest events of a session or a process, deltas too. */
  of(column: 'session_id' | 'process_id', id: string, limit: number): Trimmed {
    return this.#take(this.#of[column].all(id, id, limit));
  }

  /** The oldest events after `after` that are older than `before`, of whatever is not an unfinished turn. */
  oldest(after: number, before: number, limit: number): Trimmed {
    return this.#take(this.#oldest.all(after, before, limit));
  }

  #take(rows: readonly IdRow[]): Trimmed {
    const highest = new Map<string, number>();
    for (const [seq, ...ids] of rows) {
      for (const statement of this.#deletes) statement.run(seq);
      highest.set('', seq);
      for (const [at, id] of ids.entries())
        if (id !== null) highest.set(`${fields[at]}:${id}`, seq);
    }
    for (const entry of highest) this.#remember.run(...(entry satisfies SqlValue[]));
    return { events: rows.length, seq: highest.get('') ?? 0 };
  }
}
