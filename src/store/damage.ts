import { AppError } from '../errors.ts';
import { checksum } from './checksum.ts';

/** What was found damaged since the database was opened: whoever reads it is refused, and health tells of it. */
export class Damage {
  /** What was found first in each place. */
  readonly #found = new Map<string, string>();

  /**
   * Throws `storage_damaged`, naming the table and the row, unless `sum` is the checksum of the text. The row's own
   * number or id goes into the checksum as its seed.
   */
  verify(
    text: string,
    sum: number,
    where: { table: string; row: string | number },
    seed = 0,
  ): void {
    if (checksum(text, seed) === sum) return;
    const { table, row } = where;
    this.note(table, `row ${row} of table ${table}`);
    throw new AppError(
      'storage_damaged',
      `row ${row} of table ${table} is not what was written: the disk or another program changed it; ` +
        'restore a copy of the data directory',
    );
  }

  /** Keeps what was found in a place, unless something was found there before. */
  note(place: string, what: string): void {
    if (!this.#found.has(place)) this.#found.set(place, what);
  }

  /** What was found, one entry a table; empty where nothing was. */
  get found(): string[] {
    return [...this.#found.values()];
  }
}
