import { AppError } from '../../api/errors.ts';
import { SqliteError } from './raw-statement.ts';
import { isNoRoom } from '../lib/system-error.ts';

const SQLITE_PERM = 3;
const SQLITE_NOMEM = 7;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

export const damagedError = (message: string, options?: ErrorOptions) =>
  new AppError('storage_damaged', message, options);

/** Whether SQLite may have rolled back the whole transaction by itself after this error. */
export function mayHaveRolledBack({ code }: SqliteError): boolean {
  return [SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM].includes(code & 0xff);
}

/** Whether the error means wrong stored data, instead of data that is out of reach for the moment. */
export function isCorruption({ code, message }: SqliteError): boolean {
  // SQLite parses stored JSON for the generated columns.
  return (
    [SQLITE_CORRUPT, SQLITE_NOTADB].includes(code & 0xff) || message.startsWith('malformed JSON')
  );
}

/** Returns an error about wrong stored data that SQLite itself cannot notice. */
export function corruption(message: string): SqliteError {
  return new SqliteError(SQLITE_CORRUPT, message);
}

/** Whether the error says nothing about the stored data: no memory, or no right to write. */
export function isOutOfReach({ code }: SqliteError): boolean {
  return [SQLITE_NOMEM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM].includes(code & 0xff);
}

/** Whether the disk had no room for a write. */
export function isFull(error: unknown): boolean {
  if (!(error instanceof SqliteError)) return false;
  return error.code === SQLITE_FULL || isNoRoom(error.cause);
}

/** Converts SQLite's failures to read a named file to `storage_damaged`; returns any other error unchanged. */
export function asReadError(error: unknown, file: string, remedy: string): unknown {
  if (!(error instanceof SqliteError)) return error;
  return damagedError(`cannot read ${file} as a database of cadre (${error.message}): ${remedy}`, {
    cause: error,
  });
}

/** Converts SQLite's failures to `storage_full` or `storage_damaged`; returns any other error unchanged. */
export function asStorageError(error: unknown): unknown {
  if (!(error instanceof SqliteError)) return error;
  if (isFull(error)) {
    return new AppError(
      'storage_full',
      'the disk is full, so nothing was changed: free some space, and try again',
      { cause: error },
    );
  }
  if ([SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM].includes(error.code & 0xff)) {
    return damagedError(
      `cannot write to the database (${error.message}): make the file writable for the user who runs the server, or choose another data directory`,
      { cause: error },
    );
  }
  if (isCorruption(error) || (error.code & 0xff) === SQLITE_IOERR) {
    return damagedError(
      `cannot read or write the database (${error.message}), so nothing was changed: check the disk and ` +
        'restart the server, or restore a copy of the data directory',
      { cause: error },
    );
  }
  return error;
}
