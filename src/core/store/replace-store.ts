import fs from 'node:fs';
import path from 'node:path';
import type { Failpoint } from '../lib/failpoint.ts';
import { ANCHOR_FILE } from './anchor.ts';
import { makeOwnStore, newCopyDirectory, removeLeftovers } from './backup.ts';
import { DATABASE_FILE, openConnection } from './connection.ts';
import { copyStore, removePartialCopies, syncNow } from './older-copies.ts';
import { asStorageError } from './storage-error.ts';

interface Replacement {
  /** The data directory, whose lock the caller holds. */
  directory: string;
  /** The file of a store, without a log beside it. It stays. */
  copy: string;
  wasm: () => Uint8Array;
  newEpoch: () => string;
  /** When this is, in Unix milliseconds. */
  now: number;
  failpoint: Failpoint;
}

/**
 * Puts a backup in the place of whatever is left of the store of a directory. The backup was checked, and the files that
 * it replaces are renamed and returned: they may be damaged, so nothing of them is read. The store gets a log id of its
 * own. A crash leaves the former files, or a directory in which a server refuses to start, or the backup in its place.
 * Throws `storage_full`.
 */
export async function restoreStore(options: Replacement): Promise<{ replaced: string[] }> {
  const { directory, now, failpoint } = options;
  removeLeftovers(directory);
  removePartialCopies(directory);
  return withOwnCopy(options, (fresh) => {
    failpoint('restore.prepared');
    const replaced: string[] = [];
    // The database goes first: while its log is there without it, a server refuses to start.
    for (const end of ['', '-wal']) {
      const file = path.join(directory, DATABASE_FILE + end);
      if (!fs.existsSync(file)) continue;
      const kept = path.join(directory, `${DATABASE_FILE}.replaced-${stampOf(now)}${end}`);
      fs.renameSync(file, kept);
      replaced.push(kept);
    }
    failpoint('restore.moved');
    fs.renameSync(fresh, path.join(directory, DATABASE_FILE));
    // It is the position of another log.
    fs.rmSync(path.join(directory, ANCHOR_FILE), { force: true });
    syncNow(directory);
    return { replaced };
  });
}

/**
 * Replaces the store of a directory that was tidied by a copy of a store. Returns the file beside it that keeps the replaced
 * store. One rename replaces the store: a crash leaves the one or the other. The store gets a log
 * id of its own, because it gives the seqs after its newest one to other events.
 */
export async function rollBack(options: Replacement): Promise<{ kept: string }> {
  const { directory, failpoint, now } = options;
  const store = path.join(directory, DATABASE_FILE);
  return withOwnCopy(options, (fresh) => {
    failpoint('rollback.prepared');
    const kept = `${store}.replaced-${stampOf(now)}`;
    copyStore(store, kept);
    failpoint('rollback.kept');
    fs.renameSync(fresh, store);
    syncNow(directory);
    failpoint('rollback.done');
    return { kept };
  });
}

/**
 * Writes the log of a closed store back into its file, so that the file alone is the store, and removes what killed copies
 * have left. The caller holds the lock. Throws `storage_damaged` and `storage_full`.
 */
export async function tidyStore(directory: string, wasm: () => Uint8Array): Promise<void> {
  removeLeftovers(directory);
  removePartialCopies(directory);
  using connection = await openConnection({ wasm, directory });
  try {
    connection.sql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    throw asStorageError(error);
  }
}

/** Calls `place` with the file of an independent copy, which is on disk; what `place` leaves of it is removed. */
async function withOwnCopy<T>(
  { directory, copy, ...settings }: Replacement,
  place: (fresh: string) => T,
): Promise<T> {
  const draft = newCopyDirectory(directory);
  try {
    const fresh = path.join(draft, DATABASE_FILE);
    copyStore(copy, fresh);
    await makeOwnStore(draft, settings);
    syncNow(fresh);
    return place(fresh);
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
}

/** Returns a moment as part of a file name: `20261122T160512.123Z`. */
function stampOf(now: number): string {
  return new Date(now).toISOString().replaceAll(/[-:]/g, '');
}
