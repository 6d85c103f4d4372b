import path from 'node:path';
import { AppError } from '../../api/errors.ts';
import { openHandle, sqlTools } from './connection.ts';
import { type HostedSqlite, loadHostedSqlite } from './host/sqlite.ts';
import { openReadOnly } from './read-only.ts';
import { RawStatement, type SqlValue } from './raw-statement.ts';

/**
 * A database of its own beside the store, for what can be made again from the store: it promises nothing after a power
 * loss, so no write of it waits for the disk. It outlives a killed process. Its statements run at once, on no `Writer`.
 * Everything throws `SqliteError`.
 */
export class SideFile {
  readonly #host: HostedSqlite;
  readonly #handle: number;
  readonly #statements = new Map<string, RawStatement>();
  readonly exec: (sql: string) => void;
  #isClosed = false;

  /** Opens the file `name` of the data directory, which only this process uses. */
  static async open(options: {
    directory: string;
    name: string;
    wasm: () => Uint8Array;
  }): Promise<SideFile> {
    const { directory, name, wasm } = options;
    const host = await loadHostedSqlite({ wasm, directory });
    const handle = openHandle(host, name);
    try {
      const file = new SideFile(host, handle);
      file.#configure();
      return file;
    } catch (error) {
      host.sqlite._sqlite3_close_v2(handle);
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
    const { host, handle } = await openReadOnly(path.join(directory, name), wasm);
    const file = new SideFile(host, handle);
    file.exec('PRAGMA locking_mode = EXCLUSIVE');
    return file;
  }

  private constructor(host: HostedSqlite, handle: number) {
    this.#host = host;
    this.#handle = handle;
    this.exec = sqlTools(host, handle).exec;
  }

  #configure(): void {
    this.exec('PRAGMA locking_mode = EXCLUSIVE');
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
    this.#host.sqlite._sqlite3_close_v2(this.#handle);
  }

  #prepared(sql: string): RawStatement {
    if (this.#isClosed)
      throw new AppError(
        'shutting_down',
        'cannot use the search index, because its file is closed',
      );
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = new RawStatement(this.#host, this.#handle, sql, () => undefined);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** The files of a side file: SQLite's own names for what is beside it. */
export function sideFiles(directory: string, name: string): string[] {
  return ['', '-wal', '-shm', '-journal'].map((end) => path.join(directory, name + end));
}
