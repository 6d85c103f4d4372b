import {
  errors,
  type Msg,
  type NatsConnection,
  type QueuedIterator,
} from '@nats-io/transport-node';
import type { Clock } from '../core/lib/clock.ts';
import { ANSWER_MS, NatsApi, NO_MESSAGE, type StreamInfo } from './nats-api.ts';
import { eventHeaders, type Names } from './names.ts';
import { LogWakeup } from './log-wakeup.ts';
import { type MirroredMessage, readMessage } from './mirrored.ts';

/** A page has at most this many messages, and ends with the one that reaches this many bytes. */
const PAGE = 1000;
const PAGE_BYTES = 4 * 1024 * 1024;
/** The time limit for a page, in ms. */
const PAGE_MS = 10_000;
/** Messages within this time are one page, in ms. */
const PAUSE_MS = 5;
/** The longest time between two reads, in ms: an announcement may get lost. */
const LOOK_MS = 2000;

/** Where a page begins, as NATS has it. */
type Start = { seq: number } | { start_time: string };

/** Where a reading of the stream begins: behind a number, or at a time in Unix milliseconds. */
export type From = { after: number } | { time: number };

export interface Arrived {
  message: MirroredMessage;
  /** When NATS stored it, in Unix milliseconds. */
  at: number;
}

interface Newest {
  /** `time`: when NATS stored it (RFC 3339). */
  message?: { seq: number; time: string };
}

/** The stream as a reader uses it. */
export type ReaderStream = Pick<NatsReaderStream, 'info' | 'idAt' | 'read'>;

/**
 * The stream of a fleet in JetStream, for readers. It only sends requests, which any replica answers. A consumer could
 * be made to deliver to any subject, so readers may not create one. Every method rejects if NATS does not answer.
 */
export class NatsReaderStream {
  readonly #nats: NatsApi;
  readonly #clock: Clock;
  readonly #filter: string;

  /** `filter`: the subject that is read; it may contain wildcards. */
  constructor(nc: NatsConnection, names: Names, clock: Clock, filter: string = names.allEvents) {
    this.#nats = new NatsApi(nc, names);
    this.#clock = clock;
    this.#filter = filter;
  }

  info(): Promise<StreamInfo> {
    return this.#nats.info();
  }

  /** The id of the event of a message; null if the stream does not have the message. */
  async idAt(seq: number): Promise<string | null> {
    const subject = `$JS.API.DIRECT.GET.${this.#nats.names.events}`;
    const { headers: about } = await this.#nats.request(subject, JSON.stringify({ seq }));
    if (about?.code === 404) return null;
    if (about?.hasError)
      throw this.#nats.error(
        new Error(`cannot read message ${seq} of the NATS stream: ${about.description}`),
      );
    return about?.get(eventHeaders.id) || null;
  }

  /**
   * Yields messages in order. Ends when `signal` aborts, whenever the connection was lost or NATS has made the
   * reading anew, since the stream may then be another; and, unless `follow`, with the newest message.
   */
  async *read(
    from: From,
    { follow, signal }: { follow: boolean; signal: AbortSignal },
  ): AsyncGenerator<Arrived, void> {
    const floor = 'after' in from ? from.after : 0;
    const doubt = new AbortController();
    using news = new LogWakeup({
      connection: this.#nats.connection,
      clock: this.#clock,
      subject: this.#nats.names.newsOf(this.#filter),
      floor,
      onDoubt: () => doubt.abort(),
    });
    const over = AbortSignal.any([signal, doubt.signal]);
    const end = follow ? 0 : await this.#newest(from);
    let start: Start =
      'after' in from ? { seq: floor + 1 } : { start_time: new Date(from.time).toISOString() };
    let seen = floor;
    let pause = PAUSE_MS;
    while (!over.aborted) {
      const { messages, hasMore } = await this.#nats.explaining(() => this.#page(start));
      for (const message of messages) {
        seen = Number(message.headers?.get('Nats-Sequence'));
        start = { seq: seen + 1 };
        const one = arrived(message, seen);
        // A message that no mirror has written is skipped.
        if (one) yield one;
        if (over.aborted) return;
      }
      if (messages.length > 0) pause = PAUSE_MS;
      if (hasMore) continue;
      const isBehind = seen < (follow ? news.newest : end);
      if (!follow && (!isBehind || pause > LOOK_MS)) return;
      // The replica may lack a message that another replica has announced.
      if (isBehind) await this.#clock.sleep((pause *= 2), over).catch(() => undefined);
      else await news.more(LOOK_MS, PAUSE_MS, over);
    }
  }

  /** The number of the newest message on the leader. 0 if there is none, or it is older than the start of the reading. */
  async #newest(from: From): Promise<number> {
    const subject = `$JS.API.STREAM.MSG.GET.${this.#nats.names.events}`;
    const request = JSON.stringify({ last_by_subj: this.#filter });
    const options = { refusal: NO_MESSAGE };
    const answer = await this.#nats.ask<Newest>(subject, request, options);
    if (!answer?.message) return 0;
    const { seq, time } = answer.message;
    return 'time' in from && Date.parse(time) < from.time ? 0 : seq;
  }

  async #page(start: Start): Promise<{ messages: Msg[]; hasMore: boolean }> {
    const { connection, names } = this.#nats;
    const asked = { ...start, batch: PAGE, max_bytes: PAGE_BYTES, next_by_subj: this.#filter };
    const answers = await connection.requestMany(
      `$JS.API.DIRECT.GET.${names.events}`,
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
