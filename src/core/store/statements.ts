import { AppError } from '../../api/errors.ts';
import type { HostedSqlite } from './host/sqlite.ts';
import { RawStatement, type SqliteError, type SqlValue } from './raw-statement.ts';
import { Statement } from './statement.ts';

/** The prepared statements of a database. */
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

  /** Returns a statement that is prepared when it first runs, and lives until it is disposed. */
  checked<Row extends readonly SqlValue[]>(sql: string): Statement<Row> {
    const release = (raw: RawStatement<Row>) => {
      raw.finalize();
      this.#open.delete(raw);
    };
    return new Statement(() => this.raw<Row>(sql), release, sql);
  }

  /** Frees all statements. From here on none can be prepared. */
  finalize(): void {
    this.#isClosed = true;
    for (const statement of this.#open) statement.finalize();
  }
}
