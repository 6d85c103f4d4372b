import type { NatsConnection } from '@nats-io/transport-node';
import type { RuntimeEventRecord } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { EventScope } from '../client/event-scope.ts';
import { replay } from '../client/replay.ts';
import type { Clock } from '../lib/clock.ts';
import type { Names } from './names.ts';

/** The most events of a page. */
const PAGE = 500;
/** How often a node is asked for new events that the fleet's copy has not announced, in milliseconds. */
const LOOK_EVERY_MS = 1000;
/** The least time between two questions, in milliseconds: what comes meanwhile comes together. */
const PAUSE_MS = 50;

/**
 * The events of a node's scope after a seq, then those that come: read page by page, as soon as the fleet's copy has
 * another event of the node, and once a second at least. Yields the newest seq first, as a stream does. Throws
 * `unreachable` when the node no longer answers.
 */
export async function* followNode(
  given: {
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
  const { client, connection, names, node, clock } = given;
  const news = new News(clock);
  const subscription = connection.subscribe(names.eventsOf(node), { callback: () => news.come() });
  try {
    const { headers } = await client.ask(endpoints.getVersion, {}, signal);
    const latestSeq = Number(headers['x-seq'] ?? 0);
    yield { latestSeq };
    let after = from === 'latest' ? latestSeq : from;
    while (!signal?.aborted) {
      const { value, headers } = await replay(client, scope, { after_seq: after, limit: PAGE });
      yield* value;
      const next = headers['x-next-after-seq'];
      after = Number(next ?? value.at(-1)?.seq ?? after);
      if (next === undefined) await news.wait(signal);
    }
  } finally {
    subscription.unsubscribe();
  }
}

/** Says when to look again. */
class News {
  readonly #clock: Clock;
  #hasCome = false;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  come(): void {
    this.#hasCome = true;
    this.#wake();
  }

  /** Resolves a moment after news have come, at the latest after a second, or when the signal aborts. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController();
    this.#wake = () => over.abort();
    if (this.#hasCome) over.abort();
    const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
    await this.#clock.sleep(LOOK_EVERY_MS, either).catch(() => undefined);
    this.#hasCome = false;
    if (over.signal.aborted) await this.#clock.sleep(PAUSE_MS, signal).catch(() => undefined);
  }
}
