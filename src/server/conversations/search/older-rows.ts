import type { IndexFile, ReadPositions } from './index-file.ts';
import { type Row, type Rows, type Table, tables } from './rows.ts';

const PAGE_ROWS = 128;
/** A step ends after so much text, in UTF-16 code units, or so many rows. */
const STEP_TEXT = 32 * 1024;
const STEP_ROWS = 128;

/** The rows that were there before the index, all tables together, from the newest to the oldest. */
export class OlderRows {
  readonly #rows: Rows;
  readonly #index: IndexFile;
  readonly #pages: Record<Table, { rows: Row[]; isEnd: boolean }>;
  #step: Row[] = [];
  #backTo: number | null = null;

  static before(newest: Record<Table, number>): ReadPositions {
    const below = tables.map((table) => [`${table} below`, newest[table] + 1]);
    const total = tables.reduce((sum, table) => sum + newest[table], 0);
    return { ...Object.fromEntries(below), total };
  }

  constructor(rows: Rows, index: IndexFile) {
    this.#rows = rows;
    this.#index = index;
    const unread = { rows: [], isEnd: false };
    this.#pages = { turns: unread, items: unread, sessions: unread };
  }

  get isEnd(): boolean {
    return tables.every((table) => this.#below(table) === 1);
  }

  get backTo(): number | null {
    return this.#backTo;
  }

  get done(): number {
    const total = this.#index.readPositions.total ?? 0;
    const rest = tables.reduce((sum, table) => sum + this.#below(table) - 1, 0);
    return total === 0 ? 1 : Math.max(0, 1 - rest / total);
  }

  /** The next rows, the oldest first, and the places to store with them. They are read again until `took` is called. */
  async next(): Promise<{ rows: Row[]; readPositions: ReadPositions }> {
    for (const table of tables) await this.#fill(table);
    const readPositions: Record<string, number> = {};
    const taken: Record<Table, number> = { turns: 0, items: 0, sessions: 0 };
    let text = 0;
    this.#step = [];
    while (this.#step.length < STEP_ROWS && text < STEP_TEXT) {
      const row = this.#newestOf(taken);
      if (!row) break;
      taken[row.table]++;
      text += row.document?.text.length ?? 0;
      this.#step.push(row);
      readPositions[`${row.table} below`] = row.n;
    }
    for (const table of tables) {
      const { rows, isEnd } = this.#pages[table];
      // Numbers may be missing, so the end of a table is not its first row.
      if (isEnd && taken[table] === rows.length) readPositions[`${table} below`] = 1;
    }
    return { rows: this.#step.toReversed(), readPositions };
  }

  /** The rows of the last `next` are stored. */
  took(): void {
    for (const { table, at } of this.#step) {
      this.#pages[table].rows.shift();
      this.#backTo = at;
    }
    this.#step = [];
  }

  #below(table: Table): number {
    return this.#index.readPositions[`${table} below`] ?? 1;
  }

  async #fill(table: Table): Promise<void> {
    const page = this.#pages[table];
    if (page.rows.length > 0 || page.isEnd) return;
    this.#pages[table] = await this.#rows.before(table, this.#below(table), PAGE_ROWS);
  }

  /** The newest row behind those that were taken; undefined where it could be one that is not read yet. */
  #newestOf(taken: Record<Table, number>): Row | undefined {
    let newest: Row | undefined;
    for (const table of tables) {
      const { rows, isEnd } = this.#pages[table];
      const row = rows[taken[table]];
      if (!row && !isEnd) return undefined;
      if (row && (!newest || row.at > newest.at)) newest = row;
    }
    return newest;
  }
}
