import { errors, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { EngineRefusal, engineError, type Refusal } from './engine-error.ts';
import type { Names } from './names.ts';

/** The time limit for a response of NATS, in milliseconds: a new leader needs a second or two. */
export const ANSWER_MS = 3000;
const INFO_MS = 5000;
const EXPLANATION_MS = 2000;

/** The error numbers of JetStream for a message after which another one came first, and for a message that does not exist. */
export const WRONG_LAST_SEQUENCE = 10_071;
export const NO_MESSAGE = 10_037;

/** The id that a stream was created with, and the numbers of its first and last message. */
export interface StreamInfo {
  id: string;
  first: number;
  last: number;
  bytes: number;
  /** At this size the oldest messages leave the stream; with 0 or less they never do. */
  maxBytes: number;
}

/** The NATS server of a fleet, at one connection. Its requests throw errors that say what to do: see `engineError`. */
export class Engine {
  readonly connection: NatsConnection;
  readonly names: Names;

  constructor(connection: NatsConnection, names: Names) {
    this.connection = connection;
    this.names = names;
  }

  /** The response to a request, as a message. */
  request(subject: string, data = '', headers?: MsgHdrs): Promise<Msg> {
    return this.explaining(() => this.#send(subject, data, headers));
  }

  /** The JSON of a response. Null if JetStream refuses the request with the number `refusal`. */
  ask<T>(
    subject: string,
    data: string,
    { refusal, headers }: { refusal?: number; headers?: MsgHdrs } = {},
  ): Promise<T | null> {
    return this.explaining(async () => {
      const found = (await this.#send(subject, data, headers)).json<T & { error?: Refusal }>();
      if (!found.error) return found;
      if (refusal !== undefined && found.error.err_code === refusal) return null;
      throw new EngineRefusal(found.error);
    });
  }

  /** The stream of the events. */
  info(): Promise<StreamInfo> {
    const { events } = this.names;
    return this.explaining(async () => {
      const answer = await this.connection.request(infoSubject(events), '', { timeout: INFO_MS });
      const { config, state, error } = answer.json<InfoAnswer>();
      if (error || !state)
        throw new EngineRefusal(error ?? { description: `stream ${events} has no state` });
      return {
        id: config?.metadata?.['cadre_stream'] ?? '',
        first: state.first_seq,
        last: state.last_seq,
        bytes: state.bytes,
        maxBytes: config?.max_bytes ?? 0,
      };
    });
  }

  async explaining<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  error(error: unknown): Error {
    return engineError(error, this.connection, this.names);
  }

  /** Without a responder, either the fleet does not exist or its leader is missing: NATS knows which. */
  async #explained(error: unknown): Promise<Error> {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    const isUnanswered = [error, cause].some((one) => one instanceof errors.NoRespondersError);
    if (isUnanswered && !this.connection.isClosed())
      try {
        const subject = infoSubject(this.names.events);
        const answer = await this.connection.request(subject, '', { timeout: EXPLANATION_MS });
        const { error: refused } = answer.json<{ error?: Refusal }>();
        if (refused) return this.error(new EngineRefusal(refused));
      } catch {
        // The first error is the better one.
      }
    return this.error(error);
  }

  #send(subject: string, data: string, headers?: MsgHdrs): Promise<Msg> {
    const options = { timeout: ANSWER_MS, ...(headers && { headers }) };
    return this.connection.request(subject, data, options);
  }
}

interface InfoAnswer {
  config?: { metadata?: Record<string, string>; max_bytes?: number };
  state?: { first_seq: number; last_seq: number; bytes: number };
  error?: Refusal;
}

function infoSubject(stream: string): string {
  return `$JS.API.STREAM.INFO.${stream}`;
}
