import { errors, type NatsConnection } from '@nats-io/transport-node';
import { JetStreamApiError } from '@nats-io/jetstream';
import { AppError } from '../api/errors.ts';
import type { Names } from './names.ts';

/** An error that JetStream answers with. `number`: its `err_code`, which no release changes. */
export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
  readonly number: number | undefined;

  constructor({ err_code, description }: { err_code?: number; description: string }) {
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
 * Returns the reason of a failed request to NATS as an error that says what to do: `not_found` only where JetStream
 * itself says that it has no such stream, `storage_full` where NATS has no room, `forbidden_scope` where the key may not,
 * and `unreachable` where the same request may succeed later.
 */
export function engineError(error: unknown, connection: NatsConnection, { fleet }: Names): Error {
  if (error instanceof AppError) return error;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const is = (kind: new (...args: never[]) => Error) =>
    error instanceof kind || cause instanceof kind;
  const failure =
    (code: 'not_found' | 'storage_full' | 'forbidden_scope' | 'unreachable') => (message: string) =>
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

/**
 * As engineError. Nobody answers both where there is no fleet and where a leader is missing: then it asks NATS whether
 * there is the fleet's stream.
 */
export async function explainedError(
  error: unknown,
  connection: NatsConnection,
  names: Names,
): Promise<Error> {
  const found = engineError(error, connection, names);
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const isUnanswered = [error, cause].some((one) => one instanceof errors.NoRespondersError);
  if (!isUnanswered || connection.isClosed()) return found;
  const asked = `$JS.API.STREAM.INFO.${names.events}`;
  try {
    const answer = await connection.request(asked, '', { timeout: ASK_MS });
    const { error: refused } = answer.json<{
      error?: { err_code?: number; description: string };
    }>();
    return refused ? engineError(new EngineRefusal(refused), connection, names) : found;
  } catch {
    return found;
  }
}

const ASK_MS = 2000;

/** Runs a request to NATS, and throws what `explainedError` makes of its failure. */
export async function explaining<T>(
  connection: NatsConnection,
  names: Names,
  request: () => Promise<T>,
): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw await explainedError(error, connection, names);
  }
}
