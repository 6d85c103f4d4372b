import { endpoints } from '../api/index.ts';
import { AppError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Client } from './client.ts';
import { framesOf } from './frames.ts';
import { type LogPiece, pagedLogs } from './paged-logs.ts';

/** The delay before a lost connection is opened again. */
const RETRY_MS = 500;

/**
 * The output of a process on one stream, from the byte `from` to its end. After a lost connection it continues at the
 * byte where that broke. Ends early when `signal` aborts.
 */
export async function* streamLogs(source: {
  client: Client;
  clock: Clock;
  processId: string;
  stream: 'stdout' | 'stderr';
  signal: AbortSignal;
  from?: number;
  /** Called when the connection is lost, and when it is back. */
  onConnection?: (isLost: boolean) => void;
}): AsyncGenerator<string, void> {
  const { client, clock, processId, stream, signal, onConnection } = source;
  const params = { process_id: processId };
  let from = source.from ?? 0;
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
        from = Number(id);
        yield (JSON.parse(data) as { text: string }).text;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof AppError) || error.code !== 'unreachable') throw error;
    }
    onConnection?.(true);
    await clock.sleep(RETRY_MS, signal).catch(() => undefined);
  }
}

/**
 * The output of a process on one stream from the byte `from` up to the byte `to`, and the position where it begins: a
 * later one than `from` where the bytes there are gone. Reads no more than that.
 */
export async function readLogs(source: {
  client: Client;
  clock: Clock;
  processId: string;
  stream: 'stdout' | 'stderr';
  from: number;
  to: number;
  signal: AbortSignal;
}): Promise<{ from: number; text: string }> {
  const { client, processId, to } = source;
  const own = await client.clientOf(processId);
  let from: number | null = null;
  const pieces: Buffer[] = [];
  // The end of this loop closes the connection.
  for await (const { offset, text } of own.streamEvents
    ? pagedLogs({ ...source, client: own })
    : streamedLogs({ ...source, client: own })) {
    if (offset >= to) break;
    from ??= offset;
    const bytes = Buffer.from(text);
    pieces.push(bytes.subarray(0, to - offset));
    if (offset + bytes.length >= to) break;
  }
  return { from: from ?? to, text: Buffer.concat(pieces).toString('utf8') };
}

/** The same as pieces, over one connection. */
async function* streamedLogs(source: {
  client: Client;
  processId: string;
  stream: 'stdout' | 'stderr';
  from: number;
  signal: AbortSignal;
}): AsyncGenerator<LogPiece, void> {
  const { client, processId, stream, from, signal } = source;
  const input = { params: { process_id: processId }, query: { stream, from_byte: from } };
  const response = await client.open(endpoints.streamProcessLogs, input, signal);
  for await (const { event, data } of framesOf(response)) {
    if (event === 'end') return;
    yield JSON.parse(data) as LogPiece;
  }
}
