import { type MsgHdrs, MsgHdrsImpl, type NatsConnection } from '@nats-io/transport-node';
import { newUuid } from '../core/lib/ids.ts';
import { NatsApi, WRONG_LAST_SEQUENCE } from './nats-api.ts';
import { isMark, type MirroredMessage, readMessage, stays } from './mirrored.ts';
import { DELTA_TTL, natsHeaders, eventHeaders, type Names } from './names.ts';

/** A message that no mirror has written belongs to no log, so the mirror starts after it as after another log. */
const FOREIGN = { kind: '', epoch: '', seq: 0, prev: 0, id: null, text: '' };

/** An event, or a message of the mirror itself, that is to be written. */
export interface Draft {
  kind: string;
  seq: number;
  text: string;
}

/** Messages that are written together, or not at all. */
export interface Batch {
  epoch: string;
  /** The message of this node that has to be its newest one in the stream, by its number there; 0: there is none. */
  expected: number;
  /** The seq of the newest event that stays before the first draft. */
  prev: number;
  drafts: readonly Draft[];
}

/** NATS refused a batch because the newest message of the node is another than was expected. */
export class Refused extends Error {}

/** The stream as a mirror uses it. */
export type MirrorStream = Pick<NatsMirrorStream, 'id' | 'mayHaveRetired' | 'head' | 'publish'>;

/** The stream of a fleet in JetStream, for the mirror of one node. Every method rejects if NATS does not answer. */
export class NatsMirrorStream {
  readonly #nats: NatsApi;
  readonly #node: string;
  /** Distinguishes the batches of this process from all others. */
  readonly #writer = newUuid();
  #batches = 0;
  #id: string | undefined;

  constructor(connection: NatsConnection, names: Names, node: string) {
    this.#nats = new NatsApi(connection, names);
    this.#node = node;
  }

  /** The random id that the stream was made with. */
  async id(): Promise<string> {
    return (this.#id ??= (await this.#nats.info()).id);
  }

  /** Whether retention of the stream may have taken a message by its number; null: a message of an unknown number. */
  async mayHaveRetired(streamSeq: number | null): Promise<boolean> {
    const { first, bytes, maxBytes } = await this.#nats.info();
    const isBefore = streamSeq === null || streamSeq < first;
    // Retention removes only the oldest messages of a full stream.
    return isBefore && maxBytes > 0 && bytes >= maxBytes / 2;
  }

  /**
   * The newest message of this node; null if the stream has none. It may be stale: the fence of `publish` refuses what
   * follows from that.
   */
  async head(): Promise<MirroredMessage | null> {
    // A mirror reads the head after an error, which may concern the whole stream.
    this.#id = undefined;
    const message = await this.#nats.request(this.#nats.names.head(this.#node));
    const about = message.headers;
    if (about?.code === 404) return null;
    if (about?.hasError)
      throw this.#nats.error(
        new Error(`cannot read the newest message of this node: ${about.description}`),
      );
    const streamSeq = Number(about?.get('Nats-Sequence'));
    const subject = about?.get('Nats-Subject') ?? '';
    const found = readMessage(subject, about, streamSeq, message.string());
    return found ?? { ...FOREIGN, streamSeq, node: this.#node };
  }

  /**
   * Writes a batch; resolves with the number of its last message in the stream. Rejects with `Refused` where the newest
   * message of this node is not the expected one; any other error leaves open whether the batch was written. Waits only
   * for the response to the last message, so that a batch takes one round trip.
   */
  async publish({ epoch, expected, prev, drafts }: Batch): Promise<number> {
    const { connection, names } = this.#nats;
    const batch = `${this.#writer}-${++this.#batches}`;
    const count = drafts.length;
    let link = prev;
    for (const [i, draft] of drafts.entries()) {
      const about = headersOf(draft, epoch, link);
      if (i === 0) {
        // The batch is stored only behind the expected message.
        about[natsHeaders.expectedLast] = [String(expected)];
        about[natsHeaders.expectedLastSubject] = [names.eventsOf(this.#node)];
      }
      if (count > 1) {
        about[natsHeaders.batchId] = [batch];
        about[natsHeaders.batchSequence] = [String(i + 1)];
        if (i === count - 1) about[natsHeaders.batchCommit] = ['1'];
      }
      if (stays(draft.kind)) link = draft.seq;
      const subject = names.event(this.#node, draft.kind);
      // All values are ours: `set`, which checks each of them, costs several times as much.
      const headers = MsgHdrsImpl.fromRecord(about);
      if (i < count - 1) connection.publish(subject, draft.text, { headers });
      else return this.#commit(subject, draft.text, headers);
    }
    throw new Error('cannot store an empty batch of events in NATS');
  }

  async #commit(subject: string, text: string, headers: MsgHdrs): Promise<number> {
    const options = { headers, refusal: WRONG_LAST_SEQUENCE };
    const answer = await this.#nats.ask<{ seq?: number }>(subject, text, options);
    if (answer === null) throw new Refused('the newest message of this node is another one');
    if (answer.seq !== undefined) return answer.seq;
    throw this.#nats.error(new Error('no sequence number in the response of NATS'));
  }
}

function headersOf(
  { kind, seq, text }: Draft,
  epoch: string,
  prev: number,
): Record<string, string[]> {
  const about: Record<string, string[]> = {
    [eventHeaders.epoch]: [epoch],
    [eventHeaders.seq]: [String(seq)],
    [eventHeaders.prev]: [String(prev)],
  };
  if (isMark(kind)) return about;
  const id = idOf(text);
  if (id !== undefined) about[eventHeaders.id] = [id];
  if (!stays(kind)) about[natsHeaders.ttl] = [DELTA_TTL];
  return about;
}

/** The stored text of an event starts with its seq and its id. */
function idOf(text: string): string | undefined {
  return /^\{"seq":\d+,"id":"([^"]+)"/.exec(text)?.[1];
}
