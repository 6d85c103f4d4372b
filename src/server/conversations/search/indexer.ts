import type { Clock } from '../../../core/lib/clock.ts';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import { type Document, titleDocumentOf, kindMark, marksOf } from './documents.ts';
import { corruption } from '../../../core/store/storage-error.ts';
import type { Entry, IndexFile, ReadPositions } from './index-file.ts';
import { type Row, type Rows, sourceOf, type Table, tables } from './rows.ts';
import { indexText } from './words.ts';

/** The maximum number of rows of a table in one step, and of sessions that are looked at for their titles. */
const STEP_ROWS = 64;
const KNOWN_SESSIONS = 2000;
/** How often the index is looked through for sessions that retention has trimmed, and a part checked, in milliseconds. */
const SWEEP_EVERY_MS = 600_000;

type SessionMarks = { n: number; marks: string } | null;

/** Reads the rows of the store into the index, a few at a time: those that are new first, then older and older ones. */
export class Indexer {
  readonly #rows: Rows;
  readonly #index: IndexFile;
  readonly #clock: Clock;
  readonly #older: OlderRows;
  readonly #known = new Map<string, SessionMarks>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor({ rows, index, clock }: { rows: Rows; index: IndexFile; clock: Clock }) {
    this.#rows = rows;
    this.#index = index;
    this.#clock = clock;
    this.#older = new OlderRows(rows, index);
  }

  get isBuilt(): boolean {
    return this.#older.isEnd;
  }

  /** Since when everything is in the index, in Unix milliseconds; null before its first step, and once it is built. */
  get backTo(): number | null {
    return this.isBuilt ? null : this.#older.backTo;
  }

  get done(): number {
    return this.#older.done;
  }

  async begin(): Promise<void> {
    if ('turns' in this.#index.readPositions) return;
    const newest = await this.#rows.newest();
    this.#index.add(
      { entries: [], readPositions: { ...newest, ...OlderRows.before(newest) } },
      false,
    );
  }

  /** Whether the store is the one of which the rows were read: an older state of it has fewer. */
  async isOfThisStore(): Promise<boolean> {
    const newest = await this.#rows.newest();
    return Object.entries(newest).every(([name, n]) => (this.#index.readPositions[name] ?? 0) <= n);
  }

  /** One step, of a few milliseconds. Resolves with false once there is nothing to do. */
  async step(): Promise<boolean> {
    if (await this.newer()) return true;
    if (!this.isBuilt) return this.#takeOlder();
    return this.#index.tidy() || this.#sweep();
  }

  /** Reads some of what is new. Resolves with false if nothing is. Throws SqliteError if only a new index finds it. */
  async newer(): Promise<boolean> {
    // Retention has deleted the newest items, and new items get their numbers, which count as read.
    if (!(await this.isOfThisStore()))
      throw corruption('the store has fewer rows than the index has read');
    const rows: Row[] = [];
    const readPositions: Record<string, number> = {};
    for (const table of tables) {
      const page = await this.#rows.page('after', table, this.#positionOf(table), STEP_ROWS);
      rows.push(...page.rows);
      const last = page.rows.at(-1);
      if (last) readPositions[table] = last.n;
    }
    const arrived = await this.#arrived();
    const { seq, ids } = await this.#rows.changedSessions(this.#positionOf('events'), STEP_ROWS);
    if (ids.length > 0) readPositions.events = seq;
    const titled = rows.flatMap(({ table, sessionId }) => (table === 'items' ? [] : [sessionId]));
    const entries = [
      ...(await this.#entriesOf(
        [...rows, ...arrived.rows].filter(({ table }) => table !== 'sessions'),
      )),
      ...(await this.#titlesOf(new Set([...titled, ...ids]))),
    ];
    const waiting = rows.filter(({ isOpen }) => isOpen).map(({ n }) => n);
    if (rows.length + arrived.ns.length + ids.length === 0) return false;
    this.#add({ entries, readPositions, waiting, arrived: arrived.ns });
    return true;
  }

  /** The items that were not complete when they were read, and are now, or are gone. */
  async #arrived(): Promise<{ ns: number[]; rows: Row[] }> {
    const waiting = this.#index.waiting.slice(0, STEP_ROWS);
    if (waiting.length === 0) return { ns: [], rows: [] };
    const found = await this.#rows.items(waiting);
    return {
      ns: waiting.filter((_, i) => !found[i]?.isOpen),
      rows: found.filter((row) => row !== null && !row.isOpen) as Row[],
    };
  }

  async #takeOlder(): Promise<boolean> {
    const { rows, readPositions } = await this.#older.next();
    const waiting = rows.filter(({ isOpen }) => isOpen).map(({ n }) => n);
    const entries = await this.#entriesOf(rows);
    // A title that was given meanwhile is in the index already.
    const fresh = entries.filter(
      ({ title, session }) => title === undefined || this.#index.title(session) === null,
    );
    this.#index.add({ entries: fresh, readPositions, waiting }, true);
    this.#older.took();
    return true;
  }

  #add(batch: {
    entries: Entry[];
    readPositions: ReadPositions;
    waiting: readonly number[];
    arrived: readonly number[];
  }): void {
    const entries = batch.entries.toSorted((a, b) => a.at - b.at);
    this.#index.add({ ...batch, entries }, false);
  }

  #positionOf(name: Table | 'events'): number {
    return this.#index.readPositions[name] ?? 0;
  }

  async #entriesOf(rows: readonly Row[]): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const row of rows) {
      const { document } = row;
      const known = document && (await this.#sessionOf(row.sessionId));
      if (!document || !known) continue;
      const title = document.kind === 'title' ? { title: document.text } : {};
      entries.push({ ...entryOf(sourceOf(row), known, document), at: row.at, ...title });
    }
    return entries;
  }

  /** The titles of sessions that are not in the index as they are now. */
  async #titlesOf(ids: ReadonlySet<string>): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const id of ids) {
      const found = await this.#rows.session(id);
      const document = found && titleDocumentOf(found.session);
      const known = await this.#sessionOf(id);
      if (!document || !known || this.#index.title(known.n) === document.text) continue;
      const source = sourceOf({ table: 'sessions', n: known.n });
      // A title has the time at which it was set, and not the time at which its session was created.
      const at = found.session.updated_at;
      entries.push({ ...entryOf(source, known, document), at, title: document.text });
    }
    return entries;
  }

  async #sessionOf(id: string): Promise<SessionMarks> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    if (this.#known.size >= KNOWN_SESSIONS) this.#known.clear();
    const found = await this.#rows.session(id);
    const made = found ? { n: found.n, marks: marksOf(found.n, found.session) } : null;
    this.#known.set(id, made);
    return made;
  }

  /** Drops tables whose sessions are all trimmed, and begins to check a full one. Resolves with false if it is too early. */
  async #sweep(): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return false;
    this.#sweptAt = now;
    for (const key of this.#index.shardsSince(0).toReversed()) {
      if (await this.#isTrimmed(key)) this.#index.dropShard(key);
      await yieldToEventLoop();
    }
    this.#index.beginCheck();
    return true;
  }

  async #isTrimmed(key: number): Promise<boolean> {
    for (const n of this.#index.sessionsOf(key)) if (!(await this.#rows.isTrimmed(n))) return false;
    return true;
  }
}

function entryOf(
  source: number,
  { n, marks }: NonNullable<SessionMarks>,
  document: Document,
): Entry {
  const words = `${indexText(document.text)} ${kindMark(document.kind)} ${marks}`;
  return { source, session: n, at: document.at, words };
}

const PAGE_ROWS = 128;
/** A step ends after so much text, in UTF-16 code units, or so many rows. */
const STEP_TEXT = 32 * 1024;

/** The rows that were there before the index, all tables together, from the newest to the oldest. */
class OlderRows {
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

  /** The next rows, oldest first, and the positions to store with them. They are read again until `took` is called. */
  async next(): Promise<{ rows: Row[]; readPositions: ReadPositions }> {
    for (const table of tables) await this.#fill(table);
    const readPositions: Record<string, number> = {};
    const taken: Record<Table, number> = { turns: 0, items: 0, sessions: 0 };
    let text = 0;
    this.#step = [];
    while (this.#step.length < PAGE_ROWS && text < STEP_TEXT) {
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
      if (at < Infinity) this.#backTo = at;
    }
    this.#step = [];
  }

  #below(table: Table): number {
    return this.#index.readPositions[`${table} below`] ?? 1;
  }

  async #fill(table: Table): Promise<void> {
    const page = this.#pages[table];
    if (page.rows.length > 0 || page.isEnd) return;
    this.#pages[table] = await this.#rows.page('before', table, this.#below(table), PAGE_ROWS);
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
