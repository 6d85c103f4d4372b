import fs from 'node:fs';
import path from 'node:path';
import type { Failpoint } from '../lib/failpoint.ts';
import { ANCHOR_FILE } from './anchor.ts';
import { makeOwnStore, newCopyDirectory, removeLeftovers } from './backup.ts';
import { DATABASE_FILE } from './connection.ts';
import { copyStore, removePartialCopies, syncNow } from './older-copies.ts';

/**
 * Puts a backup in the place of whatever is left of the store of a directory, whose lock the caller holds. The backup
 * stays, and the files that it replaces are renamed and returned: they may be damaged, so nothing of them is read. The
 * store gets a log id of its own. A crash leaves the former files, or a directory in which a server refuses to start,
 * or the backup in its place. Throws `storage_full`.
 */
export async function restoreStore(options: {
  directory: string;
  /** The file of a store that was checked. */
  backup: string;
  wasm: () => Uint8Array;
  newEpoch: () => string;
  /** Suffix of the replaced files. */
  stamp: string;
  failpoint: Failpoint;
}): Promise<{ replaced: string[] }> {
  const { directory, backup, stamp, failpoint } = options;
  removeLeftovers(directory);
  removePartialCopies(directory);
  const draft = newCopyDirectory(directory);
  try {
    const fresh = path.join(draft, DATABASE_FILE);
    copyStore(backup, fresh);
    await makeOwnStore(draft, options);
    syncNow(fresh);
    failpoint('restore.prepared');
    const replaced: string[] = [];
    // The database goes first: while its log is there without it, a server refuses to start.
    for (const end of ['', '-wal']) {
      const file = path.join(directory, DATABASE_FILE + end);
      if (!fs.existsSync(file)) continue;
      const kept = path.join(directory, `${DATABASE_FILE}.replaced-${stamp}${end}`);
      fs.renameSync(file, kept);
      replaced.push(kept);
    }
    failpoint('restore.moved');
    fs.renameSync(fresh, path.join(directory, DATABASE_FILE));
    // It is the position of another log.
    fs.rmSync(path.join(directory, ANCHOR_FILE), { force: true });
    syncNow(directory);
    return { replaced };
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
}
