import { createHash } from 'node:crypto';
import type { ResponseOf } from '../../../api/endpoint.ts';
import type { getProcessLogs } from '../../../api/processes.ts';
import { isAppError } from '../../../api/errors.ts';
import { ForeignFileError } from '../../../core/lib/foreign-file.ts';
import { continuationBytes, incompleteBytes } from '../../../core/lib/utf8.ts';
import type { StreamName } from './output.ts';
import type { ProcessEnd } from './process.ts';
import { logPath, type LogRange, measureLog, readLog, readLogEnd } from './log-file.ts';

type LogPart = NonNullable<ResponseOf<typeof getProcessLogs>['stdout']>;

/** A search reads a log in chunks of so many bytes. */
const SEARCH_BYTES = 256 * 1024;
const DIGEST_BYTES = 256 * 1024;
/** The maximum end of each stream that a turn of its session quotes. */
const QUOTED = { lines: 40, bytes: 4096 };

const streams = ['stdout', 'stderr'] as const;

/** The size of a process's output, and the end of each stream. */
export interface Printed {
  output: ProcessEnd['output'];
  tails: Record<StreamName, string>;
}

export const nothingPrinted: Printed = { output: null, tails: { stdout: '', stderr: '' } };

/**
 * Resolves with the size and the end of a process's output, read from its logs in a directory; an unreadable log counts as
 * empty.
 */
export async function readPrinted(directory: string, processId: string): Promise<Printed> {
  const paths = streams.map((stream) => logPath(directory, processId, stream));
  const [stdout, stderr] = await Promise.all(
    paths.map((file) => readTail(file, QUOTED).catch(unlessUnreadable)),
  );
  const [isStdoutCut = true, isStderrCut = true] = await Promise.all(
    paths.map(async (file) => (await measureLog(file).catch(unlessUnreadable))?.truncated),
  );
  return {
    output: {
      stdout_bytes: stdout?.total_bytes ?? 0,
      stderr_bytes: stderr?.total_bytes ?? 0,
      stdout_truncated: isStdoutCut,
      stderr_truncated: isStderrCut,
    },
    tails: { stdout: stdout?.content ?? '', stderr: stderr?.content ?? '' },
  };
}

/** Resolves with a digest of all stored output of a process and of `more`; an unreadable log counts as empty. */
export async function digestPrinted(
  directory: string,
  processId: string,
  more: string,
): Promise<string> {
  const hash = createHash('sha256').update(more);
  for (const stream of streams) {
    const file = logPath(directory, processId, stream);
    hash.update(`\0${stream}\0`);
    for (let from = 0; ;) {
      const range = await readLog(file, from, DIGEST_BYTES).catch(unlessUnreadable);
      if (!range || range.bytes.length === 0) break;
      hash.update(range.bytes);
      from = range.from + range.bytes.length;
    }
  }
  return hash.digest('hex');
}

/** Returns null for a log that is damaged, or that another program has replaced, for example by a link; throws any other error. */
function unlessUnreadable(error: unknown): null {
  if (isAppError(error, 'storage_damaged') || error instanceof ForeignFileError) return null;
  throw error;
}

/**
 * Resolves with the end of a log, or of its part before the offset `before`, within both bounds and in whole
 * characters. Reads at most `bytes` of the file.
 */
export async function readTail(
  path: string,
  bounds: { lines: number; bytes: number; before?: number | undefined },
): Promise<LogPart & { offset: number }> {
  const measured = await measureLog(path);
  const { total } = measured;
  const end = Math.min(bounds.before ?? total, total);
  const { from, bytes } =
    bounds.lines === 0
      ? { from: end, bytes: Buffer.alloc(0) }
      : await readBefore(path, end, bounds.bytes, end === total);
  const begin = from === 0 ? 0 : continuationBytes(bytes);
  const whole = bytes.subarray(begin, bytes.length - incompleteBytes(bytes));
  const tail = lastLines(whole, bounds.lines);
  const next = from + begin + whole.length;
  return partOf(measured, { offset: next - tail.length, text: tail.toString('utf8'), next });
}

/** Resolves with the next part of a log from a position on, in whole characters; empty if there is none yet. */
export async function readOn(
  path: string,
  from: number,
  limit: number,
  isOver: boolean,
): Promise<LogPart & { offset: number }> {
  return partOf(await measureLog(path), await readPiece(path, from, limit, isOver));
}

function partOf(
  { total, truncated, verified }: Awaited<ReturnType<typeof measureLog>>,
  { offset, text: content, next }: Piece,
): LogPart & { offset: number } {
  const bytes = next - offset;
  const isPart = truncated || bytes < total;
  return { content, bytes, total_bytes: total, truncated: isPart, verified, offset };
}

async function readBefore(
  path: string,
  end: number,
  limit: number,
  isEnd: boolean,
): Promise<LogRange> {
  if (isEnd) return readLogEnd(path, limit);
  const range = await readLog(path, Math.max(0, end - limit), Math.min(limit, end));
  // If the bytes before `end` were dropped, the range may lie after it.
  return { from: range.from, bytes: range.bytes.subarray(0, Math.max(0, end - range.from)) };
}

/** Whether a log contains a text, before or behind what was dropped of it. */
export async function hasText(path: string, text: string): Promise<boolean> {
  const needle = Buffer.from(text);
  for (let from = 0; ;) {
    const range = await readLog(path, from, SEARCH_BYTES + needle.length);
    if (range.bytes.length === 0) return false;
    if (range.bytes.includes(needle)) return true;
    const isWhole = range.bytes.length === SEARCH_BYTES + needle.length;
    // A shorter range ends where the log ends, or where its middle was dropped.
    from = range.from + (isWhole ? SEARCH_BYTES : range.bytes.length);
  }
}

/** A piece of a log, and the offset of the next one. */
export interface Piece {
  offset: number;
  text: string;
  next: number;
}

/** Resolves with the next piece of a log, in whole characters; empty if there is none yet. */
export async function readPiece(
  path: string,
  from: number,
  limit: number,
  isOver: boolean,
): Promise<Piece> {
  const range = await readLog(path, from, limit);
  const piece = wholeCharacters(range, range.from > from);
  if (piece.text !== '' || range.bytes.length === 0) return piece;
  // An incomplete character: its other bytes were dropped, were never printed, or are still to come.
  const end = range.from + range.bytes.length;
  const rest = await readLog(path, end, limit);
  if (rest.from > end) return wholeCharacters(rest, true);
  if (!isOver || rest.bytes.length > 0) return piece;
  return { offset: range.from, text: range.bytes.toString('utf8'), next: end };
}

function wholeCharacters({ from, bytes }: LogRange, isAfterGap: boolean): Piece {
  const begin = isAfterGap ? continuationBytes(bytes) : 0;
  const whole = bytes.subarray(begin, bytes.length - incompleteBytes(bytes));
  return { offset: from + begin, text: whole.toString('utf8'), next: from + begin + whole.length };
}

function lastLines(bytes: Buffer, lines: number): Buffer {
  let at = bytes.length - 1;
  // The line feed at the end of the last line begins no further line.
  for (let found = 0; at > 0; at--) {
    if (bytes[at - 1] !== 0x0a) continue;
    if (++found === lines) return bytes.subarray(at);
  }
  return bytes;
}
