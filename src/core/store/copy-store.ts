import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../../api/errors.ts';
import { DATABASE_FILE } from './connection.ts';

/** What a copy ends with while it is written. */
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
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
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
