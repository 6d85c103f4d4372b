import { isAppError, notFoundError } from '../../api/errors.ts';
import type { Database } from './database.ts';
import { checksum } from './corruption-log.ts';
import type { SqlValue } from './raw-statement.ts';
import type { Statement } from './statement.ts';
import { assertReader, type Reader, type Writer } from './transaction.ts';

/** Damage may have made anything of the texts of a row. */
type Row = [n: number, id: SqlValue, record: SqlValue, sum: number];

/** A page of records, newest first, with the cursor of the next page (null at the end). */
export interface RecordPage<T> {
  records: T[];
  nextCursor: string | null;
}

/** The records of intact rows, oldest first, and the ids of damaged rows. */
export interface IntactRows<T> {
  records: T[];
  damaged: string[];
}

/** The maximum size of a page, in bytes; it may end before its limit of records is reached. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** The maximum number of records that a table keeps in memory, and the maximum length of each as JSON. */
const MAX_KEPT = 256;
const MAX_KEPT_CHARACTERS = 16 * 1024;

interface RecordTableOptions {
  /** Whether the newest records are kept in memory, for a table that each turn reads again. */
  keeps?: boolean;
}

/**
 * One table of records: the wire's own JSON under an id, verified on every read from the database. Each write belongs in a
 * transaction with its event. A record must not be changed after it was written or read.
 */
export class RecordTable<T extends object> {
  readonly #db: Database;
  readonly #table: string;
  readonly #idOf: (record: T) => string;
  /** Records as the database has them now, with the open group. Null if the table keeps none. */
  readonly #kept: Map<string, T> | null;
  readonly #insert: Statement;
  readonly #update: Statement;
  readonly #get: Statement<Row>;
  readonly #queries = new Map<string, Statement<Row>>();
  readonly #deletes = new Map<string, Statement>();

  constructor(
    db: Database,
    table: string,
    idOf: (record: T) => string,
    { keeps = false }: RecordTableOptions = {},
  ) {
    this.#db = db;
    this.#table = table;
    this.#idOf = idOf;
    this.#kept = keeps ? new Map() : null;
    this.#insert = db.prepare(`INSERT INTO ${table} (id, record, sum) VALUES (?, ?, ?)`);
    this.#update = db.prepare(`UPDATE ${table} SET record = ?, sum = ? WHERE id = ?`);
    this.#get = db.prepare(`SELECT n, id, record, sum FROM ${table} WHERE id = ?`);
  }

  insert(tx: Writer, record: T): void {
    const text = JSON.stringify(record);
    const id = this.#idOf(record);
    this.#insert.run(tx, id, text, checksum(text, checksum(id)));
    this.#keepWritten(tx, id, record, text);
  }

  update(tx: Writer, record: T): void {
    const text = JSON.stringify(record);
    const id = this.#idOf(record);
    if (this.#update.run(tx, text, checksum(text, checksum(id)), id) !== 1) {
      throw new Error(
        `cannot update row ${id} of table ${this.#table}, because the row does not exist`,
      );
    }
    this.#keepWritten(tx, id, record, text);
  }

  /** Writes a record in the place of the record with its id, if there is one. */
  put(tx: Writer, record: T): void {
    if (this.get(tx, this.#idOf(record))) this.update(tx, record);
    else this.insert(tx, record);
  }

  get(rx: Reader, id: string): T | undefined {
    assertReader(rx);
    const kept = this.#kept?.get(id);
    if (kept) return kept;
    const row = this.#get.get(rx, id);
    if (!row) return undefined;
    const record = this.#parse(row);
    this.#keep(id, record, String(row[2]));
    return record;
  }

  /** Like `get`. Throws `not_found`, with `noun` as the name of the record. */
  require(rx: Reader, id: string, noun: string): T {
    const record = this.get(rx, id);
    if (record) return record;
    throw notFoundError(`${noun} "${id}" not found`);
  }

  /** Returns all records, oldest first. For small tables. */
  all(rx: Reader): T[] {
    return this.where(rx, 'true');
  }

  /** Returns all matching records, oldest first. For sets that are small by nature, such as unfinished turns. */
  where(rx: Reader, condition: string, ...values: SqlValue[]): T[] {
    return this.#prepared(`WHERE ${condition} ORDER BY n`)
      .all(rx, ...values)
      .map((row) => this.#parse(row));
  }

  /** Like `where`, but does not throw for damaged rows, so that they stop no other row. */
  whereIntact(rx: Reader, condition: string, ...values: SqlValue[]): IntactRows<T> {
    const records: T[] = [];
    const damaged: string[] = [];
    for (const row of this.#prepared(`WHERE ${condition} ORDER BY n`).all(rx, ...values)) {
      const record = this.#intact(row);
      if (record) records.push(record);
      else damaged.push(String(row[1]));
    }
    return { records, damaged };
  }

  /** Returns the first `limit` matching records, in the order of the named index. */
  first(
    rx: Reader,
    { index, where, order }: { index: string; where: string; order: string },
    limit: number,
    ...values: SqlValue[]
  ): T[] {
    return this.#prepared(`INDEXED BY ${index} WHERE ${where} ORDER BY ${order} LIMIT ?`)
      .all(rx, ...values, limit)
      .map((row) => this.#parse(row));
  }

  /** Returns the first record that `isWanted`, in the order of the named index. Passes over damaged rows. */
  firstIntact(
    rx: Reader,
    { index, where, order }: { index: string; where: string; order: string },
    isWanted: (record: T) => boolean,
  ): T | undefined {
    let found: T | undefined;
    const query = this.#prepared(`INDEXED BY ${index} WHERE ${where} ORDER BY ${order}`);
    query.scan(rx, [], (row) => {
      const record = this.#intact(row);
      if (record && isWanted(record)) found = record;
      return found === undefined;
    });
    return found;
  }

  delete(tx: Writer, id: string): void {
    this.deleteWhere(tx, 'id = ?', id);
  }

  deleteWhere(tx: Writer, condition: string, ...values: SqlValue[]): void {
    let statement = this.#deletes.get(condition);
    if (!statement) {
      statement = this.#db.prepare(`DELETE FROM ${this.#table} WHERE ${condition}`);
      this.#deletes.set(condition, statement);
    }
    statement.run(tx, ...values);
    this.#kept?.clear();
  }

  /**
   * Returns a page of the records whose columns equal `filters`, newest first, from `cursor` on. An undefined filter
   * matches any value, an array each of its values.
   */
  page(
    rx: Reader,
    filters: Record<string, string | readonly string[] | undefined>,
    limit: number,
    cursor?: string,
  ): RecordPage<T> {
    const active = Object.entries(filters).filter(
      (entry): entry is [string, string | readonly string[]] => entry[1] !== undefined,
    );
    const conditions = active.map(([column, value]) =>
      typeof value === 'string' ? `${column} = ?` : `${column} IN (SELECT value FROM json_each(?))`,
    );
    conditions.push('n < ?');
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const query = this.#prepared(`WHERE ${conditions.join(' AND ')} ORDER BY n DESC LIMIT ?`);
    const records: T[] = [];
    let bytes = 0;
    let last = 0;
    let more = false;
    const values = active.map(([, value]) =>
      typeof value === 'string' ? value : JSON.stringify(value),
    );
    const filtered = active.flatMap(([column, value]) => {
      const field = fieldOf(column);
      return field === null ? [] : [[field, value] as const];
    });
    query.scan(rx, [...values, before, limit + 1], (row) => {
      bytes += typeof row[2] === 'string' ? Buffer.byteLength(row[2]) : 0;
      more = records.length === limit || (bytes > PAGE_BYTES && records.length > 0);
      if (more) return false;
      const record = this.#parse(row);
      this.#assertMatches(row[0], record, filtered);
      records.push(record);
      last = row[0];
      return true;
    });
    return { records, nextCursor: more ? String(last) : null };
  }

  /** Throws `storage_damaged` for a record that a damaged index has found under the value of another one. */
  #assertMatches(
    n: number,
    record: T,
    filters: readonly (readonly [string, string | readonly string[]])[],
  ): void {
    for (const [field, wanted] of filters) {
      // The checksum of a row contains its id.
      if (field === 'id') continue;
      const value = (record as Record<string, unknown>)[field];
      const isWanted =
        typeof wanted === 'string' ? value === wanted : wanted.includes(String(value));
      if (!isWanted)
        throw this.#db.damage.finding(this.#table, n, `was found under another ${field}`);
    }
  }

  #prepared(rest: string): Statement<Row> {
    let query = this.#queries.get(rest);
    if (!query) {
      query = this.#db.prepare<Row>(`SELECT n, id, record, sum FROM ${this.#table} ${rest}`);
      this.#queries.set(rest, query);
    }
    return query;
  }

  /** Keeps a record that was written. If its transaction is lost, the database has another one, or none. */
  #keepWritten(tx: Writer, id: string, record: T, text: string): void {
    const kept = this.#kept;
    if (!kept) return;
    this.#keep(id, record, text);
    tx.whenLost(() => kept.delete(id));
  }

  #keep(id: string, record: T, text: string): void {
    const kept = this.#kept;
    if (!kept) return;
    kept.delete(id);
    if (text.length > MAX_KEPT_CHARACTERS) return;
    const [oldest] = kept.size === MAX_KEPT ? kept.keys() : [];
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(id, Object.freeze(record));
  }

  /** Returns the record of a row; null if the row is damaged. */
  #intact(row: Row): T | null {
    try {
      return this.#parse(row);
    } catch (error) {
      if (isAppError(error, 'storage_damaged')) return null;
      throw error;
    }
  }

  #parse([n, id, text, sum]: Row): T {
    const { damage } = this.#db;
    if (typeof id !== 'string' || typeof text !== 'string')
      throw damage.finding(this.#table, n, 'differs from what was written');
    damage.verify(text, sum, { table: this.#table, row: n }, checksum(id));
    return JSON.parse(text) as T;
  }
}

/**
 * Returns the field of a record whose value a column, or an expression such as `record ->> '$.caller_id'`, has; null for
 * an expression that is computed from several fields.
 */
function fieldOf(column: string): string | null {
  if (/^\w+$/.test(column)) return column;
  return /^record ->> '\$\.(\w+)'$/.exec(column)?.[1] ?? null;
}
