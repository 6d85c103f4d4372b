import { errors, headers, type NatsConnection } from '@nats-io/transport-node';
import { ANSWER_MS, NatsApi, NO_MESSAGE, WRONG_LAST_SEQUENCE } from './nats-api.ts';
import { natsHeaders, type Names } from './names.ts';

/** A value of a bucket, with the revision that a change of it has to name. */
export interface Entry {
  /** Null if the value does not exist. */
  value: string | null;
  /** Sequence of the key's message in the stream of the bucket. 0 if the message is missing or has expired. */
  revision: number;
}

/** Thrown if a value has changed since it was read. */
export class Changed extends Error {
  override readonly name = 'Changed';
}

/**
 * Keys and values of the fleet in NATS. Every change names the revision that it replaces, so that only one of two
 * concurrent changes succeeds. Throws the errors of `natsError`.
 */
export class Bucket {
  readonly #nats: NatsApi;
  readonly #bucket: string;

  constructor(connection: NatsConnection, names: Names, bucket: string) {
    this.#nats = new NatsApi(connection, names);
    this.#bucket = bucket;
  }

  /** The newest value of a key, from the leader. */
  async get(key: string): Promise<Entry> {
    const subject = `$JS.API.STREAM.MSG.GET.${this.#nats.names.bucketStream(this.#bucket)}`;
    const request = JSON.stringify({ last_by_subj: this.#subject(key) });
    const answer = await this.#nats.ask<Found>(subject, request, { refusal: NO_MESSAGE });
    if (answer === null) return { value: null, revision: 0 };
    const { seq, data = '', hdrs } = answer.message;
    const isRemoved = hdrs !== undefined && /KV-Operation:|Nats-Marker-Reason:/.test(decoded(hdrs));
    return { value: isRemoved ? null : decoded(data), revision: seq };
  }

  /**
   * The values of all keys that match a pattern, such as `alive.*`. They may be some seconds old, because any replica may
   * respond.
   */
  async all(pattern: string): Promise<Map<string, string>> {
    const { connection, names } = this.#nats;
    const subject = `$JS.API.DIRECT.GET.${names.bucketStream(this.#bucket)}`;
    const request = JSON.stringify({ multi_last: [this.#subject(pattern)] });
    const limits = { maxWait: ANSWER_MS, strategy: 'timer' } as const;
    return this.#nats.explaining(async () => {
      const values = new Map<string, string>();
      for await (const { data, headers: about } of await connection.requestMany(
        subject,
        request,
        limits,
      )) {
        // The last response has no message. With an empty bucket it is the only response.
        if (about?.code === 204 || about?.code === 404) return values;
        if (about?.get(natsHeaders.keyOperation) || about?.get('Nats-Marker-Reason')) continue;
        const key = about?.get('Nats-Subject').slice(this.#subject('').length) ?? '';
        values.set(key, Buffer.from(data).toString('utf8'));
      }
      throw new errors.TimeoutError();
    });
  }

  /** Writes a value; `ttl` as in the header `Nats-TTL`. Returns the new revision. Throws Changed if `revision` is not the last. */
  put(key: string, value: string, revision: number, ttl?: string): Promise<number> {
    return this.#write(key, value, revision, ttl === undefined ? {} : { [natsHeaders.ttl]: ttl });
  }

  /** Throws Changed if `revision` is not the last. */
  async remove(key: string, revision: number): Promise<void> {
    await this.#write(key, '', revision, { [natsHeaders.keyOperation]: 'DEL' });
  }

  async #write(
    key: string,
    value: string,
    revision: number,
    more: Record<string, string>,
  ): Promise<number> {
    const about = headers();
    about.set(natsHeaders.expectedLast, String(revision));
    for (const [name, text] of Object.entries(more)) about.set(name, text);
    const options = { refusal: WRONG_LAST_SEQUENCE, headers: about };
    const answer = await this.#nats.ask<{ seq: number }>(this.#subject(key), value, options);
    if (answer === null) throw new Changed(`revision ${revision} of key ${key} is not the last`);
    return answer.seq;
  }

  #subject(key: string): string {
    return this.#nats.names.key(this.#bucket, key);
  }
}

interface Found {
  message: { seq: number; data?: string; hdrs?: string };
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
