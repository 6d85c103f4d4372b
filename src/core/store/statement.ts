import type { RawStatement, RowBytes, SqlValue } from './raw-statement.ts';
import { assertReader, assertWriter, type Reader, type Writer } from './transaction.ts';

/** The beginning of SQL that changes no row. */
const READS = /^\s*(SELECT|WITH|EXPLAIN|PRAGMA (?!incremental_vacuum))/i;

/**
 * A prepared statement under the transaction law: it changes rows with the {@link Writer} of a running transaction, and
 * reads them with a {@link Reader}. Anything else throws.
 */
export class Statement<Row extends readonly SqlValue[] = SqlValue[]> {
  readonly #prepare: () => RawStatement<Row>;
  readonly #release: (raw: RawStatement<Row>) => void;
  #prepared: RawStatement<Row> | undefined;
  readonly #assertMayRead: (rx: Reader) => void;

  /**
   * `prepare` is called when the statement first runs: a start needs few of them, and SQLite takes its time for each.
   * `release` frees the prepared statement.
   */
  constructor(
    prepare: () => RawStatement<Row>,
    release: (raw: RawStatement<Row>) => void,
    sql: string,
  ) {
    this.#prepare = prepare;
    this.#release = release;
    // A statement with RETURNING returns rows and also changes them.
    this.#assertMayRead = READS.test(sql) ? assertReader : (tx) => assertWriter(tx as Writer);
  }

  get #raw(): RawStatement<Row> {
    return (this.#prepared ??= this.#prepare());
  }

  /** Frees the memory of a statement that is needed for a time only. If it runs again, it is prepared again. */
  [Symbol.dispose](): void {
    if (this.#prepared) this.#release(this.#prepared);
    this.#prepared = undefined;
  }

  /** Runs it for its effect; returns how many rows changed. */
  run(tx: Writer, ...values: SqlValue[]): number {
    assertWriter(tx);
    return this.#raw.run(...values);
  }

  /** Returns the first row, or undefined. */
  get(rx: Reader, ...values: SqlValue[]): Row | undefined {
    this.#assertMayRead(rx);
    return this.#raw.get(...values);
  }

  /** Returns all rows. */
  all(rx: Reader, ...values: SqlValue[]): Row[] {
    this.#assertMayRead(rx);
    return this.#raw.all(...values);
  }

  /** Passes rows to `each` one by one until it returns false; for pages limited by bytes. */
  scan(rx: Reader, values: SqlValue[], each: (row: Row) => boolean): void {
    this.#assertMayRead(rx);
    this.#raw.scan(values, each);
  }

  /** Passes rows to `each` one by one until it returns false; what it reads of a row is valid until it returns. */
  scanBytes(rx: Reader, values: SqlValue[], each: (row: RowBytes) => boolean): void {
    this.#assertMayRead(rx);
    this.#raw.scanBytes(values, each);
  }
}
