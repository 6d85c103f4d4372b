import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import type { Client } from './client.ts';
import type { EventScope } from './event-scope.ts';
import { replay } from './replay.ts';

/** The stored events of a scope after a seq, read page by page. `onGap` is called with each report of missing events. */
export async function* storedEvents(
  client: Pick<Client, 'ask'>,
  scope: EventScope,
  from: number,
  onGap: (gap: StreamGap) => void,
): AsyncGenerator<RuntimeEventRecord, void> {
  let after = from;
  let trimmed = 0;
  for (;;) {
    const { value, headers } = await replay(client, scope, { after_seq: after, limit: 10_000 });
    const gone = Number(headers['x-trimmed-seq'] ?? 0);
    if (gone > trimmed) onGap({ requested: after, trimmed_seq: gone, latest_seq: gone });
    trimmed = gone;
    yield* value;
    const next = headers['x-next-after-seq'];
    if (next === undefined) return;
    after = Number(next);
  }
}
