import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../../api/errors.ts';
import { DATABASE_FILE, sqlTools, type SqlTools } from './connection.ts';
import { SqliteError } from './raw-statement.ts';
import { openReadOnly } from './read-only.ts';

/** What the file of a store holds. */
export interface StoreFacts {
  file: string;
  /** The version of cadre that wrote it last. */
  version: string;
  format: number;
  /** The newest sequence number. */
  seq: number;
  /** When its newest event came, in Unix milliseconds; null without events. */
  newest: number | null;
  /** Of the nouns that people count, the number of the newest row. */
  lastRows: Record<Noun, number>;
}

const nouns = {
  sessions: 'sessions',
  turns: 'turns',
  approvals: 'approvals',
  processes: 'processes',
  worktrees: 'worktrees',
  teams: 'teams',
  messages: 'team_messages',
  tokens: 'tokens',
} as const;
export type Noun = keyof typeof nouns;

/** The copy that a start makes before it changes data of an older format. */
export function copyBefore(directory: string, format: number): string {
  return path.join(directory, `${DATABASE_FILE}.before-v${format + 1}`);
}

/** The copies of older formats in a data directory, the newest format first. */
export function olderCopies(directory: string): string[] {
  const formatOf = (name: string) => Number(/\.before-v(\d+)$/.exec(name)?.[1] ?? 0);
  return fs
    .readdirSync(directory)
    .filter((name) => name.startsWith(`${DATABASE_FILE}.`) && formatOf(name) > 0)
    .toSorted((one, other) => formatOf(other) - formatOf(one))
    .map((name) => path.join(directory, name));
}

/** Reads what the file of a store holds, of any version. Throws `storage_damaged` for a file that is none. */
export async function factsOf(file: string, wasm: () => Uint8Array): Promise<StoreFacts> {
  const { host, handle } = await openReadOnly(file, wasm);
  try {
    const sql = sqlTools(host, handle);
    sql.exec('PRAGMA locking_mode = EXCLUSIVE');
    return { file, ...factsIn(sql) };
  } catch (error) {
    if (!(error instanceof SqliteError)) throw error;
    throw new AppError(
      'storage_damaged',
      `cannot read ${file} as a database of cadre (${error.message}): name another file`,
      { cause: error },
    );
  } finally {
    host.sqlite._sqlite3_close_v2(handle);
  }
}

function factsIn(sql: SqlTools): Omit<StoreFacts, 'file'> {
  const number = (query: string) => Number(sql.one(query)?.[0] ?? 0);
  const lastRows = Object.entries(nouns).map(([noun, table]) => {
    const exists = number(`SELECT count(*) FROM sqlite_schema WHERE name = '${table}'`) > 0;
    return [noun, exists ? number(`SELECT max(n) FROM ${table}`) : 0];
  });
  const newest = sql.one('SELECT created_at FROM events ORDER BY seq DESC LIMIT 1')?.[0];
  return {
    version: String(sql.one("SELECT value FROM meta WHERE key = 'written_by'")?.[0] ?? 'unknown'),
    format: number('PRAGMA user_version'),
    seq: number('SELECT last_seq FROM sequence'),
    newest: newest === undefined ? null : Number(newest),
    lastRows: Object.fromEntries(lastRows) as Record<Noun, number>,
  };
}

/** How many records of each noun a store has that a copy of it lacks, where there are any. */
export function newerThan(copy: StoreFacts, store: StoreFacts): Partial<Record<Noun, number>> {
  const counts = Object.entries(store.lastRows).map(([noun, last]) => [
    noun,
    Math.max(0, last - copy.lastRows[noun as Noun]),
  ]);
  return Object.fromEntries(counts.filter(([, count]) => Number(count) > 0)) as Partial<
    Record<Noun, number>
  >;
}
