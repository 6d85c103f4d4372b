import type { Database } from '../store/database.ts';
import type { Statement } from '../store/statement.ts';
import type { Reader, Writer } from '../store/transaction.ts';

export type DeltaRow = [seq: number, kind: string, record: string, sum: number];

/** The event that closed an item of a session, or that ended a process. */
export interface ClosingEntry {
  seq: number;
  session_id: string | null;
  process_id: string | null;
  /** Null for a process. */
  item_id: string | null;
}

/** The deltas of one item or process. They lie among the deltas of their session or process, before the closing event. */
export class ItemDeltas {
  readonly #ofItem: Statement<DeltaRow>;
  readonly #lastOutput: Statement<DeltaRow>;
  readonly #deleteOfItem: Statement;
  readonly #deleteOfProcess: Statement;

  constructor(db: Database) {
    this.#ofItem = db.prepare(
      'SELECT seq, kind, record, sum FROM deltas WHERE session_id = ? AND item_id = ? ORDER BY seq',
    );
    this.#lastOutput = db.prepare(
      `SELECT seq, kind, record, sum FROM deltas
       WHERE process_id = ? AND record ->> '$.payload.stream' = ? ORDER BY seq DESC LIMIT 1`,
    );
    this.#deleteOfItem = db.prepare(
      'DELETE FROM deltas WHERE session_id = ? AND seq < ? AND item_id = ?',
    );
    this.#deleteOfProcess = db.prepare('DELETE FROM deltas WHERE process_id = ? AND seq < ?');
  }

  /** Returns the deltas of an item that are still in the log, oldest first. */
  of(rx: Reader, sessionId: string, itemId: string): DeltaRow[] {
    return this.#ofItem.all(rx, sessionId, itemId);
  }

  lastOutput(rx: Reader, processId: string, stream: string): DeltaRow | undefined {
    return this.#lastOutput.get(rx, processId, stream);
  }

  /** Deletes the deltas of a closed item or an ended process. Returns their number. */
  delete(tx: Writer, { seq, session_id, process_id, item_id }: ClosingEntry): number {
    return item_id === null
      ? this.#deleteOfProcess.run(tx, process_id, seq)
      : this.#deleteOfItem.run(tx, session_id, seq, item_id);
  }
}
