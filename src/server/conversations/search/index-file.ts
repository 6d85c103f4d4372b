import fs from 'node:fs';
import path from 'node:path';
import { SEARCH_FILE as NAME } from './file-name.ts';
import { ShardSums } from './shard-sums.ts';
import { checksum } from '../../../core/store/corruption-log.ts';
import type { SqlValue } from '../../../core/store/raw-statement.ts';
import { SideFile, sideFiles } from '../../../core/store/side-file.ts';
import { corruption, isFull } from '../../../core/store/storage-error.ts';

export const FORMAT = 2;
/** Texts are numbered in the order of their times: up from here if they are newer than the index, else down. */
const MIDDLE = 2 ** 30;
/**
 * The number of texts that one FTS4 table holds. A query goes through the tables one by one, the newest first, so none
 * of its steps is long, and a table whose sessions are all trimmed is dropped whole.
 */
export const SHARD_TEXTS = 2 ** 14;
const MERGE_PAGES = 16;
const KEPT_FREE_PAGES = 4096;

export interface Entry {
  /** Where the text is: a row of a table of the store. */
  source: number;
  session: number;
  at: number;
  /** Its words, and the marks by which it is filtered, with a space between them. */
  words: string;
  title?: string;
}

export interface Batch {
  /** Oldest first. */
  entries: readonly Entry[];
  readPositions: ReadPositions;
  /** The rows in the store of items that are still open, and of open items of earlier batches that are complete now. */
  waiting?: readonly number[];
  arrived?: readonly number[];
}

/** How far the rows of the store were read, by the name of the table. Stored with the entries that were made of them. */
export type ReadPositions = Readonly<Record<string, number>>;

export interface Candidate {
  doc: number;
  source: number;
  at: number;
}

interface Options {
  directory: string;
  wasm: () => Uint8Array;
  /** The id of the log of the store: the index of another one is of no use. */
  epoch: string;
  /** Changes with each boot of the machine: after a crash of the machine nobody knows what of the file is on the disk. */
  bootId: string;
  shardTexts?: number;
  /** Called if the file is damaged, before a new one takes its place. */
  onDamage: (error: unknown) => void;
}

/** The file of the index, which can be made again. Methods throw `SqliteError`, also for a row that is damaged. */
export class IndexFile {
  readonly #file: SideFile;
  readonly #path: string;
  readonly #shardTexts: number;
  readonly #sums: ShardSums;
  #readPositions: ReadPositions;
  #up: number;
  #down: number;
  /** The tables, by the number of their first text divided by their size, newest first. */
  #shards: { key: number; newest: number; isMerged: boolean }[];

  static exists(directory: string): boolean {
    return fs.existsSync(path.join(directory, NAME));
  }

  static remove(directory: string): void {
    for (const file of sideFiles(directory, NAME)) fs.rmSync(file, { force: true });
  }

  /** Opens the index, or begins a new one where there is none, or none that can be used. */
  static async open(options: Options): Promise<IndexFile> {
    const file = { ...options, name: NAME, wasm: options.wasm };
    const unlessFull = (error: unknown): null => {
      if (isFull(error)) throw error;
      options.onDamage(error);
      return null;
    };
    const found = IndexFile.exists(options.directory)
      ? await SideFile.open(file).catch(unlessFull)
      : null;
    try {
      if (found && isUsable(found, options)) return new IndexFile(found, options);
    } catch (error) {
      if (isFull(error)) found?.abandon();
      unlessFull(error);
    }
    found?.abandon();
    IndexFile.remove(options.directory);
    const empty = await SideFile.open(file);
    create(empty, options);
    return new IndexFile(empty, options);
  }

  private constructor(file: SideFile, { directory, bootId, shardTexts = SHARD_TEXTS }: Options) {
    this.#file = file;
    this.#shardTexts = shardTexts;
    this.#sums = new ShardSums(file);
    this.#path = path.join(directory, NAME);
    file.run("UPDATE meta SET value = ? WHERE key = 'open_since_boot'", bootId);
    this.#readPositions = Object.fromEntries(
      file
        .all<[string, number, number]>('SELECT name, n, sum FROM places')
        .map(([name, n, sum]) => verified('places', [name, n], sum)),
    );
    const [ends] = file.all<[number | null, number | null]>('SELECT max(doc), min(doc) FROM docs');
    const [up, down] = ends ?? [null, null];
    this.#up = Math.max(MIDDLE, (up ?? 0) + 1);
    this.#down = Math.min(MIDDLE, down ?? MIDDLE);
    this.#shards = file
      .all<[number, number, number, number]>(
        'SELECT key, newest, merged, sum FROM shards ORDER BY key DESC',
      )
      .map(([key, newest, merged, sum]) => {
        verified('shards', [key, newest, merged], sum);
        return { key, newest, isMerged: merged === 1 };
      });
  }

  get readPositions(): ReadPositions {
    return this.#readPositions;
  }

  /** How many numbers texts have taken: those that were dropped since count, too. */
  get documents(): number {
    return this.#up - this.#down;
  }

  get bytes(): number {
    const sizeOf = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    return sizeOf(this.#path) + sizeOf(`${this.#path}-wal`);
  }

  /** The numbers of the tables, newest first, but for those that only have older texts. */
  shardsSince(at: number): readonly number[] {
    return this.#shards.filter(({ newest }) => newest >= at).map(({ key }) => key);
  }

  /** Adds texts that are newer than all others (`isOlder`: older), and stores how far the rows were read. */
  add({ entries, readPositions, waiting = [], arrived = [] }: Batch, isOlder: boolean): void {
    const first = isOlder ? this.#down - entries.length : this.#up;
    const touched = new Map<number, number>();
    this.#file.transact(() => {
      for (const [i, entry] of entries.entries()) {
        const key = Math.floor((first + i) / this.#shardTexts);
        if (!touched.has(key)) this.#makeShard(key);
        const newest = touched.get(key) ?? this.#shardOf(key)?.newest ?? 0;
        touched.set(key, Math.max(newest, entry.at));
        this.#insert(key, first + i, entry);
      }
      for (const [key, newest] of touched)
        this.#writeShard(key, newest, this.#shardOf(key)?.isMerged ?? false);
      for (const [name, n] of Object.entries(readPositions))
        this.#put('REPLACE INTO places (name, n, sum)', [name, n, rowSum([name, n])]);
      for (const n of waiting) this.#file.run('INSERT OR IGNORE INTO waiting (item) VALUES (?)', n);
      for (const n of arrived) this.#file.run('DELETE FROM waiting WHERE item = ?', n);
    });
    this.#readPositions = { ...this.#readPositions, ...readPositions };
    if (isOlder) this.#down = first;
    else this.#up = first + entries.length;
    for (const [key, newest] of touched) this.#note(key, newest);
  }

  /** The texts of a table that match, with a lower number than `below`, newest first. */
  candidates(key: number, match: string, below: number, limit: number): Candidate[] {
    return this.#file
      .all<[number, number, number, number]>(
        `SELECT found.docid, docs.source, docs.at, docs.sum
         FROM w${key} AS found LEFT JOIN docs ON docs.doc = found.docid
         WHERE w${key} MATCH ? AND found.docid < ? ORDER BY found.docid DESC LIMIT ?`,
        match,
        below,
        limit,
      )
      .map(([doc, source, at, sum]) => {
        verified('docs', [doc, source, at], sum);
        return { doc, source, at };
      });
  }

  endOf(key: number): number {
    return (key + 1) * this.#shardTexts;
  }

  /** Does a little of what makes the index smaller and faster. Returns false once there is nothing to do. */
  tidy(): boolean {
    const full = this.#shards.find((shard) => !shard.isMerged && this.#isFull(shard.key));
    if (full) return this.#merge(full);
    if (this.#sums.step(this.#mergedKeys)) return true;
    const [free] = this.#file.all<[number]>('PRAGMA freelist_count');
    if (!free || free[0] < KEPT_FREE_PAGES) return false;
    this.#file.all('PRAGMA incremental_vacuum(256)');
    return true;
  }

  /** Begins to check the words of the next full table, which `tidy` continues. */
  beginCheck(): void {
    this.#sums.begin(this.#mergedKeys);
  }

  get #mergedKeys(): number[] {
    return this.#shards.filter(({ isMerged }) => isMerged).map(({ key }) => key);
  }

  /** The rows of sessions of which a table has texts. */
  sessionsOf(key: number): number[] {
    return this.#file
      .all<[number]>('SELECT session FROM shard_sessions WHERE shard = ?', key)
      .map(([session]) => session);
  }

  /** Drops a table with all its texts. The newest and the oldest one are still written, and stay. */
  dropShard(key: number): void {
    if (!this.#isFull(key)) return;
    this.#file.transact(() => {
      this.#file.drop(`w${key}`);
      this.#file.run(
        'DELETE FROM docs WHERE doc >= ? AND doc < ?',
        key * this.#shardTexts,
        this.endOf(key),
      );
      this.#file.run('DELETE FROM shard_sessions WHERE shard = ?', key);
      this.#file.run('DELETE FROM shards WHERE key = ?', key);
      this.#sums.forget(key);
    });
    this.#shards = this.#shards.filter((shard) => shard.key !== key);
  }

  /** The items that were not complete when they were read, by their rows in the store. */
  get waiting(): number[] {
    return this.#file.all<[number]>('SELECT item FROM waiting ORDER BY item').map(([n]) => n);
  }

  /** The title of a session that was indexed last; null: none was. */
  title(session: number): string | null {
    const sql = 'SELECT title FROM titles WHERE session = ?';
    return this.#file.all<[string]>(sql, session)[0]?.[0] ?? null;
  }

  /** Closes the file with everything on the disk. */
  close(): void {
    try {
      this.#file.run("UPDATE meta SET value = '' WHERE key = 'open_since_boot'");
    } catch (error) {
      this.#file.abandon();
      throw error;
    }
    this.#file.close();
  }

  /** Closes the file as it is. */
  abandon(): void {
    this.#file.abandon();
  }

  #insert(key: number, doc: number, { source, session, at, words, title }: Entry): void {
    this.#file.run(`INSERT INTO w${key} (docid, words) VALUES (?, ?)`, doc, words);
    const row = [doc, source, at];
    this.#put('INSERT INTO docs (doc, source, at, sum)', [...row, rowSum(row)]);
    this.#put('INSERT OR IGNORE INTO shard_sessions (shard, session)', [key, session]);
    if (title !== undefined) this.#put('REPLACE INTO titles (session, title)', [session, title]);
  }

  #put(into: string, row: readonly SqlValue[]): void {
    this.#file.run(`${into} VALUES (${row.map(() => '?').join(', ')})`, ...row);
  }

  #makeShard(key: number): void {
    if (this.#shardOf(key)) return;
    this.#file.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS w${key} USING fts4 (content="", words, matchinfo=fts3, order=desc, tokenize=simple)`,
    );
  }

  #shardOf(key: number) {
    return this.#shards.find((shard) => shard.key === key);
  }

  #writeShard(key: number, newest: number, isMerged: boolean): void {
    const row = [key, newest, isMerged ? 1 : 0];
    this.#put('REPLACE INTO shards (key, newest, merged, sum)', [...row, rowSum(row)]);
  }

  #note(key: number, newest: number): void {
    const known = this.#shardOf(key);
    if (known) known.newest = Math.max(known.newest, newest);
    else
      this.#shards = [...this.#shards, { key, newest, isMerged: false }].toSorted(
        (a, b) => b.key - a.key,
      );
  }

  #isFull(key: number): boolean {
    return this.endOf(key) <= this.#up && key * this.#shardTexts >= this.#down;
  }

  #merge(shard: { key: number; newest: number; isMerged: boolean }): boolean {
    const changes = () => this.#file.all<[number]>('SELECT total_changes()')[0]?.[0] ?? 0;
    const before = changes();
    const name = `w${shard.key}`;
    this.#file.run(`INSERT INTO ${name} (${name}) VALUES ('merge=${MERGE_PAGES},2')`);
    // SQLite documents it so: a merge that finds nothing to do makes fewer than two changes.
    if (changes() - before >= 2) return true;
    this.#writeShard(shard.key, shard.newest, true);
    shard.isMerged = true;
    return true;
  }
}

function isUsable(file: SideFile, { epoch, bootId }: Options): boolean {
  const rows = file.all<[string, string]>('SELECT key, value FROM meta');
  const meta = Object.fromEntries(rows);
  const boot = meta.open_since_boot ?? '';
  return meta.format === String(FORMAT) && meta.epoch === epoch && (boot === '' || boot === bootId);
}

function create(file: SideFile, { epoch }: Options): void {
  file.exec(`
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE places (name TEXT PRIMARY KEY, n INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE docs (doc INTEGER PRIMARY KEY, source INTEGER NOT NULL, at INTEGER NOT NULL, sum INTEGER NOT NULL);
    CREATE TABLE shards (key INTEGER PRIMARY KEY, newest INTEGER NOT NULL, merged INTEGER NOT NULL, sum INTEGER NOT NULL);
    CREATE TABLE shard_sessions (shard INTEGER, session INTEGER, PRIMARY KEY (shard, session)) WITHOUT ROWID;
    CREATE TABLE shard_sums (shard INTEGER PRIMARY KEY, sum INTEGER NOT NULL);
    CREATE TABLE waiting (item INTEGER PRIMARY KEY);
    CREATE TABLE titles (session INTEGER PRIMARY KEY, title TEXT NOT NULL);
  `);
  for (const [key, value] of [
    ['format', String(FORMAT)],
    ['epoch', epoch],
    ['open_since_boot', ''],
  ] as const)
    file.run('INSERT INTO meta (key, value) VALUES (?, ?)', key, value);
}

/** Returns the checksum of a row, which is stored in it. */
export function rowSum(row: readonly SqlValue[]): number {
  return checksum(row.join(' '));
}

/** Returns a row. Throws SqliteError if it is not what was written. */
function verified<Row extends readonly SqlValue[]>(table: string, row: Row, sum: number): Row {
  if (rowSum(row) !== sum) throw corruption(`row ${row[0]} of ${table} is not what was written`);
  return row;
}
