import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type AccessRules,
  assertAddressed,
  assertLinkAddressed,
  assertScope,
  identify,
} from '../../core/access/admit.ts';
import type { FailedAuthentications } from '../../core/access/failed-auth.ts';
import type { TokenHolder } from '../../core/access/tokens.ts';
import type { Endpoint } from '../../api/endpoint.ts';
import type { RequestCounts } from '../maintenance/diagnostics/requests.ts';
import { invalidError } from '../../api/errors.ts';
import { UnknownPath } from '../../core/lib/log.ts';
import { holderOfInternalRequest } from './internal-request.ts';
import { whenOver } from './pending-requests.ts';
import { accessOfPath } from './route-table.ts';

interface AuthHookDependencies {
  access: AccessRules;
  failures: FailedAuthentications;
  requests: RequestCounts;
}

/** Logs each request, and admits or refuses it before its route runs. */
export class AuthHook {
  readonly #deps: AuthHookDependencies;

  constructor(deps: AuthHookDependencies) {
    this.#deps = deps;
  }

  /** Prepares a request before any of it is examined. */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    request.over = whenOver(reply.raw);
    this.#noteWhenAnswered(request, reply);
    reply.header('X-Request-Id', request.id);
  }

  /**
   * Returns whether the request continues to its route; false for a preflight, which has received its response. Throws
   * if the sender may not enter; after a failed authentication, only once the response may be sent.
   */
  async authenticate(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { access } = this.#deps;
    const holder = holderOfInternalRequest(request.raw);
    if (holder) return this.#authenticateAs(holder, request);
    const asked = accessOf(request);
    if (asked === 'link') {
      assertLinkAddressed(request, access);
      return true;
    }
    assertAddressed(request, access);
    allowOrigin(request, reply, access.allowedOrigins().length > 0);
    if (isPreflight(request)) {
      void answerPreflight(request, reply);
      return false;
    }
    if (asked === 'public') return true;
    try {
      request.bearer = identify(request.headers.authorization, access);
    } catch (error) {
      await this.failed(request, reply);
      throw error;
    }
    assertScope(request.bearer, request.method, asked);
    return true;
  }

  /** Admits a request that another part of the server has authenticated. Throws if the rights of its sender do not suffice. */
  #authenticateAs(holder: TokenHolder, request: FastifyRequest): boolean {
    request.bearer = holder;
    const asked = accessOf(request);
    if (asked === 'link')
      throw invalidError('an approval link can only be opened in a browser, not through the fleet');
    // Responses are stored under the sender's authorization and key, and no other sender can have this authorization.
    request.headers.authorization = holder.id;
    assertScope(holder, request.method, asked);
    const { answers } = request.routeOptions.config;
    if (answers === 'stream' || answers === 'bytes')
      throw invalidError(
        'streams and files are not available through the fleet: use a paged endpoint, or connect to the server directly',
      );
    return true;
  }

  /** Whether `authenticate` would admit a request of which only the headers have arrived. */
  mayEnter(raw: IncomingMessage): boolean {
    const { access } = this.#deps;
    try {
      assertAddressed({ headers: raw.headers, raw }, access);
      const asked = accessOfPath(raw.url ?? '');
      if (asked === 'public') return true;
      assertScope(identify(raw.headers.authorization, access), raw.method ?? '', asked);
      return true;
    } catch {
      return false;
    }
  }

  /** Logs one line for each request once its response has ended; for a stream, when the client has left. */
  #noteWhenAnswered(request: FastifyRequest, reply: FastifyReply): void {
    const note = () => {
      const ms = Math.round(reply.elapsedTime * 10) / 10;
      const route = request.routeOptions.url ?? new UnknownPath(withoutSecret(pathOf(request)));
      const { method, bearer } = request;
      const status = reply.raw.statusCode;
      const token = bearer ? { token: bearer.id } : {};
      request.log.info({ method, route, status, ms, ...token }, 'request');
      this.#deps.requests.add(method, status);
    };
    if (request.over.aborted) note();
    else request.over.addEventListener('abort', note, { once: true });
  }

  /** Counts a request whose sender is unknown; resolves when its answer may be sent. */
  async failed(request: FastifyRequest, reply: FastifyReply, by = ''): Promise<void> {
    const source = `${by}${request.socket.remoteAddress ?? 'unknown'}`;
    const failed = { source, log: request.log, signal: request.over };
    const { hangUp } = await this.#deps.failures.note(failed);
    if (hangUp) reply.header('connection', 'close');
  }
}

/**
 * Returns who may use a request's route, by the matched route instead of the spelling of its path. Paths without a
 * route are public outside /v1 only.
 */
export function accessOf(request: FastifyRequest): Endpoint['access'] | 'link' {
  const { url, config } = request.routeOptions;
  if (url !== undefined) return config.access ?? 'token';
  return accessOfPath(request.url);
}

/** Returns a path for the log. It leaves out what may be the secret of a link, in any URL encoding. */
function withoutSecret(path: string): string {
  const plain = path.replaceAll(/%([2-7][\da-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return /answer\W/i.test(plain) ? '/answer/…' : path;
}

export function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? request.url;
}

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
function allowOrigin(
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
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  );
}

/** Responds to a preflight of an allowed origin: for every path the same, so that it does not reveal which exist. */
function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('access-control-allow-methods', METHODS);
  reply.header('access-control-allow-headers', REQUEST_HEADERS);
  reply.header('access-control-max-age', String(MAX_AGE_S));
  // Browsers ask this before a page from the internet may reach a server on this machine or its network.
  if (headers['access-control-request-private-network'] === 'true')
    reply.header('access-control-allow-private-network', 'true');
  return reply.code(204).send();
}
