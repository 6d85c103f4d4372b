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
      for await (const frame of framesOf(response)) {
        if (frame.event === 'end') return;
        const { text, next } = pieceIn(frame);
        from = next;
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
 * later one than `from` where the bytes there are gone. `bytes`: how many of these bytes are left. The text may be longer,
 * because it has a character of three bytes for each byte that is not UTF-8.
 */
export async function readLogs(
  source: LogSource & { to: number },
): Promise<{ from: number; bytes: number; text: string }> {
  const { client, processId, to } = source;
  const own = await client.clientOf(processId);
  let from: number | null = null;
  let bytes = 0;
  const texts: string[] = [];
  const piecesOf = own.streamEvents ? pagedLogs : streamedLogs;
  // The end of this loop closes the connection.
  for await (const piece of piecesOf({ ...source, client: own })) {
    const { offset, next } = piece;
    if (offset >= to) break;
    from ??= offset;
    bytes += Math.min(next, to) - offset;
    texts.push(next <= to ? piece.text : await beginOf(piece, { ...source, client: own }));
    if (next >= to) break;
  }
  return { from: from ?? to, bytes, text: texts.join('') };
}

/** The text of a piece up to the byte `to`. */
async function beginOf(
  { offset }: LogPiece,
  { client, processId, stream, to, signal }: LogSource & { to: number },
): Promise<string> {
  const query = { stream, from_byte: offset, max_bytes: to - offset };
  const input = { params: { process_id: processId }, query };
  return (await client.call(endpoints.getProcessLogs, input, signal))[stream]?.content ?? '';
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
  for await (const frame of framesOf(response)) {
    if (frame.event === 'end') return;
    yield pieceIn(frame);
  }
}

/** The piece in a frame. Throws `unreachable` for any other frame. */
function pieceIn({ id, data }: { id?: string | undefined; data: string }): LogPiece {
  const { text, offset } = recordIn(data) as Partial<LogPiece>;
  const next = Number(id);
  if (typeof text === 'string' && typeof offset === 'number' && Number.isSafeInteger(next))
    return { text, offset, next };
  throw unreachableError(UNREADABLE);
}

/** A page of output has at most this many bytes. */
const PAGE_BYTES = 256 * 1024;
/** How soon a process is asked again that has just printed, in ms, and how seldom one that has not: the time doubles. */
const LOOK_SOON_MS = 100;
const LOOK_LATE_MS = 1000;

/** A part of the output of a process: the positions where it begins and where the next one does. */
interface LogPiece {
  offset: number;
  next: number;
  text: string;
}

/**
 * The output of a process on one stream from the byte `from` to its end, read page by page from servers that cannot
 * stream. Ends early when `signal` aborts. Throws refusals, and `unreachable`.
 */
export async function* pagedLogs(source: LogSource): AsyncGenerator<LogPiece, void> {
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
