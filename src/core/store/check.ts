import nodeFs from 'node:fs';
import { checksum } from './corruption-log.ts';
import type { Connection } from './connection.ts';
import { yieldToEventLoop } from '../lib/slices.ts';
import { assertKnownFormat } from './migrate.ts';
import { RawStatement, SqliteError, type SqlValue } from './raw-statement.ts';
import { openReadOnly } from './read-only.ts';
import { asReadError, damagedError } from './storage-error.ts';

export interface Corruption {
  table: string | null;
  row: string | number | null;
  /** Problem of the row, and its solution. */
  problem: string;
}

export interface CheckReport {
  bytes: number;
  /** The tables whose rows have checksums. */
  tables: { name: string; rows: number }[];
  damage: Corruption[];
}

export type CheckProgress = (table: string, rows: number) => void;

const STEP_ROWS = 2000;
/** At most this many findings of one kind are reported. */
const MAX_REPORTED = 100;
const RESTORE = 'stop the server and restore a backup';

/**
 * Checks all of a closed store: the structure of its file, the checksum of every row, and the references between rows.
 * Nothing is written. Throws AppError for a file that is not a store, or is of a newer version.
 */
export async function checkStore(options: {
  file: string;
  wasm: () => Uint8Array;
  version: string;
  signal: AbortSignal;
  onProgress: CheckProgress;
  /** Remedy for a damaged file (default: restore a backup). */
  remedy?: string | undefined;
}): Promise<CheckReport> {
  const { file, wasm, version, signal, onProgress, remedy = RESTORE } = options;
  const { size } = nodeFs.statSync(file);
  if (size === 0) throw damagedError(`the file ${file} is empty: ${remedy}`);
  using connection = await openReadOnly(file, wasm);
  const check = new Check(connection, remedy);
  check.open(file, version);
  onProgress('structure', 0);
  await yieldToEventLoop();
  check.structure();
  const tables = [];
  for (const name of check.checkedTables()) {
    const rows = await check.rows(name, signal, (count) => onProgress(name, count));
    tables.push({ name, rows });
  }
  check.relations();
  return { bytes: size, tables, damage: check.corruptions };
}

type RecordRow = [key: number, id: SqlValue, record: SqlValue, sum: number];

/** One check of a store; its findings are in `corruptions`. */
class Check {
  readonly corruptions: Corruption[] = [];
  readonly #connection: Connection;
  readonly #remedy: string;
  /** Whether a page or a row could not be read. */
  #isTorn = false;

  constructor(connection: Connection, remedy: string) {
    this.#connection = connection;
    this.#remedy = remedy;
  }

  /** Throws AppError for a file that is not a store, or is of a newer version. */
  open(file: string, version: string): void {
    const { sql } = this.#connection;
    try {
      const found = sql.one(
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'sequence', 'events', 'deltas')",
      );
      if (found?.[0] !== 4)
        throw damagedError(
          `the file ${file} is not a database of cadre: name a file such as events.cadre`,
        );
      assertKnownFormat(sql, version);
    } catch (error) {
      throw asReadError(error, file, this.#remedy);
    }
  }

  structure(): void {
    // Row by row, because a later row may fail.
    this.#try(null, () =>
      this.#scan(`PRAGMA integrity_check(${MAX_REPORTED})`, ([text]) => {
        for (const line of faultsIn(String(text)))
          this.#report(this.#tableIn(line), /^row (\d+) /.exec(line)?.[1] ?? null, line);
      }),
    );
    this.#try(null, () => this.#readIndexes());
  }

  /** Reads an entry of each index: the check of SQLite does not notice if the page of an empty index is one of a table. */
  #readIndexes(): void {
    const all: [name: string, table: string, sql: string | null][] = [];
    const query = "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index'";
    this.#scan(query, (row) => all.push(row as (typeof all)[number]));
    for (const [name, table, sql] of all) {
      const condition = / WHERE (.*)$/s.exec(sql ?? '')?.[1] ?? 'TRUE';
      const entry = `SELECT 1 FROM "${table}" INDEXED BY "${name}" WHERE ${condition} LIMIT 1`;
      this.#try(table, () => void this.#connection.sql.one(entry));
    }
  }

  /** The tables that hold records with a checksum. */
  checkedTables(): string[] {
    const names: string[] = [];
    this.#scan(
      `SELECT name FROM sqlite_schema AS one WHERE type = 'table' AND 2 = (
         SELECT count(*) FROM pragma_table_info(one.name) WHERE name IN ('record', 'sum')
       ) ORDER BY name`,
      ([name]) => names.push(String(name)),
    );
    return names;
  }

  /** Compares every row of a table with its checksum; returns the number of rows. */
  async rows(table: string, signal: AbortSignal, onRows: (count: number) => void): Promise<number> {
    const isLog = ['events', 'deltas'].includes(table);
    const key = isLog ? 'seq' : 'n';
    const query = this.#prepare<RecordRow>(
      `SELECT ${key}, ${isLog ? 'seq' : 'id'}, record, sum FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ?`,
    );
    let count = 0;
    let faults = 0;
    let last = -1;
    let isInOrder = true;
    try {
      for (let isOver = false; !isOver;) {
        signal.throwIfAborted();
        const before = count;
        const isRead = this.#try(table, () => {
          query.scan([last, STEP_ROWS], (row) => {
            // A page that is reached twice has its rows twice, and may even contain itself.
            isInOrder = row[0] > last;
            if (!isInOrder) {
              this.#report(table, row[0], 'the row was found out of order');
              return false;
            }
            last = row[0];
            count++;
            const fault = faultOf(table, row);
            if (fault !== null && faults++ < MAX_REPORTED) this.#report(table, row[0], fault);
            return true;
          });
        });
        isOver = !isRead || !isInOrder || count - before < STEP_ROWS;
        onRows(count);
        await yieldToEventLoop();
      }
    } finally {
      query.finalize();
    }
    if (faults > MAX_REPORTED)
      this.#report(table, null, `${faults - MAX_REPORTED} more rows are corrupt`);
    return count;
  }

  /** Checks the references between rows; skipped if some rows cannot be read. */
  relations(): void {
    if (this.#isTorn) return;
    const [last] = this.#connection.sql.one('SELECT last_seq FROM sequence WHERE id = 1') ?? [];
    if (!Number.isSafeInteger(last))
      this.#report('sequence', null, 'the last sequence number cannot be read');
    this.#each(
      'events',
      `SELECT seq FROM (SELECT seq FROM events UNION ALL SELECT seq FROM deltas)
       WHERE seq > (SELECT last_seq FROM sequence)`,
      'the sequence number is greater than the last one of the sequence',
    );
    this.#each(
      'deltas',
      'SELECT seq FROM deltas WHERE seq IN (SELECT seq FROM events)',
      'an event has the same sequence number',
    );
    this.#each(
      'sessions',
      `SELECT n FROM sessions WHERE active_turn_id IS NOT NULL
       AND active_turn_id NOT IN (SELECT id FROM turns)`,
      'the active turn does not exist',
    );
  }

  #each(table: string, sql: string, problem: string): void {
    this.#try(table, () =>
      this.#scan(`${sql} LIMIT ${MAX_REPORTED}`, ([row]) =>
        this.#report(table, Number(row), problem),
      ),
    );
  }

  /** Runs a check; an error of SQLite is a finding, too. */
  #try(table: string | null, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (!(error instanceof SqliteError)) throw error;
      this.#isTorn = true;
      this.#report(table, null, `some rows cannot be read (${error.message})`);
      return false;
    }
  }

  #report(table: string | null, row: string | number | null, problem: string): void {
    this.corruptions.push({ table, row, problem: `${problem}: ${this.#remedy}` });
  }

  /** The table that a message of SQLite names by its root page or its index. */
  #tableIn(line: string): string | null {
    const [, tree, index] = /^Tree (\d+) | index (\S+)$/.exec(line) ?? [];
    const found = this.#connection.sql.one(
      'SELECT tbl_name FROM sqlite_schema WHERE rootpage = ? OR name = ?',
      Number(tree ?? -1),
      index ?? null,
    );
    return found ? String(found[0]) : null;
  }

  #scan(sql: string, each: (row: SqlValue[]) => void): void {
    const query = this.#prepare<SqlValue[]>(sql);
    try {
      query.scan([], (row) => {
        each(row);
        return true;
      });
    } finally {
      query.finalize();
    }
  }

  #prepare<Row extends readonly SqlValue[]>(sql: string): RawStatement<Row> {
    const { host, handle } = this.#connection;
    return new RawStatement<Row>(host, handle, sql, () => undefined);
  }
}

/** SQLite's own findings, without its headings. */
function faultsIn(text: string): string[] {
  return text.split('\n').filter((line) => !/^(ok$|\*\*\*)/.test(line));
}

/** Returns the problem of a row, or null. */
function faultOf(table: string, [key, id, record, sum]: RecordRow): string | null {
  if (typeof record !== 'string') return 'the record is not text';
  const seed = typeof id === 'string' ? checksum(id) : key;
  if (checksum(record, seed) !== sum) return 'the row differs from what was written';
  // The checksum is right, so the row holds what was written.
  const fields = JSON.parse(record) as Record<string, unknown>;
  const own = typeof id === 'number' ? fields.seq : idIn(fields, table);
  // An id that is composed of other ids has no field of its own.
  return own === undefined || own === id ? null : `the record has the id ${JSON.stringify(own)}`;
}

/** Tables with at most one row for a session. The id of a row is the id of its session. */
const tablesBySession = new Set(['goals', 'imports', 'session_mcp_servers', 'watches']);

/** Returns the id that a record has for its row. In `processes`, it is the field `id` or `process_id`. */
function idIn(fields: Record<string, unknown>, table: string): unknown {
  if (tablesBySession.has(table)) return fields.session_id;
  return fields.id ?? fields[`${table.replace(/(ss)es$|s$/, '$1')}_id`];
}
