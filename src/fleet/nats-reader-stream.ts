import { jetstream, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import type { NatsConnection, QueuedIterator, Status } from '@nats-io/transport-node';
import { eventHeaders, type Names } from './names.ts';
import { readMessage } from './read-message.ts';
import type { Arrived, From, ReaderStream } from './reader.ts';
import { type StreamInfo, streamInfo } from './stream-info.ts';

/** The number of messages that the engine sends ahead. */
const AHEAD = 1000;
/** The engine says this often that a reading without messages still exists, in ms. */
const HEARTBEAT_MS = 2000;
const NANOS_PER_MS = 1e6;

/** What the client of NATS reports where the messages that follow may be those of another stream. */
const SUSPICIOUS = new Set([
  'heartbeats_missed',
  'stream_not_found',
  'consumer_not_found',
  'consumer_deleted',
  'ordered_consumer_recreated',
  'no_responders',
]);

/** The stream of a fleet, as JetStream keeps it, for readers. `filters` are the subjects that are read. */
export class NatsReaderStream implements ReaderStream {
  readonly #nc: NatsConnection;
  readonly #names: Names;
  readonly #filters: readonly string[];

  constructor(nc: NatsConnection, names: Names, filters: readonly string[] = [names.allEvents]) {
    this.#nc = nc;
    this.#names = names;
    this.#filters = filters;
  }

  info(): Promise<StreamInfo> {
    return streamInfo(this.#nc, this.#names);
  }

  async idAt(seq: number): Promise<string | null> {
    const subject = `$JS.API.DIRECT.GET.${this.#names.events}`;
    const message = await this.#nc.request(subject, JSON.stringify({ seq }), { timeout: 5000 });
    const about = message.headers;
    if (about?.code === 404) return null;
    if (about?.hasError) throw new Error(`message ${seq} of the stream: ${about.description}`);
    return about?.get(eventHeaders.id) || null;
  }

  async *read(
    from: From,
    { follow, signal }: { follow: boolean; signal: AbortSignal },
  ): AsyncGenerator<Arrived, void> {
    const start =
      'after' in from
        ? { opt_start_seq: from.after + 1 }
        : { opt_start_time: new Date(from.time).toISOString() };
    const consumer = await jetstream(this.#nc).consumers.get(this.#names.events, {
      filter_subjects: [...this.#filters],
      ...start,
    });
    if (!follow && (await consumer.info()).num_pending === 0) return;
    const messages = await consumer.consume({
      max_messages: AHEAD,
      idle_heartbeat: HEARTBEAT_MS,
    });
    using _watch = this.#endWhenInDoubt(messages, signal);
    for await (const message of messages) {
      const one = arrived(message);
      // What no mirror has written is nobody's event: it is passed over.
      if (one) yield one;
      if (!follow && message.info.pending === 0) break;
    }
    await messages.close();
  }

  /**
   * By itself the client would go on behind the last message that it saw, also in a stream that was set back. Whatever
   * happens to a stream happens while the connection or the reading is gone, so both end the reading.
   */
  #endWhenInDoubt(messages: ConsumerMessages, signal: AbortSignal): Disposable {
    const end = () => messages.stop();
    // Its type does not say that it can be stopped.
    const connection = this.#nc.status() as QueuedIterator<Status>;
    const reading = messages.status();
    signal.addEventListener('abort', end);
    void (async () => {
      for await (const { type } of connection) if (type === 'reconnect') end();
    })();
    void (async () => {
      for await (const { type } of reading) if (SUSPICIOUS.has(type)) end();
    })();
    if (signal.aborted) end();
    return {
      [Symbol.dispose]() {
        signal.removeEventListener('abort', end);
        end();
        connection.stop();
      },
    };
  }
}

function arrived(given: JsMsg): Arrived | null {
  const { subject, headers, seq, info } = given;
  const message = readMessage(subject, headers, seq, given.string());
  return message && { message, at: info.timestampNanos / NANOS_PER_MS };
}
