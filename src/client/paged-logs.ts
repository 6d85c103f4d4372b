import { endpoints } from '../api/index.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Client } from './client.ts';

/** A page of output has at most this many bytes. */
const PAGE_BYTES = 256 * 1024;
/** How soon a process is asked again that has just printed, in ms, and how seldom one that has not: the time doubles. */
const LOOK_SOON_MS = 100;
const LOOK_LATE_MS = 1000;

/** A part of the output of a process, and where it begins. */
export interface LogPiece {
  offset: number;
  text: string;
}

/**
 * The output of a process on one stream from the byte `from` to its end, asked for page by page: for servers that are
 * reached where nothing streams. `next` is where a later reading goes on. Ends early when `signal` aborts. Throws what the server refuses, and `unreachable`.
 */
export async function* pagedLogs(source: {
  client: Pick<Client, 'call'>;
  clock: Clock;
  processId: string;
  stream: 'stdout' | 'stderr';
  from: number;
  signal: AbortSignal;
}): AsyncGenerator<LogPiece & { next: number }, void> {
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
