import { yieldToEventLoop } from '../lib/slices.ts';
import type { Database } from './database.ts';
import type { SqlValue } from './raw-statement.ts';
import type { Statement } from './statement.ts';

/** The size of a table: its number of rows, and the bytes of text in them. */
export type TableSize = { name: string; rows: number; bytes: number };

type Step = [rows: number, bytes: number, last: SqlValue];

/** The number of rows that are read before yielding to the event loop. */
const STEP_ROWS = 500;

/** Counts every table of the store, row by row, yielding to the event loop in between. */
export class TableSizes {
  readonly #db: Database;
  readonly #tables: { name: string; first: Statement<Step>; next: Statement<Step> }[];

  constructor(db: Database) {
    this.#db = db;
    const names = db.prepare<[string]>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    );
    this.#tables = db.peek((rx) => names.all(rx)).map(([name]) => ({ name, ...stepsOf(db, name) }));
  }

  async measure(): Promise<TableSize[]> {
    const sizes: TableSize[] = [];
    for (const { name, first, next } of this.#tables) {
      const size = { name, rows: 0, bytes: 0 };
      let step = await this.#db.read((rx) => first.get(rx));
      while (step) {
        const [rows, bytes, last] = step;
        size.rows += rows;
        size.bytes += bytes;
        await yieldToEventLoop();
        step = rows < STEP_ROWS ? undefined : await this.#db.read((rx) => next.get(rx, last));
      }
      sizes.push(size);
    }
    return sizes;
  }
}

function stepsOf(db: Database, table: string): { first: Statement<Step>; next: Statement<Step> } {
  const info = db.prepare<[name: string, type: string, key: number]>(
    `SELECT name, type, pk FROM pragma_table_info('${table}')`,
  );
  const columns = db.peek((rx) => info.all(rx));
  const key = columns.find(([, , keyPosition]) => keyPosition === 1)?.[0] ?? 'rowid';
  // SQLite has the length in the row's header, so it need not read a long text.
  const lengths = columns
    .filter(([, type]) => type === 'TEXT')
    .map(([name]) => `coalesce(octet_length(${name}), 0)`);
  const step = (condition: string) =>
    db.prepare<Step>(
      `SELECT count(*), total(bytes), max(key) FROM (
         SELECT ${key} AS key, ${['0', ...lengths].join(' + ')} AS bytes FROM ${table}
         ${condition} ORDER BY ${key} LIMIT ${STEP_ROWS})`,
    );
  return { first: step(''), next: step(`WHERE ${key} > ?`) };
}
