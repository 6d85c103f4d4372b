import { type Msg, type MsgHdrs, type NatsConnection, errors } from '@nats-io/transport-node';
import type { Names } from './names.ts';
import { JetStreamApiError } from '@nats-io/jetstream';
import { AppError, type ErrorCode, isUnreachable } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import { errorMessage } from '../core/lib/error-message.ts';

/** The time limit for a response of NATS, in milliseconds: a new leader needs a second or two. */
export const ANSWER_MS = 3000;
const INFO_MS = 5000;
const EXPLANATION_MS = 2000;

/** The error numbers of JetStream for a message after which another one came first, and for a message that does not exist. */
export const WRONG_LAST_SEQUENCE = 10_071;
export const NO_MESSAGE = 10_037;

/** Whether an error, or its cause, is of a class. */
export function isError(error: unknown, kind: new (...args: never[]) => Error): boolean {
  return error instanceof kind || (error instanceof Error && error.cause instanceof kind);
}

/** The id that a stream was created with, and the numbers of its first and last message. */
export interface StreamInfo {
  id: string;
  first: number;
  last: number;
  bytes: number;
  /** At this size the oldest messages leave the stream; with 0 or less they never do. */
  maxBytes: number;
}

/** The NATS server of a fleet, at one connection. Its requests throw errors that say what to do: see `natsError`. */
export class NatsApi {
  readonly connection: NatsConnection;
  readonly names: Names;

  constructor(connection: NatsConnection, names: Names) {
    this.connection = connection;
    this.names = names;
  }

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
      throw new NatsRefusal(found.error);
    });
  }

  info(): Promise<StreamInfo> {
    const { events } = this.names;
    return this.explaining(async () => {
      const answer = await this.connection.request(infoSubject(events), '', { timeout: INFO_MS });
      const { config, state, error } = answer.json<InfoAnswer>();
      if (error || !state)
        throw new NatsRefusal(error ?? { description: `stream ${events} has no state` });
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
    return natsError(error, this.connection, this.names);
  }

  /** Without a responder, either the fleet does not exist or its leader is missing: NATS knows which. */
  async #explained(error: unknown): Promise<Error> {
    if (isError(error, errors.NoRespondersError) && !this.connection.isClosed())
      try {
        const subject = infoSubject(this.names.events);
        const answer = await this.connection.request(subject, '', { timeout: EXPLANATION_MS });
        const { error: refused } = answer.json<{ error?: Refusal }>();
        if (refused) return this.error(new NatsRefusal(refused));
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

/** How long a request is repeated, in milliseconds: the choice of a new leader takes up to 10 s after one hangs. */
export const PATIENCE_MS = 20_000;
const PAUSE_MS = 250;

/**
 * Retries an idempotent request for up to 20 s while NATS does not respond or has no leader. The connection moves to
 * another server meanwhile, where its own hangs. Throws the last error.
 */
export async function retryWhileUnavailable<T>(
  clock: Clock,
  request: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (const begun = clock.monotonic(); ;) {
    try {
      return await request();
    } catch (error) {
      if (!isUnreachable(error) || clock.monotonic() - begun >= PATIENCE_MS) throw error;
    }
    await clock.sleep(PAUSE_MS, signal);
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

interface Refusal {
  /** The number of the error, which no release changes. */
  err_code?: number;
  description: string;
}

export class NatsRefusal extends Error {
  override readonly name = 'NatsRefusal';
  readonly number: number | undefined;

  constructor({ err_code, description }: Refusal) {
    super(description);
    this.number = err_code;
  }
}

const NO_STREAM = 10_059;
/** Limits of the account, of the server, of memory, of the disk, and of the stream. */
const NO_ROOM: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047, 10_077]);
/** Temporarily unavailable; a stream that is offline; a fence that cannot be checked just now. */
const NO_LEADER: ReadonlySet<number> = new Set([10_008, 10_118, 10_163, 10_194]);

/**
 * Returns the reason of a failed request to NATS as an error that says what to do: `not_found` if JetStream has no such
 * stream, `storage_full` if NATS has no space, `forbidden_scope` if the key lacks a right, and `unreachable` if the same
 * request may succeed later.
 */
export function natsError(error: unknown, connection: NatsConnection, { fleet }: Names): Error {
  if (error instanceof AppError) return error;
  const failure = (code: ErrorCode) => (message: string) =>
    new AppError(code, message, { cause: error });
  const why = errorMessage(error);
  const number =
    error instanceof NatsRefusal
      ? error.number
      : error instanceof JetStreamApiError
        ? error.code
        : undefined;
  if (number === NO_STREAM)
    return failure('not_found')(
      `fleet "${fleet}" not found on this NATS server: create it with cadre fleet init`,
    );
  if ((number !== undefined && NO_ROOM.has(number)) || /no space left/i.test(why))
    return failure('storage_full')(
      `NATS storage for fleet "${fleet}" is full: ${why}: free disk space on the NATS hosts or raise max_file_store, then restart nats-server`,
    );
  if (number !== undefined && NO_LEADER.has(number)) return noLeader(why);
  if (isError(error, errors.NoRespondersError))
    return connection.info?.jetstream === true
      ? noLeader('no server answers for the stream')
      : failure('unreachable')(
          `JetStream is off on NATS server ${connection.info?.server_name ?? ''}: NATS turns it off if the disk is full: free disk space, or add jetstream { store_dir: "…" } to the configuration, then restart nats-server`,
        );
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof errors.PermissionViolationError)
    return failure('forbidden_scope')(
      `NATS refused the request: ${cause.message}: compare the NATS configuration with the output of cadre fleet init --print-nats-config`,
    );
  if (isError(error, errors.TimeoutError))
    return failure('unreachable')(
      'no answer from NATS in time: try again; if the error persists, see cadre fleet status and the log of nats-server',
    );
  return failure('unreachable')(
    `request to NATS failed: ${why}: see cadre fleet status and the log of nats-server`,
  );

  function noLeader(reason: string): AppError {
    return failure('unreachable')(
      `fleet "${fleet}" has no leader: ${reason}: try again in 10 seconds; if the error persists, start stopped NATS servers, free disk space on full hosts and restart nats-server there, or run cadre fleet init if a bucket is missing`,
    );
  }
}
