import { endpoints } from '../api/index.ts';
import { isUnreachable, unreachableError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Client } from './client.ts';
import { framesOf, recordIn } from './frames.ts';
import { UNREADABLE } from './wire.ts';

/** The delay before a lost connection is opened again. */
const RETRY_MS = 500;

/** The output of a process on one stream, from a byte on. */
interface LogSource {
  client: Client;
  clock: Clock;
  processId: string;
  stream: 'stdout' | 'stderr';
  from: number;
  signal: AbortSignal;
}

/**
 * The output of a process on one stream, from the byte `from` to its end. After a lost connection it continues at the
 * byte where that broke. Ends early when `signal` aborts.
 */
export async function* streamLogs(
  source: LogSource & {
    /** Called when the connection is lost, and when it is back. */
    onConnection?: (isLost: boolean) => void;
  },
): AsyncGenerator<string, void> {
  const { client, clock, processId, stream, signal, onConnection } = source;
  const params = { process_id: processId };
  let { from } = source;
  while (!signal.aborted) {
    try {
      const own = await client.clientOf(processId);
      if (own.streamEvents) {
        for await (const { text, next } of pagedLogs({ ...source, client: own, from })) {
          onConnection?.(false);
          from = next;
          yield text;
        }
        return;
      }
      const input = { params, query: { stream, from_byte: from } };
      const response = await own.open(endpoints.streamProcessLogs, input, signal);
      onConnection?.(false);
      for await (const { id, event, data } of framesOf(response)) {
        if (event === 'end') return;
        const { text } = pieceIn(data);
        from = Number(id);
        if (!Number.isSafeInteger(from)) throw unreachableError(UNREADABLE);
        yield text;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isUnreachable(error)) throw error;
    }
    onConnection?.(true);
    await clock.sleep(RETRY_MS, signal).catch(() => undefined);
  }
}

/**
 * The output of a process on one stream from the byte `from` up to the byte `to`, and the position where it begins: a
 * later one than `from` where the bytes there are gone. Reads no more than that.
 */
export async function readLogs(
  source: LogSource & { to: number },
): Promise<{ from: number; text: string }> {
  const { client, processId, to } = source;
  const own = await client.clientOf(processId);
  let from: number | null = null;
  const pieces: Buffer[] = [];
  const piecesOf = own.streamEvents ? pagedLogs : streamedLogs;
  // The end of this loop closes the connection.
  for await (const { offset, text } of piecesOf({ ...source, client: own })) {
    if (offset >= to) break;
    from ??= offset;
    const bytes = Buffer.from(text);
    pieces.push(bytes.subarray(0, to - offset));
    if (offset + bytes.length >= to) break;
  }
  return { from: from ?? to, text: Buffer.concat(pieces).toString('utf8') };
}

/** The same as pieces, over one connection. */
async function* streamedLogs({
  client,
  processId,
  stream,
  from,
  signal,
}: LogSource): AsyncGenerator<LogPiece, void> {
  const input = { params: { process_id: processId }, query: { stream, from_byte: from } };
  const response = await client.open(endpoints.streamProcessLogs, input, signal);
  for await (const { event, data } of framesOf(response)) {
    if (event === 'end') return;
    yield pieceIn(data);
  }
}

/** The piece in the data of a frame. Throws `unreachable` for any other data. */
function pieceIn(data: string): LogPiece {
  const { text, offset } = recordIn(data) as Partial<LogPiece>;
  if (typeof text === 'string' && typeof offset === 'number') return { text, offset };
  throw unreachableError(UNREADABLE);
}

/** A page of output has at most this many bytes. */
const PAGE_BYTES = 256 * 1024;
/** How soon a process is asked again that has just printed, in ms, and how seldom one that has not: the time doubles. */
const LOOK_SOON_MS = 100;
const LOOK_LATE_MS = 1000;

/** A part of the output of a process, and where it begins. */
interface LogPiece {
  offset: number;
  text: string;
}

/**
 * The output of a process on one stream from the byte `from` to its end, read page by page from servers that cannot
 * stream. A later reader starts at `next`. Ends early when `signal` aborts. Throws refusals, and `unreachable`.
 */
export async function* pagedLogs(
  source: LogSource,
): AsyncGenerator<LogPiece & { next: number }, void> {
  const { client, clock, processId, stream, signal } = source;
  const params = { process_id: processId };
  let from = source.from;
  let wait = LOOK_SOON_MS;
  while (!signal.aborted) {
    // Asked first: whatever it printed before its end is in the page that follows.
    const { ended_at } = await client.call(endpoints.getProcess, { params }, signal);
    const query = { stream, from_byte: from, max_bytes: PAGE_BYTES };
    const page = (await client.call(endpoints.getProcessLogs, { params, query }, signal))[stream];
    if (page && page.bytes > 0) {
      from = page.offset + page.bytes;
      wait = LOOK_SOON_MS;
      yield { offset: page.offset, text: page.content, next: from };
      continue;
    }
    if (ended_at !== null) return;
    await clock.sleep(wait, signal).catch(() => undefined);
    wait = Math.min(wait * 2, LOOK_LATE_MS);
  }
}
