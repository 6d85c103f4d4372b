import fs from 'node:fs/promises';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import { SqliteError, type SqlValue } from '../../../core/store/raw-statement.ts';
import { SideFile, sideFiles } from '../../../core/store/side-file.ts';
import { SEARCH_FILE } from './file-name.ts';
import { FORMAT, IndexFile, rowSum, SHARD_TEXTS } from './index-file.ts';
import { readBlocks, sumOf } from './shard-sums.ts';

export interface IndexReport {
  /** `outdated`: the server builds it again. `changing`: it was not checked, because a server wrote to it all the time. */
  state: 'checked' | 'outdated' | 'changing';
  bytes: number;
  texts: number;
}

interface CheckOptions {
  directory: string;
  wasm: () => Uint8Array;
  bootId: string;
  signal: AbortSignal;
  onProgress: (texts: number) => void;
  onDamage: (problem: string) => void;
}

const ATTEMPTS = 5;
/** Another connection uses the file. */
const BUSY = 5;
const STEP_ROWS = 2000;
/** The tables whose rows have checksums, with the columns that these are of. */
const TABLES = { docs: 'doc, source, at', places: 'name, n', shards: 'key, newest, merged' };

/** Compares a search index with its checksums, again if a server wrote to it meanwhile. Returns null without an index. */
export async function checkIndex(options: CheckOptions): Promise<IndexReport | null> {
  const { directory, signal } = options;
  let bytes = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    signal.throwIfAborted();
    if (!IndexFile.exists(directory)) return null;
    const before = await stateOf(directory);
    const { problem, ...found } = await checkOnce(options);
    const after = await stateOf(directory);
    bytes = after.bytes;
    if (before.state !== after.state) continue;
    if (problem !== null) options.onDamage(problem);
    return { ...found, bytes };
  }
  return { state: 'changing', bytes, texts: 0 };
}

/** Describes the files of the index; each write changes it. */
async function stateOf(directory: string): Promise<{ state: string; bytes: number }> {
  const found = await Promise.all(
    sideFiles(directory, SEARCH_FILE).map((file) =>
      fs.stat(file, { bigint: true }).catch(() => null),
    ),
  );
  return {
    state: found.map((stat) => `${stat?.ino} ${stat?.size} ${stat?.mtimeNs}`).join(),
    bytes: found.reduce((sum, stat) => sum + Number(stat?.size ?? 0), 0),
  };
}

async function checkOnce(
  options: CheckOptions,
): Promise<Pick<IndexReport, 'state' | 'texts'> & { problem: string | null }> {
  let file: SideFile | undefined;
  let texts = 0;
  try {
    file = await SideFile.openReadOnly({ ...options, name: SEARCH_FILE });
    const meta = Object.fromEntries(file.all<[string, string]>('SELECT key, value FROM meta'));
    const boot = meta.open_since_boot ?? '';
    if (meta.format !== String(FORMAT) || (boot !== '' && boot !== options.bootId))
      return { state: 'outdated', texts, problem: null };
    const [fault = 'ok'] = file.all<[string]>('PRAGMA integrity_check(1)')[0] ?? [];
    if (fault !== 'ok') return { state: 'checked', texts, problem: fault };
    for await (const found of problemsOf(file, options)) {
      if (typeof found === 'string') return { state: 'checked', texts, problem: found };
      texts = found;
      options.onProgress(texts);
    }
    return { state: 'checked', texts, problem: null };
  } catch (error) {
    if (!(error instanceof SqliteError)) throw error;
    if (error.code === BUSY) return { state: 'changing', texts, problem: null };
    return { state: 'checked', texts, problem: error.message };
  } finally {
    file?.abandon();
  }
}

/** Yields the number of texts checked so far, and what is wrong. */
async function* problemsOf(
  file: SideFile,
  { signal }: Pick<CheckOptions, 'signal'>,
): AsyncGenerator<string | number> {
  let texts = 0;
  let last: number | null = null;
  for (const [table, columns] of Object.entries(TABLES)) {
    for await (const row of rowsOf(file, table, columns, signal)) {
      if (rowSum(row.slice(0, -1)) !== row.at(-1))
        yield `row ${row[0]} of ${table} is not what was written`;
      if (table !== 'docs') continue;
      const doc = Number(row[0]);
      if (last !== null && doc !== last + 1 && keyOf(doc) === keyOf(last))
        yield `the texts ${last + 1} to ${doc - 1} are missing`;
      last = doc;
      if (++texts % STEP_ROWS === 0) yield texts;
    }
    yield texts;
  }
  for (const [key, sum] of file.all<[number, number]>('SELECT shard, sum FROM shard_sums')) {
    const reading = { key, after: -1, sum: 0 };
    while (readBlocks(file, reading)) {
      await yieldToEventLoop();
      signal.throwIfAborted();
    }
    if (sumOf(file, reading) !== sum) yield `the words of table ${key} are not what was written`;
  }
}

function keyOf(doc: number): number {
  return Math.floor(doc / SHARD_TEXTS);
}

/** The rows of a table in the order of its key, each with its checksum behind it. */
async function* rowsOf(
  file: SideFile,
  table: string,
  columns: string,
  signal: AbortSignal,
): AsyncGenerator<SqlValue[]> {
  const [key] = columns.split(',');
  let from: SqlValue = table === 'places' ? '' : Number.MIN_SAFE_INTEGER;
  for (let isMore = true; isMore;) {
    signal.throwIfAborted();
    const rows: SqlValue[][] = file.all(
      `SELECT ${columns}, sum FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${STEP_ROWS}`,
      from,
    );
    yield* rows;
    from = rows.at(-1)?.[0] ?? from;
    isMore = rows.length === STEP_ROWS;
    await yieldToEventLoop();
  }
}
