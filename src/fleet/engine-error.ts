import { errors, type NatsConnection } from '@nats-io/transport-node';
import { JetStreamApiError } from '@nats-io/jetstream';
import { AppError, type ErrorCode } from '../api/errors.ts';
import type { Names } from './names.ts';

/** The error in a response of JetStream. */
export interface Refusal {
  /** The number of the error, which no release changes. */
  err_code?: number;
  description: string;
}

export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
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
export function engineError(error: unknown, connection: NatsConnection, { fleet }: Names): Error {
  if (error instanceof AppError) return error;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const is = (kind: new (...args: never[]) => Error) =>
    error instanceof kind || cause instanceof kind;
  const failure = (code: ErrorCode) => (message: string) =>
    new AppError(code, message, { cause: error });
  const why = error instanceof Error ? error.message : String(error);
  const number =
    error instanceof EngineRefusal
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
  if (is(errors.NoRespondersError))
    return connection.info?.jetstream === true
      ? noLeader('no server answers for the stream')
      : failure('unreachable')(
          `JetStream is off on NATS server ${connection.info?.server_name ?? ''}: NATS turns it off if the disk is full: free disk space, or add jetstream { store_dir: "…" } to the configuration, then restart nats-server`,
        );
  if (cause instanceof errors.PermissionViolationError)
    return failure('forbidden_scope')(
      `NATS refused the request: ${cause.message}: compare the NATS configuration with the output of cadre fleet init --print-nats-config`,
    );
  if (is(errors.TimeoutError))
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
