import { AppError } from '../../api/errors.ts';
import type { HostedSqlite } from './host/sqlite.ts';

/** The values that a column may hold. Booleans are stored as 0 and 1. */
export type SqlValue = string | number | null;

const SQLITE_ROW = 100;
const SQLITE_DONE = 101;
const SQLITE_NOMEM = 7;
const SQLITE_IOERR = 10;
const TYPE_TEXT = 3;
const TYPE_NULL = 5;
/** The size of a statement's buffer for texts, in bytes; a larger text gets a buffer of its own for the call. */
const SCRATCH_BYTES = 16 * 1024;

/** SQLite refused a statement; `code` is its result code. */
export class SqliteError extends Error {
  override readonly name = 'SqliteError';
  readonly code: number;

  constructor(code: number, message: string, cause?: unknown) {
    super(message, cause ? { cause } : {});
    this.code = code;
  }
}

export interface RowBytes {
  number(column: number): number;
  /** The UTF-8 bytes of a text in SQLite's memory, valid until another text is read. Throws SqliteError. */
  text(column: number): Buffer;
}

/**
 * A prepared statement, unchecked, over sql.js's raw exports. The wrapped API encodes text character by character and
 * allocates for every parameter, which costs more than SQLite's own insert.
 */
export class RawStatement<Row extends readonly SqlValue[] = SqlValue[]> {
  readonly #host: HostedSqlite;
  readonly #db: number;
  readonly #pointer: number;
  readonly #columns: number;
  readonly #scratch: number;
  readonly #onError: (error: SqliteError) => void;
  #isFinal = false;
  /** The number of parameters that have values. */
  #bound = 0;
  #rowBytes: RowBytes | undefined;

  constructor(host: HostedSqlite, db: number, sql: string, onError: (error: SqliteError) => void) {
    const { sqlite } = host;
    this.#host = host;
    this.#db = db;
    this.#onError = onError;
    const text = sqlite.stringToNewUTF8(sql);
    // SQLite writes the pointer of the statement there, before anything is bound there.
    this.#scratch = sqlite._malloc(SCRATCH_BYTES);
    const hasRoom = text !== 0 && this.#scratch !== 0;
    const code = hasRoom
      ? sqlite._sqlite3_prepare_v2(db, text, -1, this.#scratch, 0)
      : SQLITE_NOMEM;
    this.#pointer = hasRoom ? host.readInt32(this.#scratch) : 0;
    sqlite._free(text);
    if (code !== 0) {
      sqlite._free(this.#scratch);
      throw hasRoom
        ? sqliteError(host, db, code, sql)
        : new SqliteError(code, 'SQLite is out of memory');
    }
    this.#columns = sqlite._sqlite3_column_count(this.#pointer);
  }

  /** Runs it for its effect; returns the number of changed rows. */
  run(...values: SqlValue[]): number {
    this.#execute(values, () => false);
    return this.#host.sqlite._sqlite3_changes(this.#db);
  }

  /** Returns the first row, or undefined. */
  get(...values: SqlValue[]): Row | undefined {
    let found: Row | undefined;
    this.#execute(values, () => {
      found = this.#row();
      return false;
    });
    return found;
  }

  all(...values: SqlValue[]): Row[] {
    const rows: Row[] = [];
    this.#execute(values, () => {
      rows.push(this.#row());
      return true;
    });
    return rows;
  }

  /** Passes rows to `each` one by one until it returns false; for pages limited by bytes. */
  scan(values: SqlValue[], each: (row: Row) => boolean): void {
    this.#execute(values, () => each(this.#row()));
  }

  /**
   * Passes rows to `each` one by one until it returns false, without decoding them: `each` asks for the columns that it
   * needs, and the text that it got last is valid until it returns. It must not use the store.
   */
  scanBytes(values: SqlValue[], each: (row: RowBytes) => boolean): void {
    this.#rowBytes ??= {
      number: (column) => this.#host.sqlite._sqlite3_column_double(this.#pointer, column),
      text: (column) => this.#bytes(column),
    };
    const row = this.#rowBytes;
    this.#execute(values, () => each(row));
  }

  /** Frees the statement. SQLite may reuse its memory for another database, so from here on it refuses to run. */
  finalize(): void {
    if (this.#isFinal) return;
    this.#isFinal = true;
    this.#host.sqlite._sqlite3_finalize(this.#pointer);
    this.#host.sqlite._free(this.#scratch);
  }

  #execute(values: SqlValue[], onRow: () => boolean): void {
    if (this.#isFinal)
      throw new AppError('shutting_down', 'the server is stopping and has closed its database');
    const { sqlite } = this.#host;
    const large = this.#bind(values);
    let code = 0;
    let failure: SqliteError | undefined;
    try {
      while ((code = sqlite._sqlite3_step(this.#pointer)) === SQLITE_ROW) if (!onRow()) break;
      if (code !== SQLITE_ROW && code !== SQLITE_DONE)
        failure = sqliteError(this.#host, this.#db, code);
    } finally {
      sqlite._sqlite3_reset(this.#pointer);
      if (large) sqlite._free(large);
    }
    if (!failure) return;
    this.#onError(failure);
    throw failure;
  }

  /** Binds the values; returns a buffer to free after the call, or 0. */
  #bind(values: SqlValue[]): number {
    const { sqlite } = this.#host;
    let need = 0;
    for (const value of values) if (typeof value === 'string') need += value.length * 3;
    const large = need > SCRATCH_BYTES ? sqlite._malloc(need) : 0;
    if (need > SCRATCH_BYTES && !large)
      throw new SqliteError(SQLITE_NOMEM, 'SQLite is out of memory');
    const capacity = large ? need : SCRATCH_BYTES;
    const start = large || this.#scratch;
    // This must follow the allocation, because growing the memory detaches earlier views of it.
    const memory = this.#host.memory();
    let at = start;
    // The parameters of the last call are overwritten, with NULL (a text without an address) where this call has fewer.
    // After sqlite3_clear_bindings, SQLite would prepare many statements again, which takes longer than to run them.
    for (let i = 0; i < Math.max(values.length, this.#bound); i++) {
      const value = values[i] ?? null;
      if (value === null) {
        sqlite._sqlite3_bind_text(this.#pointer, i + 1, 0, 0, 0);
      } else if (typeof value === 'string') {
        const bytes = memory.write(value, at, capacity - (at - start), 'utf8');
        sqlite._sqlite3_bind_text(this.#pointer, i + 1, at, bytes, 0);
        at += bytes;
      } else if (value === (value | 0)) {
        sqlite._sqlite3_bind_int(this.#pointer, i + 1, value);
      } else {
        // Past 32 bits only a double can be bound; INTEGER columns turn it back, exact up to 2^53.
        sqlite._sqlite3_bind_double(this.#pointer, i + 1, value);
      }
    }
    this.#bound = values.length;
    return large;
  }

  #row(): Row {
    const { sqlite } = this.#host;
    const row: SqlValue[] = Array.from({ length: this.#columns });
    for (let i = 0; i < this.#columns; i++) {
      const type = sqlite._sqlite3_column_type(this.#pointer, i);
      if (type === TYPE_NULL) row[i] = null;
      else if (type === TYPE_TEXT) row[i] = this.#text(i);
      else row[i] = sqlite._sqlite3_column_double(this.#pointer, i);
    }
    return row as unknown as Row;
  }

  #text(column: number): string {
    return this.#bytes(column).toString('utf8');
  }

  #bytes(column: number): Buffer {
    const { sqlite } = this.#host;
    const at = sqlite._sqlite3_column_text(this.#pointer, column);
    // SQLite returned no text although there is one: its page could not be read, or memory ran out.
    if (at === 0) throw sqliteError(this.#host, this.#db, SQLITE_IOERR);
    const bytes = sqlite._sqlite3_column_bytes(this.#pointer, column);
    return this.#host.memory().subarray(at, at + bytes);
  }
}

/** Returns the error of a failed call, with SQLite's own message and, if a file operation failed, the system's. */
export function sqliteError(host: HostedSqlite, db: number, code: number, sql = ''): SqliteError {
  const message = host.sqlite.UTF8ToString(host.sqlite._sqlite3_errmsg(db));
  const cause = host.takeError();
  const detail = [message, sql && `in: ${sql}`, cause?.message].filter(Boolean).join('; ');
  return new SqliteError(code, detail, cause);
}
