import { RawStatement, type RowBytes, type SqlValue, type SqliteError } from './raw-statement.ts';
import { assertReader, assertWriter, type Reader, type Writer } from './transaction.ts';
import { AppError } from '../../api/errors.ts';
import type { HostedSqlite } from './host/sqlite.ts';

/** The beginning of SQL that changes no row. */
const READS = /^\s*(SELECT|WITH|EXPLAIN|PRAGMA (?!incremental_vacuum))/i;

/**
 * A prepared statement under the transaction law: it changes rows with the {@link Writer} of a running transaction, and
 * reads them with a {@link Reader}. Anything else throws.
 */
export class Statement<Row extends readonly SqlValue[] = SqlValue[]> {
  readonly #statements: Statements;
  readonly #sql: string;
  #prepared: RawStatement<Row> | undefined;
  readonly #assertMayRead: (rx: Reader) => void;

  constructor(statements: Statements, sql: string) {
    this.#statements = statements;
    this.#sql = sql;
    // A statement with RETURNING returns rows and also changes them.
    this.#assertMayRead = READS.test(sql) ? assertReader : (tx) => assertWriter(tx as Writer);
  }

  /** Prepared when the statement first runs: a start needs few of them, and SQLite takes its time for each. */
  get #raw(): RawStatement<Row> {
    return (this.#prepared ??= this.#statements.raw<Row>(this.#sql));
  }

  /** Frees the memory of a statement that is needed for a time only. If it runs again, it is prepared again. */
  [Symbol.dispose](): void {
    if (this.#prepared) this.#statements.release(this.#prepared);
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

export class Statements {
  readonly #host: HostedSqlite;
  readonly #handle: number;
  readonly #onError: (error: SqliteError) => void;
  readonly #open = new Set<{ finalize(): void }>();
  #isClosed = false;

  constructor(host: HostedSqlite, handle: number, onError: (error: SqliteError) => void) {
    this.#host = host;
    this.#handle = handle;
    this.#onError = onError;
  }

  /** Prepares a statement that lives as long as the database. */
  raw<Row extends readonly SqlValue[] = SqlValue[]>(sql: string): RawStatement<Row> {
    if (this.#isClosed)
      throw new AppError('shutting_down', 'the server is stopping and has closed its database');
    const raw = new RawStatement<Row>(this.#host, this.#handle, sql, this.#onError);
    this.#open.add(raw);
    return raw;
  }

  release(raw: { finalize(): void }): void {
    raw.finalize();
    this.#open.delete(raw);
  }

  /** Frees all statements. From here on none can be prepared. */
  finalize(): void {
    this.#isClosed = true;
    for (const statement of this.#open) statement.finalize();
  }
}

export type Control = ReturnType<typeof prepareControl>;

/** Prepares the statements that begin and end groups, and the members within them. */
export function prepareControl(prepare: (sql: string) => RawStatement) {
  const begin = prepare('BEGIN IMMEDIATE');
  const rollback = prepare('ROLLBACK');
  const release = prepare('RELEASE member');
  const back = prepare('ROLLBACK TO member');
  return {
    begin,
    commit: prepare('COMMIT'),
    rollback,
    savepoint: prepare('SAVEPOINT member'),
    release,
    writeSeq: prepare('UPDATE sequence SET last_seq = ? WHERE id = 1'),
    /** Rolls back a member, or the group if it is the first. Returns false if SQLite has rolled back the group. */
    takeBack(isFirst: boolean): boolean {
      try {
        (isFirst ? rollback : back).run();
        (isFirst ? begin : release).run();
        return true;
      } catch {
        return false;
      }
    },
  };
}
