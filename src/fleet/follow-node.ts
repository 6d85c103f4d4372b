import type { NatsConnection } from '@nats-io/transport-node';
import type { RuntimeEventRecord } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { EventScope } from '../client/event-scope.ts';
import { replay } from '../client/replay.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Names } from './names.ts';
import { LogWakeup } from './log-wakeup.ts';

/** The most events of a page. */
const PAGE = 500;
/**
 * The shortest and the longest time between two requests to a node, in milliseconds. The time doubles while the node has
 * no events. An announced event is requested at once.
 */
const LOOK_SOON_MS = 100;
const LOOK_LATE_MS = 2000;
/** The least time between two questions, in milliseconds: what comes meanwhile comes together. */
const PAUSE_MS = 50;

/**
 * The events of a node's scope after a seq, then those that come: read page by page, as soon as the fleet's copy has
 * another event of the node, and every two seconds at least. Yields the newest seq first, as a stream does. Throws
 * `unreachable` when the node no longer answers.
 */
export async function* followNode(
  deps: {
    client: Pick<Client, 'ask'>;
    connection: NatsConnection;
    names: Names;
    node: string;
    clock: Clock;
  },
  scope: EventScope,
  from: number | 'latest',
  signal: AbortSignal | undefined,
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
  const { client, connection, names, node, clock } = deps;
  const subject = names.newsOf(names.eventsOf(node));
  using news = new LogWakeup({ connection, clock, subject });
  const { headers } = await client.ask(endpoints.getVersion, {}, signal);
  const latestSeq = Number(headers['x-seq'] ?? 0);
  yield { latestSeq };
  let after = from === 'latest' ? latestSeq : from;
  let wait = LOOK_SOON_MS;
  while (!signal?.aborted) {
    const { value, headers } = await replay(client, scope, { after_seq: after, limit: PAGE });
    yield* value;
    const next = headers['x-next-after-seq'];
    after = Number(next ?? value.at(-1)?.seq ?? after);
    if (value.length > 0) wait = LOOK_SOON_MS;
    if (next === undefined) await news.more(wait, PAUSE_MS, signal);
    wait = Math.min(wait * 2, LOOK_LATE_MS);
  }
}
