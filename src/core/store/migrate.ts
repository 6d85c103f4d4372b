import { type Failpoint, noFailpoints } from '../lib/failpoint.ts';
import type { SqlTools } from './connection.ts';
import { firstMigrations } from './migrations/001-to-013.ts';
import { furtherMigrations } from './migrations/014-to-039.ts';
import { ANCHORED } from './anchor.ts';
import { checksum } from './corruption-log.ts';
import { damagedError } from './storage-error.ts';

/** Completes the records of a table, for example with a field that they lack. */
interface Completion {
  table: string;
  complete: (record: Record<string, unknown>) => Record<string, unknown>;
}

/** In order, SQL or a completion; once released, a migration is never edited. */
const migrations: readonly (string | Completion)[] = [...firstMigrations, ...furtherMigrations];

/** The format of data that this version writes. */
export const newestFormat = migrations.length;

/** Data of an older format that a start has changed. */
export interface Migration {
  /** The version of cadre that wrote the data. */
  version: string;
  /** Its format. */
  format: number;
  /** The file that holds the data as they were. */
  copy: string;
}

/**
 * Migrates the database to the newest version and gives a new one its identity, in one transaction, because each commit
 * of a changed schema costs a sync and a new reading of the schema. A copy is made before an existing database is
 * changed; a crash leaves the data either unchanged or changed. Returns the changes; null if there were none. Throws
 * `storage_damaged` for a file of a newer version.
 */
export function migrate(
  sql: SqlTools,
  about: {
    version: string;
    /** Begins the log of a new database; returns its id, and whether its anchor is on disk. */
    newLog: () => { epoch: string; isAnchored: boolean };
    now: number;
    /** Copies the file, and returns the copy. */
    backup: (fromFormat: number) => string;
    failpoint?: Failpoint | undefined;
  },
): Migration | null {
  const { version, newLog, now, backup, failpoint = noFailpoints } = about;
  const found = assertKnownFormat(sql, version);
  let migration: Migration | null = null;
  if (found > 0 && found < newestFormat) {
    sql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    migration = { version: writerOf(sql), format: found, copy: backup(found) };
    failpoint('migration.copied');
  }
  if (found < newestFormat) createTables(sql, found, () => failpoint('migration.changed'));
  if (migration) failpoint('migration.done');
  if (!sql.one("SELECT 1 FROM meta WHERE key = 'epoch'")) {
    const { epoch, isAnchored } = newLog();
    // One statement: a log that is cut after it has both.
    sql.one(
      `INSERT INTO meta (key, value) VALUES ('epoch', ?1), ('created_at', ?2)${isAnchored ? `, ('${ANCHORED}', ?1)` : ''}`,
      epoch,
      String(now),
    );
  }
  if (writerOf(sql) !== version)
    sql.one("INSERT OR REPLACE INTO meta (key, value) VALUES ('written_by', ?)", version);
  return migration;
}

/** Migrates the tables from format `found` (0: an empty file) in one transaction. Calls `changed` before its commit. */
export function createTables(
  sql: SqlTools,
  found = 0,
  changed: () => void = () => undefined,
): void {
  sql.exec('BEGIN IMMEDIATE');
  applyMigrations(sql, found, newestFormat);
  changed();
  sql.exec('COMMIT');
}

/** Changes the tables from one format to a later one, within the transaction of the caller. */
export function applyMigrations(sql: SqlTools, found: number, format: number): void {
  for (const step of migrations.slice(found, format)) {
    if (typeof step === 'string') sql.exec(step);
    else complete(sql, step);
  }
  sql.exec(`PRAGMA user_version = ${format}`);
}

function writerOf(sql: SqlTools): string {
  return String(sql.one("SELECT value FROM meta WHERE key = 'written_by'")?.[0] ?? 'unknown');
}

/** Rewrites the records of a table. A damaged one stays as it is, so that it is still noticed when it is read. */
function complete(sql: SqlTools, { table, complete: completed }: Completion): void {
  let last = -1;
  const next = () =>
    sql.one(`SELECT n, id, record, sum FROM ${table} WHERE n > ? ORDER BY n LIMIT 1`, last);
  for (let row = next(); row; row = next()) {
    const [n, id, text, sum] = row as [n: number, id: string, text: string, sum: number];
    last = n;
    if (checksum(text, checksum(id)) !== sum) continue;
    const record = JSON.stringify(completed(JSON.parse(text) as Record<string, unknown>));
    const newSum = checksum(record, checksum(id));
    sql.one(`UPDATE ${table} SET record = ?, sum = ? WHERE n = ?`, record, newSum, n);
  }
}

/** Returns the format of the data. Throws `storage_damaged` if it is newer than this version supports. */
export function assertKnownFormat(sql: SqlTools, version: string): number {
  const found = Number(sql.one('PRAGMA user_version')?.[0] ?? 0);
  if (found <= newestFormat) return found;
  const writer = writerOf(sql);
  throw damagedError(
    `the data directory has data format ${found} of cadre ${writer}, but cadre ${version} supports ` +
      `only formats up to ${newestFormat}: use the newer version of cadre, or restore older data`,
  );
}
