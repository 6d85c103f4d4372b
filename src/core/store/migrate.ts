import { AppError } from '../../api/errors.ts';
import { type Failpoint, noFailpoints } from '../lib/failpoint.ts';
import type { SqlTools } from './connection.ts';
import { migration001 } from './migrations/001-foundation.ts';
import { migration002 } from './migrations/002-approvals.ts';
import { migration003 } from './migrations/003-tokens.ts';
import { migration004 } from './migrations/004-retention.ts';
import { migration005 } from './migrations/005-processes.ts';
import { migration006 } from './migrations/006-worktrees.ts';
import { migration007 } from './migrations/007-teams.ts';
import { migration008 } from './migrations/008-worktree-trust.ts';
import { migration010 } from './migrations/010-spawned.ts';
import { migration011 } from './migrations/011-news.ts';
import { migration012 } from './migrations/012-process-input.ts';
import { migration013 } from './migrations/013-approval-details.ts';
import { migration014 } from './migrations/014-agents.ts';
import { migration015 } from './migrations/015-agent-modes.ts';
import { migration016 } from './migrations/016-session-commands.ts';
import {
  migration017,
  migration017Index,
  migration017Tokens,
} from './migrations/017-external-callers.ts';
import { migration018 } from './migrations/018-muted.ts';
import { migration019 } from './migrations/019-mcp-servers.ts';
import { migration021 } from './migrations/021-kinds.ts';
import { migration022 } from './migrations/022-queue.ts';
import { migration023 } from './migrations/023-approval-rules.ts';
import { migration024 } from './migrations/024-worktrees-that-run.ts';
import { migration025 } from './migrations/025-usage-limits.ts';
import { migration026 } from './migrations/026-usage.ts';
import { migration027 } from './migrations/027-snapshots.ts';
import { migration028 } from './migrations/028-reviews.ts';
import { migration030 } from './migrations/030-hooks.ts';
import { migration031 } from './migrations/031-worktrees-due.ts';
import { migration032 } from './migrations/032-holds.ts';
import { migration033 } from './migrations/033-goals.ts';
import { migration036 } from './migrations/036-deltas-by-session.ts';
import { migration037 } from './migrations/037-imports.ts';
import { ANCHORED } from './anchor.ts';
import { checksum } from './corruption-log.ts';

/** Completes the records of a table, for example with a field that they lack. */
interface Completion {
  table: string;
  complete: (record: Record<string, unknown>) => Record<string, unknown>;
}

/** In order, SQL or a completion; once released, a migration is never edited. */
const migrations: readonly (string | Completion)[] = [
  migration001,
  migration002,
  migration003,
  migration004,
  migration005,
  migration006,
  migration007,
  migration008,
  migration010,
  migration011,
  migration012,
  migration013,
  migration014,
  migration015.sessions,
  migration015.turns,
  migration016,
  migration017,
  migration017Index,
  migration017Tokens,
  migration018,
  migration019,
  migration021,
  migration022,
  migration023,
  migration024.path,
  migration024.worktrees,
  migration024.operations,
  migration025,
  migration026,
  migration027,
  migration028,
  migration030,
  migration031,
  migration032,
  migration033,
  migration036,
  migration037,
];

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

/**
 * Migrates the tables from format `found`, 0 for an empty file, to the newest one, in one transaction. `changed` is
 * called before the commit.
 */
export function createTables(
  sql: SqlTools,
  found = 0,
  changed: () => void = () => undefined,
): void {
  sql.exec('BEGIN IMMEDIATE');
  for (const step of migrations.slice(found)) {
    if (typeof step === 'string') sql.exec(step);
    else complete(sql, step);
  }
  sql.exec(`PRAGMA user_version = ${newestFormat}`);
  changed();
  sql.exec('COMMIT');
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
  throw new AppError(
    'storage_damaged',
    `the data directory has data format ${found} of cadre ${writer}, but cadre ${version} supports ` +
      `only formats up to ${newestFormat}: use the newer version of cadre, or restore older data`,
  );
}
