import { close, constants, mkdirSync, open, write } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { openForeignFile, readForeignFile } from '../../../core/lib/foreign-file.ts';
import {
  BLOCK_BYTES,
  BlockSums,
  damagedLog,
  type LogSums,
  readSums,
  sumsPath,
  sumsText,
  verifyBytes,
} from './log-sums.ts';

export function logPath(directory: string, processId: string, stream: 'stdout' | 'stderr'): string {
  return path.join(directory, `${processId}.${stream}`);
}

/** Creates the directory of the logs, accessible only to the server's user, and returns its path. */
export function prepareLogs(directory: string): string {
  const logs = path.join(directory, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  return logs;
}

/** Removes the logs of a process. Resolves with their size on disk, in bytes. */
export async function removeLogs(directory: string, processId: string): Promise<number> {
  let bytes = 0;
  for (const stream of ['stdout', 'stderr'] as const) {
    const file = logPath(directory, processId, stream);
    // The checksums go first: a log without checksums is not damaged.
    for (const one of [sumsPath(file), file, layoutPath(file)]) {
      bytes += await sizeOf(one);
      await fs.rm(one, { force: true });
    }
  }
  return bytes;
}

/** A range of a process's output; `from` is the offset of its first byte in the whole output. */
export interface LogRange {
  from: number;
  bytes: Buffer;
}

/** The layout of a log: the first half of `cap` is the beginning of the output, the second half a ring. */
interface Layout {
  cap: number;
  total: number;
  /** The total once the write under way is done. The bytes that this write replaces may be lost already. */
  coming: number;
  /** The checksums of the file; null if it has none. */
  sums: LogSums | null;
}

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
const CONTINUE = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;

/** The number of bytes that a check of a log reads at a time: some whole blocks. */
const VERIFY_BYTES = 16 * BLOCK_BYTES;

/** The maximum number of retries of a read whose range the writer overwrites meanwhile. */
const RETRIES = 5;

/**
 * The log of one stream of a process: a file of at most `cap` bytes, of which the first half is the beginning of the
 * output and the second half a ring with its end. Until bytes are dropped, the file is the plain output. From then on,
 * a small layout file beside it holds the number of bytes printed, from which the start of the ring is computed. When
 * the log is closed, a third file gets the checksums of both, by which every read is verified.
 */
export class LogFile {
  /** The number of bytes that the file can have. */
  readonly cap: number;
  readonly #path: string;
  readonly #flags: number;
  #file: number | undefined;
  #layoutFile: number | undefined;
  #total: number;
  #layout: string;
  /** null after a failed write, which may have written a part. */
  #sums: BlockSums | null;

  /** `stored`: what another server has written. */
  constructor(path: string, cap: number, stored?: { total: number; size: number; layout: string }) {
    this.#path = path;
    this.cap = cap;
    this.#flags = stored ? CONTINUE : CREATE;
    this.#total = stored?.total ?? 0;
    this.#layout = stored?.layout ?? '';
    this.#sums = new BlockSums(stored?.size);
  }

  /** Continues the log of a process that another server has started. The other server must have ended. */
  static async continue(file: string, cap: number): Promise<LogFile> {
    // A server that was killed may have closed the log, and not stored the end of the process.
    await fs.rm(sumsPath(file), { force: true });
    const size = await sizeOf(file);
    // A write under way when the server was killed is made again: each byte has one place.
    const { cap: used, total, coming } = await layoutOf(file);
    if (used === Number.MAX_SAFE_INTEGER)
      return new LogFile(file, Math.max(cap, size), { total, size, layout: '' });
    return new LogFile(file, used, { total, size, layout: layoutText(used, total, coming) });
  }

  /** The number of bytes printed so far, including those dropped. */
  get total(): number {
    return this.#total;
  }

  /** Appends output. Calls must not overlap. */
  async append(chunk: Buffer): Promise<void> {
    const sums = this.#sums;
    this.#sums = null;
    const file = (this.#file ??= await openAt(this.#path, this.#flags, 0o600));
    const total = this.#total + chunk.length;
    const hasRing = total > this.cap;
    if (hasRing) await this.#writeLayout(this.#total, total);
    for (const { at, part } of writesOf(this.cap, this.#total, chunk)) {
      await writeAll(file, part, at);
      sums?.add(at, part);
    }
    this.#total = total;
    if (hasRing) await this.#writeLayout(total, total);
    this.#sums = sums;
  }

  /** Writes the checksums and closes the files. The output can be read before that. */
  async close(): Promise<void> {
    const files = [this.#file, this.#layoutFile];
    const isThere = this.#file !== undefined || this.#total > 0;
    this.#file = undefined;
    this.#layoutFile = undefined;
    const sums = this.#sums;
    this.#sums = null;
    try {
      if (isThere && sums) await this.#writeSums(sums);
    } finally {
      for (const one of files) if (one !== undefined) await closeFile(one);
    }
  }

  async #writeSums(sums: BlockSums): Promise<void> {
    const { size } = sums;
    const blocks = await sums.all((at, length) =>
      readBytes(this.#path, { cap: Number.MAX_SAFE_INTEGER, sums: null }, at, at + length),
    );
    const text = sumsText({ size, layout: crc32(this.#layout), blocks });
    const sumsFile = await openAt(sumsPath(this.#path), CREATE, 0o600);
    try {
      await writeAll(sumsFile, Buffer.from(text), 0);
    } finally {
      await closeFile(sumsFile);
    }
  }

  async #writeLayout(total: number, coming: number): Promise<void> {
    this.#layoutFile ??= await openAt(layoutPath(this.#path), this.#flags, 0o600);
    this.#layout = layoutText(this.cap, total, coming);
    await writeAll(this.#layoutFile, Buffer.from(this.#layout), 0);
  }
}

/**
 * Resolves with the number of bytes printed, whether some were dropped, and whether reads are verified by checksums; 0
 * and false without a log. Throws `storage_damaged` if the size or the layout is not what was written.
 */
export async function measureLog(
  file: string,
): Promise<{ total: number; truncated: boolean; verified: boolean }> {
  const { cap, total, sums } = await layoutOf(file);
  return { total, truncated: total > cap, verified: sums !== null };
}

/**
 * Compares all of a log with its checksums. Resolves with its size in bytes, and whether it has checksums. Throws
 * `storage_damaged` if it differs.
 */
export async function verifyLog(file: string): Promise<{ bytes: number; verified: boolean }> {
  const { sums } = await layoutOf(file);
  if (sums === null) return { bytes: await sizeOf(file), verified: false };
  const { size } = sums;
  for (let at = 0; at < size; at += VERIFY_BYTES) {
    const end = Math.min(size, at + VERIFY_BYTES);
    const read = await readBytes(file, { cap: Number.MAX_SAFE_INTEGER, sums }, at, end);
    if (read.length < end - at) throw damagedLog(file);
  }
  return { bytes: size, verified: true };
}

/**
 * Resolves with at most `limit` stored bytes from `from` on. If bytes there were dropped, the range begins later. Throws
 * `storage_damaged` if the log has checksums and a block that is read differs.
 */
export async function readLog(file: string, from: number, limit: number): Promise<LogRange> {
  for (let retries = 0; ; retries++) {
    const before = await layoutOf(file);
    const start = firstStored(before, from);
    const end = Math.min(start + limit, stretchEnd(before, start));
    const bytes = await readBytes(file, before, start, Math.max(start, end));
    // The writer may have overwritten a part of the ring meanwhile, so only the bytes still stored are returned.
    const { cap, total, coming } = await layoutOf(file);
    const after = { cap, total: Math.max(total, coming) };
    const first = Math.min(firstStored(after, start), start + bytes.length);
    const stored = bytes.subarray(first - start, stretchEnd(after, first) - start);
    if (stored.length > 0 || bytes.length === 0 || retries === RETRIES)
      return { from: first, bytes: stored };
  }
}

/** Resolves with the last `limit` bytes, or fewer if the first of them were dropped. */
export async function readLogEnd(file: string, limit: number): Promise<LogRange> {
  const { total } = await layoutOf(file);
  const from = Math.max(0, total - limit);
  const range = await readLog(file, from, limit);
  // With a small cap, the range may lie in the stored beginning, before the dropped bytes: the end is read after it.
  return range.from + range.bytes.length >= total
    ? range
    : readLog(file, range.from + range.bytes.length, limit);
}

function layoutText(...numbers: number[]): string {
  return `${numbers.map((number) => String(number).padStart(16)).join(' ')}\n`;
}

function layoutPath(file: string): string {
  return `${file}.printed`;
}

/** The maximum size of a layout file, which holds three numbers. */
const LAYOUT_BYTES = 1024;

async function layoutOf(file: string): Promise<Layout> {
  // The checksums first: once they are there, nothing else changes.
  const sums = await readSums(file);
  const layout = await readForeignFile(path.dirname(file), path.basename(layoutPath(file)), {
    maxBytes: LAYOUT_BYTES,
  }).catch(() => null);
  const text = layout?.toString('utf8') ?? '';
  const size = await sizeOf(file);
  if (sums) {
    if (sums.size !== size) throw damagedLog(file);
    verifyBytes(layoutPath(file), layout ?? '', sums.layout);
  }
  const [cap = 0, total = 0, coming = 0] = text.trim().split(/\s+/).map(Number);
  const isLayout = [cap, total, coming].every(
    (number) => Number.isSafeInteger(number) && number > 0,
  );
  if (isLayout) return { cap, total, coming, sums };
  return { cap: Number.MAX_SAFE_INTEGER, total: size, coming: size, sums };
}

/** Resolves with the size of a file; 0 if there is none. */
function sizeOf(file: string): Promise<number> {
  return fs.stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Returns the number of bytes of the output's beginning that a log stores. */
function headBytes(cap: number): number {
  return cap === Number.MAX_SAFE_INTEGER ? cap : Math.floor(cap / 2);
}

/** Returns the offset of the first stored byte from `from` on. */
function firstStored({ cap, total }: Pick<Layout, 'cap' | 'total'>, from: number): number {
  const head = headBytes(cap);
  if (from < head) return Math.min(from, total);
  return Math.min(Math.max(from, head, total - (cap - head)), total);
}

/** Returns the end of the contiguous stored bytes that begin at `start`. */
function stretchEnd({ cap, total }: Pick<Layout, 'cap' | 'total'>, start: number): number {
  const head = headBytes(cap);
  return start < head && total > cap ? head : total;
}

/** Returns the writes that store a chunk. Bytes of a long chunk that its own end would overwrite are left out. */
function writesOf(cap: number, total: number, chunk: Buffer): { at: number; part: Buffer }[] {
  const head = Math.floor(cap / 2);
  const ring = cap - head;
  const writes: { at: number; part: Buffer }[] = [];
  if (total < head) writes.push({ at: total, part: chunk.subarray(0, head - total) });
  const end = total + chunk.length;
  for (let from = Math.max(total, head, end - ring); from < end;) {
    const at = head + ((from - head) % ring);
    const length = Math.min(end - from, cap - at);
    writes.push({ at, part: chunk.subarray(from - total, from - total + length) });
    from += length;
  }
  return writes;
}

// Each process opens and writes one or two files: the objects of fs/promises cost twice the time of these.
const openAt = promisify(open);
const writeAt = promisify(write);
const closeFile = promisify(close);

/** Writes all bytes, in several writes if need be, because a disk that is nearly full accepts only a part of them. */
async function writeAll(file: number, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await writeAt(file, bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

async function readBytes(
  file: string,
  { cap, sums }: Pick<Layout, 'cap' | 'sums'>,
  start: number,
  end: number,
): Promise<Buffer> {
  const bytes = Buffer.alloc(end - start);
  if (end === start) return bytes;
  const head = headBytes(cap);
  const opened = await openForeignFile(path.dirname(file), path.basename(file));
  if (opened === null) return bytes.subarray(0, 0);
  const { handle } = opened;
  try {
    for (let from = start; from < end;) {
      const at = from < head ? from : head + ((from - head) % (cap - head));
      const length = Math.min(end - from, from < head ? head - from : cap - at);
      const into = bytes.subarray(from - start, from - start + length);
      const bytesRead = sums
        ? await readVerified(file, handle, sums, { into, at })
        : (await handle.read(into, 0, length, at)).bytesRead;
      if (bytesRead === 0) return bytes.subarray(0, from - start);
      from += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

/** Reads the part of a block at an offset. Throws `storage_damaged` unless the block has its checksum. */
async function readVerified(
  file: string,
  handle: fs.FileHandle,
  { size, blocks }: LogSums,
  { into, at }: { into: Buffer; at: number },
): Promise<number> {
  const block = Math.floor(at / BLOCK_BYTES);
  const begin = block * BLOCK_BYTES;
  const whole = Buffer.alloc(Math.max(0, Math.min(BLOCK_BYTES, size - begin)));
  const { bytesRead } = await handle.read(whole, 0, whole.length, begin);
  verifyBytes(file, whole.subarray(0, bytesRead), blocks[block]);
  return whole.copy(into, 0, at - begin);
}
