import path from 'node:path';
import { AppError } from '../../api/errors.ts';
import { type Connection, openConnection } from './connection.ts';
import { openReadOnly } from './read-only.ts';
import { RawStatement, type SqlValue } from './raw-statement.ts';

/**
 * A database of its own beside the store, for what can be made again from the store: it promises nothing after a power
 * loss, so no write of it waits for the disk. It outlives a killed process. Its statements run at once, on no `Writer`.
 * Everything throws `SqliteError`.
 */
export class SideFile {
  readonly #connection: Connection;
  readonly #statements = new Map<string, RawStatement>();
  readonly exec: (sql: string) => void;
  #isClosed = false;

  /** Opens the file `name` of the data directory, which only this process uses. */
  static async open(options: {
    directory: string;
    name: string;
    wasm: () => Uint8Array;
  }): Promise<SideFile> {
    const connection = await openConnection(options, options.name);
    try {
      const file = new SideFile(connection);
      file.#configure();
      return file;
    } catch (error) {
      connection[Symbol.dispose]();
      throw error;
    }
  }

  /** Opens the file `name` of a directory, and never changes it; another process may use it. */
  static async openReadOnly(options: {
    directory: string;
    name: string;
    wasm: () => Uint8Array;
  }): Promise<SideFile> {
    const { directory, name, wasm } = options;
    return new SideFile(await openReadOnly(path.join(directory, name), wasm));
  }

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.exec = connection.sql.exec;
  }

  #configure(): void {
    if (this.all<[number]>('PRAGMA page_count')[0]?.[0] === 0)
      this.exec('PRAGMA auto_vacuum = INCREMENTAL');
    this.exec('PRAGMA journal_mode = WAL');
    this.exec('PRAGMA synchronous = OFF');
    this.exec('PRAGMA journal_size_limit = 4194304');
    this.exec('PRAGMA cache_size = -8000');
    this.exec('PRAGMA temp_store = MEMORY');
  }

  run(sql: string, ...values: SqlValue[]): number {
    return this.#prepared(sql).run(...values);
  }

  all<Row extends readonly SqlValue[]>(sql: string, ...values: SqlValue[]): Row[] {
    return this.#prepared(sql).all(...values) as unknown as Row[];
  }

  /** Runs `fn` as one transaction: if it throws, none of its rows is written. */
  transact(fn: () => void): void {
    this.run('BEGIN');
    try {
      fn();
      this.run('COMMIT');
    } catch (error) {
      try {
        this.exec('ROLLBACK');
      } catch {
        // SQLite has rolled it back already.
      }
      throw error;
    }
  }

  /** Drops a table with the statements that use it. */
  drop(table: string): void {
    for (const [sql, statement] of this.#statements) {
      if (!sql.includes(table)) continue;
      statement.finalize();
      this.#statements.delete(sql);
    }
    this.exec(`DROP TABLE IF EXISTS ${table}`);
  }

  /** Writes everything to the disk and closes the file. */
  close(): void {
    try {
      this.exec('PRAGMA synchronous = FULL');
      this.all('PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.abandon();
    }
  }

  /** Closes the file as it is. */
  abandon(): void {
    this.#isClosed = true;
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.#connection[Symbol.dispose]();
  }

  #prepared(sql: string): RawStatement {
    if (this.#isClosed)
      throw new AppError(
        'shutting_down',
        'cannot use the search index, because its file is closed',
      );
    let statement = this.#statements.get(sql);
    if (!statement) {
      const { host, handle } = this.#connection;
      statement = new RawStatement(host, handle, sql, () => undefined);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** The files of a side file: SQLite's own names for what is beside it. */
export function sideFiles(directory: string, name: string): string[] {
  return ['', '-wal', '-shm', '-journal'].map((end) => path.join(directory, name + end));
}
