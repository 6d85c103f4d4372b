import { errors, type NatsConnection, type RequestOptions } from '@nats-io/transport-node';
import type { ManualClock } from '../support/manual-clock.ts';

/** The reaction of a listener: a response, `silent` without one, or undefined without a listener. */
type Answer = { text: string } | 'silent' | undefined;

/**
 * A fake NATS server in memory: the newest message of each subject with its sequence, refused where it is not
 * the expected one, and gone after its time to live; and listeners that answer requests. Time is the test's.
 */
export class FakeNatsServer {
  readonly #clock: ManualClock;
  readonly #kept = new Map<string, { seq: number; data: string; until: number }>();
  #seq = 0;
  /** Every request that was not about a bucket: its subject and its text. */
  readonly asked: { subject: string; data: string }[] = [];
  /** Answers such a request. */
  answer: (data: string) => Answer = () => undefined;
  /** Called after each read of a key, before its reader continues, for a concurrent change. */
  onRead: () => void = () => undefined;
  maxPayload = 1024 * 1024;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  /** A connection to it, as far as the fleet uses one. */
  connection(): NatsConnection {
    const connection = {
      info: { max_payload: this.maxPayload },
      request: (subject: string, data?: string | Uint8Array, options?: RequestOptions) =>
        this.#request(subject, Buffer.from(data ?? '').toString('utf8'), options),
      // It announces no events.
      subscribe: () => ({ unsubscribe: () => undefined }),
      status: () => Object.assign((async function* () {})(), { stop: () => undefined }),
    };
    return connection as unknown as NatsConnection;
  }

  /** Writes a key as somebody else. */
  write(subject: string, data: string): void {
    this.#kept.set(subject, { seq: ++this.#seq, data, until: Number.POSITIVE_INFINITY });
  }

  /** The living value of a key. */
  read(subject: string): string | undefined {
    const found = this.#kept.get(subject);
    return found && found.until > this.#clock.monotonic() ? found.data : undefined;
  }

  async #request(subject: string, data: string, options?: RequestOptions) {
    if (subject.startsWith('$JS.API.STREAM.MSG.GET.')) return message(this.#get(data));
    if (subject.startsWith('$KV.')) return message(this.#put(subject, data, options));
    this.asked.push({ subject, data });
    const answer = this.answer(data);
    if (answer === undefined) throw new errors.NoRespondersError(subject);
    if (answer !== 'silent') return message(JSON.parse(answer.text));
    await this.#clock.sleep(options?.timeout ?? 0);
    throw new errors.TimeoutError();
  }

  #get(data: string): unknown {
    const { last_by_subj: subject } = JSON.parse(data) as { last_by_subj: string };
    const found = this.#kept.get(subject);
    const value = this.read(subject);
    const answer =
      found === undefined || value === undefined
        ? { error: { code: 404, err_code: 10_037, description: 'no message found' } }
        : { message: { seq: found.seq, data: Buffer.from(value).toString('base64') } };
    this.onRead();
    return answer;
  }

  #put(subject: string, data: string, options?: RequestOptions): unknown {
    const expected = Number(options?.headers?.get('Nats-Expected-Last-Subject-Sequence'));
    const last = this.read(subject) === undefined ? 0 : (this.#kept.get(subject)?.seq ?? 0);
    if (expected !== last)
      return {
        error: { code: 400, err_code: 10_071, description: `wrong last sequence: ${last}` },
      };
    const ttl = /^(\d+)s$/.exec(options?.headers?.get('Nats-TTL') ?? '')?.[1];
    const until = this.#clock.monotonic() + (ttl === undefined ? Infinity : Number(ttl) * 1000);
    if (options?.headers?.get('KV-Operation') === 'DEL') this.#kept.delete(subject);
    else this.#kept.set(subject, { seq: ++this.#seq, data, until });
    return { seq: this.#seq };
  }
}

function message(value: unknown) {
  return { json: () => value, string: () => JSON.stringify(value) };
}
