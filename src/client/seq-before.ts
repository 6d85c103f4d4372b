import { endpoints } from '../api/index.ts';
import type { Client } from './client.ts';

/**
 * The last seq before the first event that is not older than `time`, in Unix milliseconds. Found by binary search with
 * one event a step.
 */
export async function seqBefore(client: Pick<Client, 'ask'>, time: number): Promise<number> {
  const first = async (after_seq: number) =>
    client.ask(endpoints.replayEvents, { query: { after_seq, limit: 1 } });
  let low = 0;
  let high = Number((await first(0)).headers['x-seq'] ?? 0);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = (await first(middle)).value;
    if (event && event.created_at < time) low = event.seq;
    else high = middle;
  }
  return low;
}
