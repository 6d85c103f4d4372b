import {
  errors,
  headers,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from '@nats-io/transport-node';
import { EngineRefusal, engineError, explainedError } from './engine-error.ts';
import { engineHeaders, type Names } from './names.ts';

/** A value of a bucket, with the revision that a change of it has to name. */
export interface Entry {
  /** Null: there is none, because it was removed. */
  value: string | null;
  /** The sequence of its message in the bucket's stream; 0: there never was one, or it has expired. */
  revision: number;
}

/** Thrown where a value changed since it was read. */
export class Changed extends Error {
  override readonly name = 'Changed';
}

/** How long the engine may take for an answer, in milliseconds: a new leader needs a second or two. */
const ANSWER_MS = 3000;

/**
 * Keys and values of the fleet, kept by the engine. Every change names the revision that it replaces, so of two at once
 * the engine takes one. Throws the errors of `engineError`.
 */
export class Bucket {
  readonly #connection: NatsConnection;
  readonly #names: Names;
  readonly #bucket: string;

  constructor(connection: NatsConnection, names: Names, bucket: string) {
    this.#connection = connection;
    this.#names = names;
    this.#bucket = bucket;
  }

  /** The newest value of a key, as the leader has it. */
  async get(key: string): Promise<Entry> {
    const subject = `$JS.API.STREAM.MSG.GET.${this.#names.bucketStream(this.#bucket)}`;
    const asked = JSON.stringify({ last_by_subj: this.#subject(key) });
    const answer = (await this.#request(subject, asked)).json<Found>();
    if (answer.error?.err_code === NO_MESSAGE) return { value: null, revision: 0 };
    if (answer.error) throw this.#refused(answer.error);
    const { seq, data = '', hdrs } = answer.message;
    const isRemoved = hdrs !== undefined && /KV-Operation:|Nats-Marker-Reason:/.test(decoded(hdrs));
    return { value: isRemoved ? null : decoded(data), revision: seq };
  }

  /**
   * Every living key that fits a pattern, such as `alive.*`, with its value, from whichever replica answers, so perhaps a
   * moment old.
   */
  async all(pattern: string): Promise<Map<string, string>> {
    const subject = `$JS.API.DIRECT.GET.${this.#names.bucketStream(this.#bucket)}`;
    const asked = JSON.stringify({ multi_last: [this.#subject(pattern)] });
    const limits = { maxWait: ANSWER_MS, strategy: 'timer' } as const;
    const values = new Map<string, string>();
    let isWhole = false;
    try {
      const answers = await this.#connection.requestMany(subject, asked, limits);
      for await (const { data, headers: about } of answers) {
        // The last answer has no message, and so has the only one where the bucket is empty.
        isWhole = about?.code === 204 || about?.code === 404;
        if (isWhole) break;
        if (about?.get(engineHeaders.keyOperation) || about?.get('Nats-Marker-Reason')) continue;
        const key = about?.get('Nats-Subject').slice(this.#subject('').length) ?? '';
        values.set(key, Buffer.from(data).toString('utf8'));
      }
    } catch (error) {
      throw await this.#explained(error);
    }
    if (!isWhole) throw engineError(new errors.TimeoutError(), this.#connection, this.#names);
    return values;
  }

  /** Writes a value; `ttl` as `Nats-TTL` has it. Returns the new revision. Throws Changed if `revision` is not the last. */
  put(key: string, value: string, revision: number, ttl?: string): Promise<number> {
    return this.#write(key, value, revision, ttl === undefined ? {} : { [engineHeaders.ttl]: ttl });
  }

  /** Removes a value. Throws Changed if `revision` is not the last. */
  async remove(key: string, revision: number): Promise<void> {
    await this.#write(key, '', revision, { [engineHeaders.keyOperation]: 'DEL' });
  }

  async #write(
    key: string,
    value: string,
    revision: number,
    more: Record<string, string>,
  ): Promise<number> {
    const about = headers();
    about.set(engineHeaders.expectedLast, String(revision));
    for (const [name, text] of Object.entries(more)) about.set(name, text);
    const answer = (await this.#request(this.#subject(key), value, about)).json<Stored>();
    if (answer.error?.err_code === WRONG_LAST_SEQUENCE) throw new Changed(answer.error.description);
    if (answer.error) throw this.#refused(answer.error);
    return answer.seq;
  }

  async #request(subject: string, data: string, about?: MsgHdrs): Promise<Msg> {
    try {
      return await this.#connection.request(subject, data, {
        timeout: ANSWER_MS,
        ...(about && { headers: about }),
      });
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  #explained(error: unknown): Promise<Error> {
    return explainedError(error, this.#connection, this.#names);
  }

  #refused(refused: Refused): Error {
    return engineError(new EngineRefusal(refused), this.#connection, this.#names);
  }

  #subject(key: string): string {
    return this.#names.key(this.#bucket, key);
  }
}

/** The numbers by which the engine says that another message came first, and that there is none. */
const WRONG_LAST_SEQUENCE = 10_071;
const NO_MESSAGE = 10_037;

interface Refused {
  code: number;
  err_code?: number;
  description: string;
}
interface Found {
  error?: Refused;
  message: { seq: number; data?: string; hdrs?: string };
}
interface Stored {
  error?: Refused;
  seq: number;
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
