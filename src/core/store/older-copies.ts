import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../../api/errors.ts';
import { DATABASE_FILE, type SqlTools } from './connection.ts';
import { openReadOnly } from './read-only.ts';
import { isNoRoom } from '../lib/system-error.ts';
import { asReadError } from './storage-error.ts';

/** Suffix of a copy while it is written. */
const PART = '.part';

/**
 * Copies the file of a store under another name in its directory. The copy is for its owner alone, and appears once it
 * is whole and on disk; one of that name is replaced. Throws `storage_full` where it has no room, and leaves nothing.
 */
export function copyStore(file: string, copy: string): void {
  const part = `${copy}${PART}`;
  try {
    fs.copyFileSync(file, part, fs.constants.COPYFILE_FICLONE);
    fs.chmodSync(part, 0o600);
    syncNow(part);
    fs.renameSync(part, copy);
    syncNow(path.dirname(copy));
  } catch (error) {
    fs.rmSync(part, { force: true });
    if (!isNoRoom(error)) throw error;
    throw new AppError(
      'storage_full',
      `the disk of ${path.dirname(copy)} has no space for a copy of the database, so nothing was changed: free some space`,
      { cause: error },
    );
  }
}

/** Removes what was left of copies when their processes were killed. The caller holds the lock of the directory. */
export function removePartialCopies(directory: string): void {
  for (const name of fs.readdirSync(directory))
    if (name.startsWith(`${DATABASE_FILE}.`) && name.endsWith(PART))
      fs.rmSync(path.join(directory, name));
}

/** Waits until a file, or what was renamed in a directory, is on disk. */
export function syncNow(file: string): void {
  const fd = fs.openSync(file, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

export interface StoreFacts {
  file: string;
  /** The version of cadre that wrote it last. */
  version: string;
  format: number;
  seq: number;
  /** When its newest event came, in Unix milliseconds; null without events. */
  newest: number | null;
  /** Number of the newest row of each noun that people count. */
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

/** Reads the facts about the file of a store, of any version. Throws `storage_damaged` for any other file. */
export async function factsOf(file: string, wasm: () => Uint8Array): Promise<StoreFacts> {
  using connection = await openReadOnly(file, wasm);
  try {
    return { file, ...factsIn(connection.sql) };
  } catch (error) {
    throw asReadError(error, file, 'name another file');
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
