import { errors, type NatsConnection } from '@nats-io/transport-node';
import { AppError, unreachableError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import { type FleetAnswer, type FleetRequest, limitOf } from './requests.ts';

/** How a request to a node is sent, and how long it may take. */
export interface Asking {
  connection: NatsConnection;
  clock: Clock;
  /** The node's name, for what is said of it. */
  node: string;
  subject: string;
  /** Whether the same request may be sent again, because it is done once or changes nothing. */
  isRepeatable: boolean;
  /** How long the node may take for one answer, in milliseconds, before the request is sent again. */
  patienceMs: number;
  signal?: AbortSignal | undefined;
}

/** How long a request is repeated to a node that is silent, in milliseconds. */
const REPEAT_MS = 30_000;
/** How long a request is repeated to a node that is not connected, in milliseconds: it may be about to come back. */
const ABSENT_MS = 2000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1500;

/**
 * Sends a request to a node until it answers. A silent node may have done what it was asked, so it alone is asked again,
 * for 30 s. Throws `unreachable` with the node's name, saying whether it may have been done; `payload_too_large` for
 * more than NATS carries, and `forbidden_scope` where the engine refuses the asker.
 */
export async function askNode(asking: Asking, request: FleetRequest): Promise<FleetAnswer> {
  const { clock, signal, connection, node } = asking;
  const payload = Buffer.from(JSON.stringify(request));
  const limit = limitOf(connection);
  if (payload.length > limit)
    throw new AppError(
      'payload_too_large',
      `the request has ${payload.length} bytes, and NATS allows at most ${limit} bytes: raise max_payload of nats-server`,
    );
  const begun = clock.monotonic();
  let pause = FIRST_PAUSE_MS;
  for (let isMaybeDone = false; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const answer = await attempt(asking, payload);
    // A stopping node refuses a request before it checks the key, so this refusal says nothing about an attempt that
    // was silent.
    const isAnswer = answer !== 'absent' && answer !== 'silent';
    if (isAnswer && !(isMaybeDone && answer.status === 503)) return answer;
    isMaybeDone ||= answer === 'silent' && request.method !== 'GET';
    const spent = clock.monotonic() - begun;
    const isOver = spent >= (answer === 'absent' && !isMaybeDone ? ABSENT_MS : REPEAT_MS);
    if (isOver || (isMaybeDone && !asking.isRepeatable)) throw gone(node, isMaybeDone);
    await clock.sleep(pause, signal);
  }
}

/** `absent`: nobody listens for the node, so nothing was done. `silent`: nothing is known. */
async function attempt(
  { connection, subject, patienceMs, signal, node }: Asking,
  payload: Uint8Array,
): Promise<FleetAnswer | 'absent' | 'silent'> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const asked = connection.request(subject, payload, { timeout: patienceMs });
    const answer = await Promise.race([asked, aborted.promise]);
    return answer.json<FleetAnswer>();
  } catch (error) {
    signal?.throwIfAborted();
    return whatFailed(error, node);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function whatFailed(error: unknown, node: string): 'absent' | 'silent' {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (error instanceof errors.NoRespondersError || cause instanceof errors.NoRespondersError)
    return 'absent';
  if (cause instanceof errors.PermissionViolationError)
    throw new AppError(
      'forbidden_scope',
      `NATS refused the request to node "${node}", because the key does not allow the configured name and scope: check the section fleet.person of the configuration`,
      { cause: error },
    );
  if (
    cause instanceof errors.ClosedConnectionError ||
    cause instanceof errors.DrainingConnectionError
  )
    throw unreachableError('the connection to the fleet was closed', { cause: error });
  return 'silent';
}

function gone(node: string, isMaybeDone: boolean): AppError {
  return unreachableError(
    isMaybeDone
      ? `node "${node}" is unreachable, and the request might have been executed: see cadre fleet nodes`
      : `node "${node}" is unreachable, so the request was not executed: see cadre fleet nodes`,
  );
}
