import { isAppError } from '../../api/errors.ts';
import { checksum } from './corruption-log.ts';
import type { Database } from './database.ts';
import { SqliteError, type SqlValue } from './raw-statement.ts';
import type { Statement } from './statement.ts';
import type { Reader } from './transaction.ts';

/** Something that a check has found, at most one of each index and table. */
export interface IndexFault {
  table: string;
  /** The index; null if the table itself is damaged. */
  index: string | null;
  problem: string;
}

/** How far a check has come: up to a row of a table. */
export interface CheckPosition {
  table: string;
  row: number;
}

/** A slice ends after so many rows, or so many bytes of records. */
const SLICE_ROWS = 64;
const SLICE_BYTES = 64 * 1024;
/** The number of entries of an index that one slice compares with the table. */
const SLICE_ENTRIES = 128;

interface Table {
  name: string;
  /** The column that is the number of the row. */
  rowid: string | null;
  /** The columns that cannot be null. */
  required: ReadonlySet<string>;
  /** The column that the checksum of a row begins with; null if the rows have no checksum. */
  seed: string | null;
  indexes: IndexKey[];
}

/**
 * Compares every table with its indexes, in slices of about a millisecond: each row has to be in each index, and each
 * entry of an index that has all rows has to have its row. The rows have to be in order and as they were written. Yields after
 * each slice; `from` is the position to begin at. Throws `shutting_down` if the database is closed meanwhile.
 */
export async function* checkIndexes(
  db: Database,
  from: CheckPosition | null,
  onFault: (fault: IndexFault) => void,
): AsyncGenerator<CheckPosition, void> {
  const tables = await db.read((rx) => tablesOf(db, rx));
  const first = Math.max(
    0,
    tables.findIndex(({ name }) => name === from?.table),
  );
  for (const table of [...tables.slice(first), ...tables.slice(0, first)]) {
    const row = table.name === from?.table ? from.row : Number.MIN_SAFE_INTEGER;
    const check = new TableCheck(db, table, onFault);
    yield* check.run(row);
  }
}

class TableCheck {
  readonly #db: Database;
  readonly #table: Table;
  readonly #onFault: (fault: IndexFault) => void;
  readonly #faulty = new Set<string | null>();
  #row = 0;

  constructor(db: Database, table: Table, onFault: (fault: IndexFault) => void) {
    this.#db = db;
    this.#table = table;
    this.#onFault = onFault;
  }

  async *run(from: number): AsyncGenerator<CheckPosition, void> {
    this.#row = from;
    yield* this.#guarded(null, this.#rows());
    for (const { name, columns, condition } of this.#table.indexes) {
      const [column, ...others] = columns.filter((one) => one !== this.#table.rowid);
      const isComplete = condition === null && column && this.#table.required.has(column);
      if (isComplete && others.length === 0)
        return yield* this.#guarded(name, this.#entries(name, column));
    }
  }

  /** Passes the slices of a part of the check on. A part that cannot be read is a fault. */
  async *#guarded(
    index: string | null,
    slices: AsyncGenerator<void, void>,
  ): AsyncGenerator<CheckPosition, void> {
    try {
      for await (const _ of slices) yield { table: this.#table.name, row: this.#row };
    } catch (error) {
      const isDamage = isAppError(error, 'storage_damaged');
      if (!isDamage && !(error instanceof SqliteError)) throw error;
      this.#fault(index, `cannot be read: ${error.message}`);
    }
  }

  /** Goes through the rows of the table, and looks each up in each index. */
  async *#rows(): AsyncGenerator<void, void> {
    const { name, seed, indexes } = this.#table;
    const statements: Disposable[] = [];
    using _statements = {
      [Symbol.dispose]() {
        for (const statement of statements) statement[Symbol.dispose]();
      },
    };
    const prepare = <Row extends readonly SqlValue[] = SqlValue[]>(sql: string) => {
      const statement = this.#db.prepare<Row>(sql);
      statements.push(statement);
      return statement;
    };
    const columns = seed === null ? 'rowid' : `rowid, sum, ${seed}, record`;
    const rows = prepare(
      `SELECT ${columns} FROM ${name} NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT ${SLICE_ROWS}`,
    );
    const before = prepare<[number]>(
      `SELECT rowid FROM ${name} NOT INDEXED WHERE rowid < ? ORDER BY rowid DESC LIMIT 1`,
    );
    const lookups = indexes.map((index) => ({
      index,
      lost: prepare<[number]>(lostRow(name, index)),
    }));
    // Rows that are added meanwhile are the next check's, or this one would never end.
    const newest = prepare<[number | null]>(`SELECT max(rowid) FROM ${name}`);
    const until = (await this.#db.read((rx) => newest.get(rx)?.[0])) ?? Number.MIN_SAFE_INTEGER;
    for (;;) {
      const start = this.#row;
      const end = await this.#db.read((rx) => this.#slice(rx, start, { rows, before }));
      yield;
      if (end === null) return;
      for (const { index, lost } of lookups) {
        const row = await this.#db.read((rx) => lost.get(rx, start, end)?.[0]);
        if (row !== undefined) this.#fault(index.name, `does not contain row ${row}`);
        yield;
      }
      this.#row = end;
      if (end >= until) return;
    }
  }

  /** Reads the rows of a slice, which begins after `start`. Returns its last row; null after the last one. */
  #slice(
    rx: Reader,
    start: number,
    { rows, before }: { rows: Statement; before: Statement<[number]> },
  ): number | null {
    const { seed } = this.#table;
    let first: number | null = null;
    let last = start;
    let bytes = 0;
    rows.scanBytes(rx, [start], (row) => {
      const rowid = row.number(0);
      if (rowid <= last) this.#fault(null, `has row ${rowid} behind row ${last}`);
      first ??= rowid;
      last = Math.max(last, rowid);
      if (seed === null) return true;
      const sum = row.number(1);
      const begin = seed === 'rowid' ? rowid : checksum(row.text(2));
      const record = row.text(3);
      bytes += record.length;
      if (checksum(record, begin) !== sum) this.#fault(null, `has a damaged row: ${rowid}`);
      return bytes < SLICE_BYTES;
    });
    // A search from the end takes another way through the tree, so it finds what a wrong key or page has hidden.
    const newestBelow = (row: number) => before.get(rx, row)?.[0] ?? Number.MIN_SAFE_INTEGER;
    if (newestBelow(first ?? Number.MAX_SAFE_INTEGER) > start)
      this.#fault(null, `hides rows behind row ${start}`);
    if (first !== null && newestBelow(last + 1) !== last)
      this.#fault(null, `hides rows behind row ${last}`);
    return first === null ? null : last;
  }

  /** Goes through an index that has all rows in the order of one column, and looks each entry's row up in the table. */
  async *#entries(index: string, column: string): AsyncGenerator<void, void> {
    const { name } = this.#table;
    const prepare = (condition: string) =>
      this.#db.prepare<[number, SqlValue, number]>(
        `SELECT EXISTS (
           SELECT 1 FROM ${name} AS t NOT INDEXED WHERE t.rowid = i.rowid AND t.${column} IS i.${column}
         ), i.${column}, i.rowid FROM ${name} AS i INDEXED BY ${index} WHERE ${condition}
         ORDER BY i.${column}, i.rowid LIMIT ${SLICE_ENTRIES}`,
      );
    using begin = prepare('TRUE');
    using sameValue = prepare(`i.${column} = ? AND i.rowid > ?`);
    using nextValue = prepare(`i.${column} > ?`);
    let last: [SqlValue, number] | null = null;
    for (let statement = begin; ;) {
      const from: SqlValue[] = last === null ? [] : statement === sameValue ? last : [last[0]];
      const current = statement;
      const entries = await this.#db.read((rx) => current.all(rx, ...from));
      for (const [hasRow, value, row] of entries) {
        if (last !== null && !isAfter([value, row], last))
          return this.#fault(index, 'is out of order');
        last = [value, row];
        if (hasRow !== 1) this.#fault(index, `has an entry without its row: ${row}`);
      }
      yield;
      if (entries.length === 0 && statement !== sameValue) return;
      statement = entries.length < SLICE_ENTRIES && statement === sameValue ? nextValue : sameValue;
    }
  }

  #fault(index: string | null, problem: string): void {
    if (this.#faulty.has(index)) return;
    this.#faulty.add(index);
    this.#onFault({ table: this.#table.name, index, problem });
  }
}

/** The query for a row of a range that an index lacks. */
function lostRow(table: string, { name, columns, condition }: IndexKey): string {
  const values = columns.map((column, i) => `(${column}) AS k${i}`);
  const isSame = columns.map((column, i) => `(${column}) IS o.k${i}`);
  const where = condition === null ? '' : ` AND (${condition})`;
  return `SELECT r FROM (
      SELECT rowid AS r, ${values.join(', ')} FROM ${table} NOT INDEXED WHERE rowid > ? AND rowid <= ?${where}
    ) AS o WHERE NOT EXISTS (
      SELECT 1 FROM ${table} INDEXED BY ${name} WHERE ${isSame.join(' AND ')}${where} AND ${table}.rowid = o.r
    ) LIMIT 1`;
}

/** The tables that have rows with numbers, and indexes. */
function tablesOf(db: Database, rx: Reader): Table[] {
  using names = db.prepare<[string]>(
    `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0
     AND name NOT LIKE 'sqlite_%' ORDER BY name`,
  );
  using columnsOf = db.prepare<[string, number]>(
    'SELECT name, "notnull" FROM pragma_table_xinfo(?)',
  );
  using indexesOf = db.prepare<[string, string | null]>(
    `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? ORDER BY name`,
  );
  using keyOf = db.prepare<[string]>(
    'SELECT name FROM pragma_index_xinfo(?) WHERE key = 1 AND cid >= 0 ORDER BY seqno',
  );
  return names.all(rx).flatMap(([name]) => {
    const columns = columnsOf.all(rx, name);
    const has = (wanted: string) => columns.some(([column]) => column === wanted);
    const seed = has('seq') ? 'rowid' : 'id';
    const required = columns.flatMap(([column, isRequired]) => (isRequired ? [column] : []));
    const indexes = indexesOf.all(rx, name).map(([index, sql]) =>
      sql === null
        ? {
            name: index,
            columns: keyOf.all(rx, index).map(([column]) => column),
            condition: null,
          }
        : indexKey(index, sql),
    );
    if (indexes.length === 0) return [];
    return [
      {
        name,
        rowid: ['seq', 'n'].find(has) ?? null,
        required: new Set(required),
        seed: has('record') && has('sum') ? seed : null,
        indexes,
      },
    ];
  });
}

function isAfter(key: readonly SqlValue[], other: readonly SqlValue[]): boolean {
  for (const [i, value] of key.entries()) {
    const order = compare(value, other[i] ?? null);
    if (order !== 0) return order > 0;
  }
  return false;
}

/** Compares two values in SQLite's order: numbers before texts, texts by their bytes. */
function compare(one: SqlValue, other: SqlValue): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (typeof one === 'string' && typeof other === 'string')
    return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return typeof one === 'number' ? -1 : 1;
}

interface IndexKey {
  name: string;
  /** Columns, or expressions. */
  columns: string[];
  /** The condition of a partial index; null if the index has all rows. */
  condition: string | null;
}

/** Reads the key of an index from the statement that created it. */
function indexKey(name: string, sql: string): IndexKey {
  const begin = sql.indexOf('(') + 1;
  const columns: string[] = [];
  let start = begin;
  let depth = 1;
  let at = begin;
  for (let isText = false; depth > 0 && at < sql.length; at++) {
    const char = sql[at];
    if (char === "'") isText = !isText;
    if (isText) continue;
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (depth > 1 || (char !== ',' && depth > 0)) continue;
    columns.push(sql.slice(start, at).trim());
    start = at + 1;
  }
  const [, condition = null] = /^\s*WHERE\s+([\s\S]+)$/i.exec(sql.slice(at)) ?? [];
  return { name, columns, condition };
}
