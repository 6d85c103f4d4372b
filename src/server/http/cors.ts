import type { FastifyReply, FastifyRequest } from 'fastify';

/** The methods of all routes, and the request headers that they read: a page of an allowed origin may send these. */
const METHODS = 'GET, HEAD, POST, PATCH, DELETE';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id';
/** The response headers that a page may read. */
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
/** How long a browser may cache the response to a preflight, in seconds. */
const MAX_AGE_S = 600;

/**
 * Sets the CORS headers of a response to an allowed origin. A response to a request without an origin gets only `Vary`,
 * so that no cache serves one for the other. The origin was checked before. Credentials are not allowed, because
 * cookies are not used.
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

/** Whether a request is a preflight, with which a browser asks what a page may send. It carries no token. */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  );
}

/**
 * Responds to a preflight of an allowed origin. The response is the same for every path, so it does not reveal which
 * exist.
 */
export function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('access-control-allow-methods', METHODS);
  reply.header('access-control-allow-headers', REQUEST_HEADERS);
  reply.header('access-control-max-age', String(MAX_AGE_S));
  // Browsers ask this before a page from the internet may reach a server on this machine or its network.
  if (headers['access-control-request-private-network'] === 'true')
    reply.header('access-control-allow-private-network', 'true');
  return reply.code(204).send();
}
