/** The raw exports of sql.js that the store uses. */
export interface RawSqlite {
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  stringToNewUTF8(text: string): number;
  UTF8ToString(pointer: number): string;
  _sqlite3_open(name: number, handle: number): number;
  _sqlite3_close_v2(db: number): number;
  _sqlite3_exec(db: number, sql: number, callback: number, arg: number, error: number): number;
  _sqlite3_errmsg(db: number): number;
  _sqlite3_prepare_v2(db: number, sql: number, bytes: number, out: number, tail: number): number;
  _sqlite3_step(statement: number): number;
  _sqlite3_reset(statement: number): number;
  _sqlite3_finalize(statement: number): number;
  _sqlite3_changes(db: number): number;
  _sqlite3_clear_bindings(statement: number): number;
  _sqlite3_bind_text(st: number, i: number, text: number, bytes: number, destroy: number): number;
  _sqlite3_bind_int(st: number, i: number, value: number): number;
  _sqlite3_bind_double(st: number, i: number, value: number): number;
  _sqlite3_column_count(statement: number): number;
  _sqlite3_column_type(statement: number, column: number): number;
  _sqlite3_column_double(statement: number, column: number): number;
  _sqlite3_column_text(statement: number, column: number): number;
  _sqlite3_column_bytes(statement: number, column: number): number;
}
