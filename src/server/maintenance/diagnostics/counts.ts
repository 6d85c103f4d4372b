import { type Session, sessionStatus } from '../../../api/sessions.ts';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import type { Database } from '../../../core/store/database.ts';
import type { Statement } from '../../../core/store/statement.ts';

/** The number of sessions that are counted before yielding to the event loop. */
const STEP = 1000;

/** Counts sessions and pending approvals by their indexes. */
export class SessionCounts {
  readonly #db: Database;
  readonly #sessions: Statement<[count: number, last: number | null]>;
  readonly #pending: Statement<[number]>;
  readonly #waiting: Statement<[number]>;

  constructor(db: Database) {
    this.#db = db;
    this.#sessions = db.prepare(
      `SELECT count(*), max(n) FROM (
         SELECT n FROM sessions WHERE status = ? AND n > ? ORDER BY n LIMIT ${STEP})`,
    );
    this.#pending = db.prepare("SELECT count(*) FROM approvals WHERE status = 'pending'");
    this.#waiting = db.prepare(
      `SELECT EXISTS (SELECT 1 FROM inbox JOIN sessions ON sessions.id = inbox.session_id
           WHERE turn_id IS NULL AND status <> 'closed')
         OR EXISTS (SELECT 1 FROM holds WHERE until IS NOT NULL AND since IS NOT NULL)`,
    );
  }

  async byStatus(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const status of sessionStatus.options) counts[status] = await this.#count(status);
    return counts;
  }

  pendingApprovals(): Promise<number> {
    return this.#db.read((rx) => this.#pending.get(rx)?.[0] ?? 0);
  }

  /** Whether anything waits to become a turn of an open session, or a session waits for a time. */
  isAnyWaiting(): Promise<boolean> {
    return this.#db.read((rx) => this.#waiting.get(rx)?.[0] === 1);
  }

  /** Counts sessions of a status. There may be many closed ones, so it yields to the event loop in between. */
  async #count(status: Session['status']): Promise<number> {
    let count = 0;
    for (let after: number | null = 0; after !== null;) {
      const from: number = after;
      const [found, last] = (await this.#db.read((rx) => this.#sessions.get(rx, status, from))) ?? [
        0,
        null,
      ];
      count += found;
      after = found < STEP ? null : last;
      if (after !== null) await yieldToEventLoop();
    }
    return count;
  }
}
