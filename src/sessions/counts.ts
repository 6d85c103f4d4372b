import { sessionStatus } from '../api/sessions.ts';
import type { Database } from '../store/database.ts';
import type { Statement } from '../store/statement.ts';

/** How many there are of what, by their indexes. */
export class SessionCounts {
  readonly #db: Database;
  readonly #sessions: Statement<[number]>;
  readonly #pending: Statement<[number]>;

  constructor(db: Database) {
    this.#db = db;
    this.#sessions = db.prepare('SELECT count(*) FROM sessions WHERE status = ?');
    this.#pending = db.prepare("SELECT count(*) FROM approvals WHERE status = 'pending'");
  }

  /** Once what is counted is on disk. */
  count(): Promise<{ sessions: Record<string, number>; pendingApprovals: number }> {
    return this.#db.read(() => ({
      sessions: Object.fromEntries(
        sessionStatus.options.map((status) => [status, this.#sessions.get(status)?.[0] ?? 0]),
      ),
      pendingApprovals: this.#pending.get()?.[0] ?? 0,
    }));
  }
}
