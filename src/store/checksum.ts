import { crc32 } from 'node:zlib';
import { AppError } from '../errors.ts';

/**
 * The checksum of a stored text. Its seed is the row's number, so that an intact text in the wrong row is noticed.
 */
export function checksum(text: string, seed = 0): number {
  return crc32(text, seed >>> 0);
}

/** Throws `storage_damaged`, naming the table and the row, unless the text is the one that was written. */
export function verify(
  text: string,
  sum: number,
  where: { table: string; row: string | number },
  seed = 0,
): void {
  if (checksum(text, seed) === sum) return;
  throw new AppError(
    'storage_damaged',
    `row ${where.row} of table ${where.table} is not what was written: the disk or another program changed it; ` +
      'restore a copy of the data directory',
  );
}
