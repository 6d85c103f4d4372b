import { checksum } from '../../../core/store/corruption-log.ts';
import type { SideFile } from '../../../core/store/side-file.ts';
import { corruption } from '../../../core/store/storage-error.ts';

/** The number of blocks of words that one step reads, of about 1 KB each. */
const STEP_BLOCKS = 64;

/** A reading of the words of a table: its last block, and the checksum of all blocks up to that. */
interface Reading {
  key: number;
  after: number;
  sum: number;
}

/** The checksums of the words of full tables, which no longer change. Each step takes about a millisecond. */
export class ShardSums {
  readonly #file: SideFile;
  readonly #stored: Map<number, number>;
  #reading: Reading | null = null;
  #checked = Number.POSITIVE_INFINITY;

  constructor(file: SideFile) {
    this.#file = file;
    this.#stored = new Map(file.all<[number, number]>('SELECT shard, sum FROM shard_sums'));
  }

  /** Begins to check the next of some tables, from the newest to the oldest and then again. */
  begin(keys: readonly number[]): void {
    const known = keys.filter((key) => this.#stored.has(key)).toSorted((a, b) => b - a);
    const key = known.find((one) => one < this.#checked) ?? known[0];
    if (key === undefined || this.#reading) return;
    this.#checked = key;
    this.#reading = { key, after: -1, sum: 0 };
  }

  /** Continues a check, or computes a missing checksum. Returns false if there is nothing to do. Throws SqliteError. */
  step(keys: readonly number[]): boolean {
    const fresh = keys.find((key) => !this.#stored.has(key));
    if (fresh !== undefined) this.#reading ??= { key: fresh, after: -1, sum: 0 };
    const reading = this.#reading;
    if (reading === null) return false;
    const isThere = keys.includes(reading.key);
    if (isThere && readBlocks(this.#file, reading)) return true;
    this.#reading = null;
    if (isThere) this.#compare(reading);
    return true;
  }

  forget(key: number): void {
    this.#stored.delete(key);
    this.#file.run('DELETE FROM shard_sums WHERE shard = ?', key);
  }

  #compare(reading: Reading): void {
    const { key } = reading;
    const sum = sumOf(this.#file, reading);
    const stored = this.#stored.get(key);
    if (stored === sum) return;
    if (stored !== undefined)
      throw corruption(`the words of table ${key} are not what was written`);
    this.#file.run('INSERT INTO shard_sums (shard, sum) VALUES (?, ?)', key, sum);
    this.#stored.set(key, sum);
  }
}

/** Reads some blocks; returns false after the last one. */
export function readBlocks(file: Pick<SideFile, 'all'>, reading: Reading): boolean {
  const blocks = file.all<[number, string]>(
    `SELECT blockid, hex(block) FROM w${reading.key}_segments WHERE blockid > ? ORDER BY blockid LIMIT ${STEP_BLOCKS}`,
    reading.after,
  );
  for (const [id, block] of blocks) {
    reading.sum = checksum(`${id} ${block}`, reading.sum);
    reading.after = Math.max(id, reading.after + 1);
  }
  return blocks.length === STEP_BLOCKS;
}

export function sumOf(file: Pick<SideFile, 'all'>, { key, sum }: Reading): number {
  const segments = file.all(
    `SELECT level, idx, start_block, leaves_end_block, end_block, hex(root) FROM w${key}_segdir ORDER BY level, idx`,
  );
  return checksum(JSON.stringify(segments), sum);
}
