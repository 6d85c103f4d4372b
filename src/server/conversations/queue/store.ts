import type { QueueDiagnostics, StoredQueueEntry } from '../../../api/queue.ts';
import type { Database } from '../../../core/store/database.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader } from '../../../core/store/transaction.ts';

export class QueueStore {
  readonly entries: RecordTable<StoredQueueEntry>;
  readonly #due: Statement<[id: string]>;
  readonly #ahead: Statement<[id: string]>;
  readonly #nextAt: Statement<[number | null]>;
  readonly #count: Statement<[number]>;
  readonly #countOf: Statement<[number]>;
  readonly #byStatus: Statement<[status: string, count: number]>;

  constructor(db: Database) {
    this.entries = new RecordTable(db, 'queue_entries', ({ id }) => id);
    this.#due = db.prepare('SELECT id FROM queue_entries WHERE next_at <= ? ORDER BY next_at, n');
    this.#ahead = db.prepare(
      `SELECT id FROM queue_entries WHERE next_at > ?1 AND record ->> '$.settled_until' > ?1 ORDER BY n`,
    );
    this.#nextAt = db.prepare('SELECT min(next_at) FROM queue_entries WHERE next_at IS NOT NULL');
    this.#count = db.prepare('SELECT count(*) FROM queue_entries');
    this.#countOf = db.prepare('SELECT count(*) FROM queue_entries WHERE session_id = ?');
    this.#byStatus = db.prepare('SELECT status, count(*) FROM queue_entries GROUP BY status');
  }

  /** Returns an entry. Throws `not_found`. */
  entry(rx: Reader, id: string): StoredQueueEntry {
    return this.entries.require(rx, id, 'queue entry');
  }

  ofSession(rx: Reader, sessionId: string): StoredQueueEntry[] {
    return this.entries.where(rx, 'session_id = ?', sessionId);
  }

  /** Returns the ids of the entries whose next time has come, the earliest first. */
  due(rx: Reader, now: number): string[] {
    return this.#due.all(rx, now).map(([id]) => id);
  }

  /** Returns the ids of the schedules of which times after a moment were settled. */
  settledAfter(rx: Reader, moment: number): string[] {
    return this.#ahead.all(rx, moment).map(([id]) => id);
  }

  nextAt(rx: Reader): number | null {
    return this.#nextAt.get(rx)?.[0] ?? null;
  }

  count(rx: Reader, sessionId?: string): number {
    const row = sessionId === undefined ? this.#count.get(rx) : this.#countOf.get(rx, sessionId);
    return row?.[0] ?? 0;
  }

  byStatus(rx: Reader): QueueDiagnostics['entries'] {
    const none = { scheduled: 0, waiting: 0, running: 0, held: 0 };
    return { ...none, ...Object.fromEntries(this.#byStatus.all(rx)) };
  }
}
