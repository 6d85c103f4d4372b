import fs from 'node:fs';
import path from 'node:path';
import type { Failpoint } from '../lib/failpoint.ts';
import { makeOwnStore, newCopyDirectory, removeLeftovers } from './backup.ts';
import { DATABASE_FILE, openHandle, sqlTools } from './connection.ts';
import { copyStore, removePartialCopies, syncNow } from './older-copies.ts';
import { loadHostedSqlite } from './host/sqlite.ts';
import { asStorageError } from './storage-error.ts';

/**
 * Writes the log of a closed store back into its file, so that the file alone is the store, and removes what killed copies
 * have left. The caller holds the lock. Throws `storage_damaged` and `storage_full`.
 */
export async function tidyStore(directory: string, wasm: () => Uint8Array): Promise<void> {
  removeLeftovers(directory);
  removePartialCopies(directory);
  const host = await loadHostedSqlite({ wasm, directory });
  const handle = openHandle(host);
  try {
    const sql = sqlTools(host, handle);
    sql.exec('PRAGMA locking_mode = EXCLUSIVE');
    sql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    throw asStorageError(error);
  } finally {
    host.sqlite._sqlite3_close_v2(handle);
  }
}

/**
 * Puts a copy of a store in the place of the store of a directory that was tidied, and whose lock the caller holds.
 * The copy stays, and what was replaced is kept in a file beside it, which is returned. One rename replaces the store: a
 * crash leaves the one or the other. The store gets a log id of its own, because it gives the seqs after its newest one
 * to other events.
 */
export async function rollBack(options: {
  directory: string;
  /** The file of a store, without a log beside it. */
  copy: string;
  wasm: () => Uint8Array;
  newEpoch: () => string;
  /** When this is, in Unix milliseconds. */
  now: number;
  failpoint: Failpoint;
}): Promise<{ kept: string }> {
  const { directory, copy, failpoint, now } = options;
  const store = path.join(directory, DATABASE_FILE);
  const draft = newCopyDirectory(directory);
  try {
    const fresh = path.join(draft, DATABASE_FILE);
    copyStore(copy, fresh);
    await makeOwnStore(draft, options);
    syncNow(fresh);
    failpoint('rollback.prepared');
    const kept = `${store}.replaced-${stampOf(now)}`;
    copyStore(store, kept);
    failpoint('rollback.kept');
    fs.renameSync(fresh, store);
    syncNow(directory);
    failpoint('rollback.done');
    return { kept };
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
}

/** Returns a moment as part of a file name: `20261122T160512.123Z`. */
export function stampOf(now: number): string {
  return new Date(now).toISOString().replaceAll(/[-:]/g, '');
}
