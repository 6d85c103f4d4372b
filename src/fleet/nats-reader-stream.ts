import {
  errors,
  type Msg,
  type NatsConnection,
  type QueuedIterator,
} from '@nats-io/transport-node';
import type { Clock } from '../core/lib/clock.ts';
import { EngineRefusal, explaining } from './engine-error.ts';
import { eventHeaders, type Names } from './names.ts';
import { LogWakeup } from './log-wakeup.ts';
import { readMessage } from './read-message.ts';
import type { Arrived, From, ReaderStream } from './reader.ts';
import { type StreamInfo, streamInfo } from './stream-info.ts';

/** A page has at most this many messages, and ends with the one that reaches this many bytes. */
const PAGE = 1000;
const PAGE_BYTES = 4 * 1024 * 1024;
/** How long the engine may take for a page, and for its first message and any other answer, in ms. */
const PAGE_MS = 10_000;
const ANSWER_MS = 3000;
/** What comes within this time comes as one page, in ms. */
const PAUSE_MS = 5;
/** At the latest after this time it is looked for more, in ms: what tells of it may get lost. */
const LOOK_MS = 2000;

/** Where a page begins, as the engine has it. */
type Start = { seq: number } | { start_time: string };

/**
 * The stream of a fleet, as JetStream keeps it, for readers. It is read by requests alone, from whichever replica answers:
 * a consumer may be told to deliver anywhere, so nobody who only reads may make one.
 */
export class NatsReaderStream implements ReaderStream {
  readonly #nc: NatsConnection;
  readonly #names: Names;
  readonly #clock: Clock;
  readonly #filter: string;

  /** `filter`: the subject that is read, perhaps with wildcards. */
  constructor(nc: NatsConnection, names: Names, clock: Clock, filter: string = names.allEvents) {
    this.#nc = nc;
    this.#names = names;
    this.#clock = clock;
    this.#filter = filter;
  }

  info(): Promise<StreamInfo> {
    return this.#asked(() => streamInfo(this.#nc, this.#names));
  }

  idAt(seq: number): Promise<string | null> {
    return this.#asked(() => this.#idAt(seq));
  }

  #asked<T>(request: () => Promise<T>): Promise<T> {
    return explaining(this.#nc, this.#names, request);
  }

  async #idAt(seq: number): Promise<string | null> {
    const subject = `$JS.API.DIRECT.GET.${this.#names.events}`;
    const asked = JSON.stringify({ seq });
    const { headers: about } = await this.#nc.request(subject, asked, { timeout: ANSWER_MS });
    if (about?.code === 404) return null;
    if (about?.hasError)
      throw new Error(`cannot read message ${seq} of the NATS stream: ${about.description}`);
    return about?.get(eventHeaders.id) || null;
  }

  async *read(
    from: From,
    { follow, signal }: { follow: boolean; signal: AbortSignal },
  ): AsyncGenerator<Arrived, void> {
    const floor = 'after' in from ? from.after : 0;
    const doubt = new AbortController();
    using news = new LogWakeup({
      connection: this.#nc,
      clock: this.#clock,
      subject: this.#names.newsOf(this.#filter),
      floor,
      onDoubt: () => doubt.abort(),
    });
    const over = AbortSignal.any([signal, doubt.signal]);
    const end = follow ? 0 : await this.#asked(() => this.#newest());
    let start: Start =
      'after' in from ? { seq: floor + 1 } : { start_time: new Date(from.time).toISOString() };
    let seen = floor;
    let pause = PAUSE_MS;
    while (!over.aborted) {
      const { messages, hasMore } = await this.#asked(() => this.#page(start));
      for (const message of messages) {
        seen = Number(message.headers?.get('Nats-Sequence'));
        start = { seq: seen + 1 };
        const one = arrived(message, seen);
        // What no mirror has written is nobody's event: it is passed over.
        if (one) yield one;
        if (over.aborted) return;
      }
      if (messages.length > 0) pause = PAUSE_MS;
      if (hasMore) continue;
      const isBehind = seen < Math.max(end, news.newest);
      if (!follow && (!isBehind || pause > LOOK_MS)) return;
      // The replica that has answered may lack what another has told of.
      if (isBehind) await this.#clock.sleep((pause *= 2), over).catch(() => undefined);
      else await news.more(LOOK_MS, PAUSE_MS, over);
    }
  }

  /** The number of the newest message, as the leader has it; 0: there is none. */
  async #newest(): Promise<number> {
    const subject = `$JS.API.STREAM.MSG.GET.${this.#names.events}`;
    const asked = JSON.stringify({ last_by_subj: this.#filter });
    const answer = await this.#nc.request(subject, asked, { timeout: ANSWER_MS });
    const { error, message } = answer.json<{
      error?: { code: number; err_code?: number; description: string };
      message?: { seq: number };
    }>();
    if (error && error.code !== 404) throw new EngineRefusal(error);
    return message?.seq ?? 0;
  }

  async #page(start: Start): Promise<{ messages: Msg[]; hasMore: boolean }> {
    const asked = { ...start, batch: PAGE, max_bytes: PAGE_BYTES, next_by_subj: this.#filter };
    const answers = await this.#nc.requestMany(
      `$JS.API.DIRECT.GET.${this.#names.events}`,
      JSON.stringify(asked),
      { maxWait: PAGE_MS, strategy: 'timer' },
    );
    const messages: Msg[] = [];
    using _late = this.#clock.after(ANSWER_MS, () => {
      // A replica that hangs swallows the request.
      if (messages.length === 0) (answers as QueuedIterator<Msg>).stop();
    });
    for await (const message of answers) {
      const { headers: about } = message;
      if (about?.code === 404) return { messages, hasMore: false };
      if (about?.code === 204)
        return { messages, hasMore: Number(about.get('Nats-Num-Pending')) > 0 };
      if (about?.hasError)
        throw new Error(`cannot read a page of the NATS stream: ${about.description}`);
      messages.push(message);
    }
    throw new errors.TimeoutError();
  }
}

function arrived(raw: Msg, seq: number): Arrived | null {
  const { headers: about } = raw;
  const message = readMessage(about?.get('Nats-Subject') ?? '', about, seq, raw.string());
  return message && { message, at: Date.parse(about?.get('Nats-Time-Stamp') ?? '') };
}
