import { errors } from '@nats-io/transport-node';

/** Why the stream could not be read or written, and what to do about it, for who runs the server. */
export function explained(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const is = (kind: new (...args: never[]) => Error) =>
    error instanceof kind || cause instanceof kind;
  if (is(errors.NoRespondersError))
    return "the fleet's stream is missing, or has no leader: see cadre fleet status, and make it with cadre fleet init";
  if (is(errors.PermissionViolationError))
    return `NATS refuses it to the key of this node (${(cause as Error).message}): compare its configuration with what cadre fleet init --print-nats-config prints`;
  if (is(errors.TimeoutError))
    return 'NATS does not answer for the stream: see cadre fleet status, and the log of nats-server';
  const why = error instanceof Error ? error.message : String(error);
  return `NATS says "${why}": see cadre fleet status, and the log of nats-server`;
}
