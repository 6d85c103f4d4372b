import type { KindIn } from '../../../api/events.ts';
import type { Watch } from '../../../api/watches.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { DAY_MS, isActive } from './watch.ts';

/** The rows of watches: the newest watch of each session. */
export class WatchStore {
  readonly #log: EventLog;
  readonly watches: RecordTable<Watch>;
  readonly #nextDue: Statement<[number | null]>;
  readonly #due: Statement<[sessionId: string]>;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.watches = new RecordTable<Watch>(db, 'watches', ({ session_id }) => session_id);
    this.#nextDue = db.prepare("SELECT min(next_at) FROM watches WHERE status = 'waiting'");
    this.#due = db.prepare(
      `SELECT id FROM watches WHERE status = 'waiting' AND (next_at <= ?1
       OR next_at > ?1 + ${2 * DAY_MS}) ORDER BY n`,
    );
  }

  active(rx: Reader, sessionId: string): Watch | undefined {
    const watch = this.watches.get(rx, sessionId);
    return watch && isActive(watch) ? watch : undefined;
  }

  /** Stores a watch; with `kind`, also appends an event. Checks without a change have no event. */
  write(tx: Writer, watch: Watch, kind?: KindIn<'watch'>): void {
    this.watches.put(tx, watch);
    const { session_id } = watch;
    if (kind) this.#log.append(tx, { kind, session_id, payload: { watch } });
  }

  checking(rx: Reader): Watch[] {
    return this.watches.where(rx, "status = 'checking'");
  }

  /** Returns the due time of the next check, in Unix ms; null if no check is due. */
  nextDue(rx: Reader): number | null {
    return this.#nextDue.get(rx)?.[0] ?? null;
  }

  /** Returns the sessions whose watches have a check that is due, also because the clock was set back by days. */
  due(rx: Reader, now: number): string[] {
    return this.#due.all(rx, now).map(([sessionId]) => sessionId);
  }

  forget(tx: Writer, sessionId: string): void {
    this.watches.delete(tx, sessionId);
  }
}
