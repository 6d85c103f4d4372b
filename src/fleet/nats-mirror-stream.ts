import { MsgHdrsImpl, type NatsConnection } from '@nats-io/transport-node';
import { newUuid } from '../core/lib/ids.ts';
import { EngineRefusal, explaining } from './engine-error.ts';
import { type Batch, type Draft, type Head, type MirrorStream, Refused } from './mirror-stream.ts';
import { isMark, stays } from './mirrored.ts';
import { DELTA_TTL, engineHeaders, eventHeaders, type Names } from './names.ts';
import { readMessage } from './read-message.ts';
import { streamInfo } from './stream-info.ts';

/** For how long the engine may take to answer, in ms. */
const ANSWER_MS = 3000;
/** The number by which the engine says that another message came first. */
const WRONG_LAST_SEQUENCE = 10_071;

/** What is no message of a mirror is of no log: the mirror begins anew behind it, as behind another log. */
const FOREIGN = { kind: '', epoch: '', seq: 0, prev: 0, id: null, text: '' };

interface Answer {
  seq?: number;
  error?: { err_code?: number; description: string };
}

/** The stream of a fleet, as JetStream keeps it, for the mirror of one node. */
export class NatsMirrorStream implements MirrorStream {
  readonly #nc: NatsConnection;
  readonly #names: Names;
  readonly #node: string;
  /** Tells the batches of this process from those of any other. */
  readonly #writer = newUuid();
  #batches = 0;
  #id: string | undefined;

  constructor(nc: NatsConnection, names: Names, node: string) {
    this.#nc = nc;
    this.#names = names;
    this.#node = node;
  }

  async id(): Promise<string> {
    this.#id ??= (await this.#asked(() => streamInfo(this.#nc, this.#names))).id;
    return this.#id;
  }

  async mayHaveRetired(streamSeq: number | null): Promise<boolean> {
    const { first, bytes, maxBytes } = await this.#asked(() => streamInfo(this.#nc, this.#names));
    const isBefore = streamSeq === null || streamSeq < first;
    // Retention takes the oldest messages of a full stream alone.
    return isBefore && maxBytes > 0 && bytes >= maxBytes / 2;
  }

  head(): Promise<Head | null> {
    return this.#asked(() => this.#head());
  }

  publish(batch: Batch): Promise<number> {
    return this.#asked(() => this.#publish(batch));
  }

  /** What the engine answers. Where it refuses the batch, `Refused` says so; any other error says what to do about it. */
  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    const found = await explaining(this.#nc, this.#names, () =>
      ask().catch((error: unknown) => {
        if (error instanceof Refused) return error;
        throw error;
      }),
    );
    if (found instanceof Refused) throw found;
    return found;
  }

  async #head(): Promise<Head | null> {
    // A mirror asks for it when something has happened, perhaps to the stream as a whole.
    this.#id = undefined;
    const message = await this.#nc.request(this.#names.head(this.#node), '', {
      timeout: ANSWER_MS,
    });
    const about = message.headers;
    if (about?.code === 404) return null;
    if (about?.hasError)
      throw new Error(`cannot read the newest message of this node: ${about.description}`);
    const streamSeq = Number(about?.get('Nats-Sequence'));
    const subject = about?.get('Nats-Subject') ?? '';
    const found = readMessage(subject, about, streamSeq, message.string());
    return found ?? { ...FOREIGN, streamSeq, node: this.#node };
  }

  /** All messages but the last are sent without waiting: it takes one round trip. */
  async #publish({ epoch, expected, prev, drafts }: Batch): Promise<number> {
    const batch = `${this.#writer}-${++this.#batches}`;
    const count = drafts.length;
    let link = prev;
    for (const [i, draft] of drafts.entries()) {
      const about = headersOf(draft, epoch, link);
      if (i === 0) {
        // The batch is stored only behind the expected message.
        about[engineHeaders.expectedLast] = [String(expected)];
        about[engineHeaders.expectedLastSubject] = [this.#names.eventsOf(this.#node)];
      }
      if (count > 1) {
        about[engineHeaders.batchId] = [batch];
        about[engineHeaders.batchSequence] = [String(i + 1)];
        if (i === count - 1) about[engineHeaders.batchCommit] = ['1'];
      }
      if (stays(draft.kind)) link = draft.seq;
      const subject = this.#names.event(this.#node, draft.kind);
      // All values are ours: `set`, which checks each of them, costs several times as much.
      const headers = MsgHdrsImpl.fromRecord(about);
      if (i < count - 1) this.#nc.publish(subject, draft.text, { headers });
      else {
        const sent = { headers, timeout: ANSWER_MS };
        return stored((await this.#nc.request(subject, draft.text, sent)).json<Answer>());
      }
    }
    throw new Error('cannot store an empty batch of events in NATS');
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
  if (!stays(kind)) about[engineHeaders.ttl] = [DELTA_TTL];
  return about;
}

/** The id of an event in its stored text, which begins with its seq and its id. */
function idOf(text: string): string | undefined {
  return /^\{"seq":\d+,"id":"([^"]+)"/.exec(text)?.[1];
}

function stored({ seq, error }: Answer): number {
  if (!error && seq !== undefined) return seq;
  const refused = error ?? { description: 'no sequence number in the response of NATS' };
  throw refused.err_code === WRONG_LAST_SEQUENCE
    ? new Refused(refused.description)
    : new EngineRefusal(refused);
}
