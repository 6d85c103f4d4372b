import { endpoints } from '../api/index.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Client } from './client.ts';
import { framesOf } from './frames.ts';

/** The delay before a lost connection is opened again. */
const RETRY_MS = 500;

/**
 * The output of a process on one stream, from the byte `from` to its end. After a lost connection it continues at the
 * byte where that broke. Ends early when `signal` aborts.
 */
export async function* streamLogs(given: {
  client: Client;
  clock: Clock;
  processId: string;
  stream: 'stdout' | 'stderr';
  signal: AbortSignal;
  from?: number;
}): AsyncGenerator<string, void> {
  const { client, clock, processId, stream, signal } = given;
  const params = { process_id: processId };
  let from = given.from ?? 0;
  while (!signal.aborted) {
    try {
      const input = { params, query: { stream, from_byte: from } };
      const response = await client.open(endpoints.streamProcessLogs, input, undefined, { signal });
      for await (const { id, event, data } of framesOf(response)) {
        if (event === 'end') return;
        from = Number(id);
        yield (JSON.parse(data) as { text: string }).text;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof AppError) || error.code !== 'unreachable') throw error;
    }
    await clock.sleep(RETRY_MS, signal).catch(() => undefined);
  }
}
