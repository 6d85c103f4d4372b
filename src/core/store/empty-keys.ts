import type { Database } from './database.ts';
import type { Statement } from './statement.ts';
import { type Reader, Writer } from './transaction.ts';

const MAX_KEYS = 4096;

/**
 * The keys for which a table has no row. Most sessions have no holds, no waiting entries and no team, and most turns no
 * approvals: their turns skip the queries that would find nothing.
 */
export class EmptyKeys {
  readonly #find: Statement<[number]>;
  readonly #keys = new Set<string>();

  /** `table` and `column`: the rows that count, which must be indexed. `condition`: SQL that restricts them. */
  constructor(db: Database, table: string, column: string, condition = 'TRUE') {
    this.#find = db.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ? AND ${condition} LIMIT 1`);
  }

  /** Whether no row has the key. */
  has(rx: Reader, key: string): boolean {
    if (this.#keys.has(key)) return true;
    if (this.#find.get(rx, key)) return false;
    if (rx instanceof Writer) this.add(rx, key);
    return true;
  }

  /**
   * Remembers that no row has the key. Only a transaction may do so: the rows that it does not see may come back if its
   * group is rolled back, and then the key is forgotten.
   */
  add(tx: Writer, key: string): void {
    if (this.#keys.size === MAX_KEYS) this.#keys.clear();
    this.#keys.add(key);
    tx.whenLost(() => this.#keys.delete(key));
  }

  /** Must be called whenever a row with the key is written. */
  delete(key: string): void {
    this.#keys.delete(key);
  }
}
