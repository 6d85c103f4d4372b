import { mkdirSync } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { openForeignFile, readForeignFile } from '../lib/foreign-file.ts';

/** Where the output of a stream of a process is. */
export function logPath(directory: string, processId: string, stream: 'stdout' | 'stderr'): string {
  return path.join(directory, `${processId}.${stream}`);
}

/** Makes the directory of the logs, for the server's user alone. */
export function prepareLogs(directory: string): string {
  const logs = path.join(directory, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  return logs;
}

/** Removes what a process printed; answers how many bytes that was on disk. */
export async function removeLogs(directory: string, processId: string): Promise<number> {
  let bytes = 0;
  for (const stream of ['stdout', 'stderr'] as const) {
    const file = logPath(directory, processId, stream);
    bytes += await fs.stat(file).then(
      ({ size }) => size,
      () => 0,
    );
    for (const one of [file, notePath(file)]) await fs.rm(one, { force: true });
  }
  return bytes;
}

/** A stretch of what a process printed; `from` is where its first byte stood among all that was printed. */
export interface LogRange {
  from: number;
  bytes: Buffer;
}

/** Where the bytes of a log lie: the first half as it came, what follows in a ring. */
interface Layout {
  cap: number;
  total: number;
  /** So much will have been printed when the write that is under way is done: what that takes may be gone already. */
  coming: number;
}

/** A read that the writer overtakes is made again, so often. */
const TRIES = 5;

/**
 * What one stream of a process printed, on disk: at most `cap` bytes, of which the first half is the beginning and
 * the rest a ring with the end. As long as nothing was dropped the file is the plain output. Once something was, a
 * small file beside it says how much was printed, which tells where the ring begins.
 */
export class LogFile {
  readonly #path: string;
  readonly #cap: number;
  #file: fs.FileHandle | undefined;
  #note: fs.FileHandle | undefined;
  #total = 0;

  constructor(path: string, cap: number) {
    this.#path = path;
    this.#cap = cap;
  }

  /** Bytes printed so far, kept or not. */
  get total(): number {
    return this.#total;
  }

  /** Adds what was printed. One call at a time. */
  async append(chunk: Buffer): Promise<void> {
    const file = (this.#file ??= await fs.open(this.#path, 'wx', 0o600));
    const total = this.#total + chunk.length;
    const isNoted = total > this.#cap;
    if (isNoted) await this.#noteDown(this.#total, total);
    for (const { at, part } of placesOf(this.#cap, this.#total, chunk))
      await writeAll(file, part, at);
    this.#total = total;
    if (isNoted) await this.#noteDown(total, total);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    await this.#note?.close();
    this.#file = undefined;
    this.#note = undefined;
  }

  async #noteDown(total: number, coming: number): Promise<void> {
    this.#note ??= await fs.open(notePath(this.#path), 'wx', 0o600);
    const numbers = [this.#cap, total, coming].map((number) => String(number).padStart(16));
    await writeAll(this.#note, Buffer.from(`${numbers.join(' ')}\n`), 0);
  }
}

/** How much a stream printed, and whether some of it was dropped; nothing where there is no such file. */
export async function measureLog(file: string): Promise<{ total: number; truncated: boolean }> {
  const { cap, total } = await layoutOf(file);
  return { total, truncated: total > cap };
}

/** The whole bytes from `from` on, at most `limit`; what was dropped is left out: the range then begins later. */
export async function readLog(file: string, from: number, limit: number): Promise<LogRange> {
  for (let tries = 0; ; tries++) {
    const before = await layoutOf(file);
    const start = firstKept(before, from);
    const end = Math.min(start + limit, endOfStretch(before, start));
    const bytes = await readBytes(file, before, start, Math.max(start, end));
    // What was read of the ring may have been written over meanwhile: only the rest is given.
    const { cap, total, coming } = await layoutOf(file);
    const after = { cap, total: Math.max(total, coming) };
    const still = Math.min(firstKept(after, start), start + bytes.length);
    const right = bytes.subarray(still - start, endOfStretch(after, still) - start);
    if (right.length > 0 || bytes.length === 0 || tries === TRIES)
      return { from: still, bytes: right };
  }
}

/** The last `limit` bytes, or fewer where the beginning of them was dropped. */
export async function readLogEnd(file: string, limit: number): Promise<LogRange> {
  const { total } = await layoutOf(file);
  const from = Math.max(0, total - limit);
  const range = await readLog(file, from, limit);
  // With a small cap, the beginning, which is kept too, lies before what was dropped.
  return range.from + range.bytes.length >= total
    ? range
    : readLog(file, range.from + range.bytes.length, limit);
}

function notePath(file: string): string {
  return `${file}.printed`;
}

/** What the small file says is three numbers. */
const NOTE_BYTES = 1024;

async function layoutOf(file: string): Promise<Layout> {
  const note = await readForeignFile(path.dirname(file), path.basename(notePath(file)), {
    maxBytes: NOTE_BYTES,
  }).catch(() => null);
  const [cap, total, coming] = (note?.toString('utf8') ?? '').trim().split(/\s+/).map(Number);
  if (cap && total !== undefined && coming) return { cap, total, coming };
  const size = await fs.stat(file).then(
    (found) => found.size,
    () => 0,
  );
  return { cap: Number.MAX_SAFE_INTEGER, total: size, coming: size };
}

function headOf(cap: number): number {
  return cap === Number.MAX_SAFE_INTEGER ? cap : Math.floor(cap / 2);
}

/** The first byte from `from` on that is kept. */
function firstKept({ cap, total }: Pick<Layout, 'cap' | 'total'>, from: number): number {
  const head = headOf(cap);
  if (from < head) return Math.min(from, total);
  return Math.min(Math.max(from, head, total - (cap - head)), total);
}

/** Where the stretch of kept bytes that holds `start` ends. */
function endOfStretch({ cap, total }: Pick<Layout, 'cap' | 'total'>, start: number): number {
  const head = headOf(cap);
  return start < head && total > cap ? head : total;
}

/** The pieces of a chunk and where each goes: of a long one, what would be written over at once is left out. */
function placesOf(cap: number, total: number, chunk: Buffer): { at: number; part: Buffer }[] {
  const head = Math.floor(cap / 2);
  const ring = cap - head;
  const places: { at: number; part: Buffer }[] = [];
  if (total < head) places.push({ at: total, part: chunk.subarray(0, head - total) });
  const end = total + chunk.length;
  for (let from = Math.max(total, head, end - ring); from < end;) {
    const at = head + ((from - head) % ring);
    const length = Math.min(end - from, cap - at);
    places.push({ at, part: chunk.subarray(from - total, from - total + length) });
    from += length;
  }
  return places;
}

/** A disk that is nearly full takes a part of it first. */
async function writeAll(file: fs.FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

async function readBytes(
  file: string,
  { cap }: Layout,
  start: number,
  end: number,
): Promise<Buffer> {
  const bytes = Buffer.alloc(end - start);
  if (end === start) return bytes;
  const head = headOf(cap);
  const opened = await openForeignFile(path.dirname(file), path.basename(file));
  if (opened === null) return bytes.subarray(0, 0);
  const { handle } = opened;
  try {
    for (let from = start; from < end;) {
      const at = from < head ? from : head + ((from - head) % (cap - head));
      const length = Math.min(end - from, from < head ? head - from : cap - at);
      const { bytesRead } = await handle.read(bytes, from - start, length, at);
      if (bytesRead === 0) return bytes.subarray(0, from - start);
      from += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}
