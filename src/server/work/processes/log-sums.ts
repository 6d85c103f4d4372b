import path from 'node:path';
import { crc32 } from 'node:zlib';
import { AppError } from '../../../api/errors.ts';
import { readForeignFile } from '../../../core/lib/foreign-file.ts';

/** Each checksum is of a block of so many bytes of the file. */
export const BLOCK_BYTES = 64 * 1024;
const FORMAT = 'cadre-log-1';
/** The maximum size of a file of checksums, which has 9 bytes for each block. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The checksums of a log that is closed. */
export interface LogSums {
  /** The size of the log file, in bytes. */
  size: number;
  /** The checksum of the layout file; of nothing if there is none. */
  layout: number;
  /** The checksum of each block of the log file. */
  blocks: readonly number[];
}

export function sumsPath(file: string): string {
  return `${file}.sums`;
}

/** Returns the text of a file of checksums; it ends with a checksum of itself. */
export function sumsText({ size, layout, blocks }: LogSums): string {
  const text = `${FORMAT} ${size} ${[layout, ...blocks].map(hex).join(' ')}`;
  return `${text} ${hex(crc32(text))}\n`;
}

/**
 * Resolves with the checksums of a log; null if there are none: the log is not closed, an earlier version has written
 * it, or the server was killed while it wrote them.
 */
export async function readSums(file: string): Promise<LogSums | null> {
  const bytes = await readForeignFile(path.dirname(file), path.basename(sumsPath(file)), {
    maxBytes: MAX_BYTES,
  }).catch(() => null);
  const text = bytes?.toString('utf8').trimEnd() ?? '';
  const end = text.lastIndexOf(' ');
  const [format, stored, ...sums] = text.slice(0, end).split(' ');
  if (format !== FORMAT || hex(crc32(text.slice(0, end))) !== text.slice(end + 1)) return null;
  const [layout = 0, ...blocks] = sums.map((sum) => Number.parseInt(sum, 16));
  return { size: Number(stored), layout, blocks };
}

/** Throws `storage_damaged` unless bytes have their checksum. */
export function verifyBytes(file: string, bytes: Buffer | string, sum: number | undefined): void {
  if (crc32(bytes) !== sum) throw damagedLog(file);
}

export function damagedLog(file: string): AppError {
  return new AppError(
    'storage_damaged',
    `the log file ${path.basename(file)} is damaged, because the disk or another program changed the file`,
  );
}

/** Computes the checksums of the blocks of a file while it is written. */
export class BlockSums {
  readonly #sums: number[] = [];
  /** The blocks that were written over: their bytes have to be read again. */
  readonly #stale = new Set<number>();
  #size: number;

  /** For a file of some bytes that another server wrote: all its blocks have to be read. */
  constructor(size = 0) {
    this.#size = size;
    for (let block = 0; block * BLOCK_BYTES < size; block++) this.#stale.add(block);
  }

  get size(): number {
    return this.#size;
  }

  /** Notes that `part` was written at the offset `at`. */
  add(at: number, part: Buffer): void {
    for (let done = 0; done < part.length;) {
      const from = at + done;
      const block = Math.floor(from / BLOCK_BYTES);
      const length = Math.min(part.length - done, (block + 1) * BLOCK_BYTES - from);
      if (from === this.#size)
        this.#sums[block] = crc32(part.subarray(done, done + length), this.#sums[block] ?? 0);
      else this.#stale.add(block);
      this.#size = Math.max(this.#size, from + length);
      done += length;
    }
  }

  /** Resolves with the checksums of all blocks. `read` reads bytes of the file. */
  async all(read: (at: number, length: number) => Promise<Buffer>): Promise<number[]> {
    for (const block of this.#stale) {
      const at = block * BLOCK_BYTES;
      this.#sums[block] = crc32(await read(at, Math.min(BLOCK_BYTES, this.#size - at)));
    }
    this.#stale.clear();
    return this.#sums;
  }
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, '0');
}
