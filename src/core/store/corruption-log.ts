import { crc32 } from 'node:zlib';
import type { AppError } from '../../api/errors.ts';
import { damagedError } from './storage-error.ts';

/** The checksum of a text or its UTF-8 bytes. The seed is the number of the row: in another row the sum differs. */
export function checksum(text: string | Uint8Array, seed = 0): number {
  return crc32(text, seed >>> 0);
}

/** The damage found since the database was opened: reading it throws, and health reports it. */
export class CorruptionLog {
  /** The first finding of each table or area. */
  readonly #found = new Map<string, string>();

  /**
   * Throws `storage_damaged`, naming the table and the row, unless `sum` is the checksum of the text. `seed` is the
   * row's own number or a checksum of its id.
   */
  verify(
    text: string | Uint8Array,
    sum: number,
    where: { table: string; row: string | number },
    seed = 0,
  ): void {
    if (checksum(text, seed) === sum) return;
    const { table, row } = where;
    throw this.finding(table, row, 'differs from what was written');
  }

  /** Stores a finding about a row. Returns the error to throw. */
  finding(table: string, row: string | number, problem: string): AppError {
    this.note(table, `row ${row} of table ${table}`);
    return damagedError(
      `row ${row} of table ${table} in the database is damaged (the row ${problem}): ` +
        'restore a copy of the data directory',
    );
  }

  /** Stores a finding, unless its area has an earlier one. */
  note(area: string, what: string): void {
    if (!this.#found.has(area)) this.#found.set(area, what);
  }

  /** Returns the first finding of each table or area; empty if there is none. */
  get found(): string[] {
    return [...this.#found.values()];
  }
}
