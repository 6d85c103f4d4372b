import type { FastifyReply, FastifyRequest } from 'fastify';

/** What pages of an allowed origin may ask: the methods of all routes, and the headers that those read. */
const METHODS = 'GET, HEAD, POST, DELETE';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id';
/** The headers of answers that a page may read. */
const EXPOSED = [
  'X-Seq',
  'X-Epoch',
  'X-Trimmed-Seq',
  'X-Next-Cursor',
  'X-Next-After-Seq',
  'Retry-After',
  'Idempotency-Replayed',
  'X-Request-Id',
].join(', ');
/** How long a browser may remember the answer to a preflight, in seconds. */
const MAX_AGE_S = 600;

/**
 * Puts the CORS headers on an answer to an allowed origin, and nothing on one without an origin but `Vary`, so that
 * no cache mixes them up. The origin was checked before. Cookies are not used, so credentials are not allowed.
 */
export function allowOrigin(
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
  anyIsAllowed: boolean,
): void {
  if (!anyIsAllowed) return;
  reply.header('vary', 'Origin');
  if (origin === undefined) return;
  reply.header('access-control-allow-origin', origin);
  reply.header('access-control-expose-headers', EXPOSED);
}

/** Whether a browser asks, before the request itself, what a page may send. It sends no token with that. */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  );
}

/** Answers a preflight of an allowed origin. Every path has the same answer, so it tells nothing of what is there. */
export function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('access-control-allow-methods', METHODS);
  reply.header('access-control-allow-headers', REQUEST_HEADERS);
  reply.header('access-control-max-age', String(MAX_AGE_S));
  // A page that was loaded from elsewhere asks for a server on this machine or its network.
  if (headers['access-control-request-private-network'] === 'true')
    reply.header('access-control-allow-private-network', 'true');
  return reply.code(204).send();
}
