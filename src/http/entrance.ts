import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AccessRules, assertAddressed, assertScope, identify } from '../access/admit.ts';
import { FailedAuthentications } from '../access/failed-auth.ts';
import type { Endpoint } from '../api/endpoint.ts';
import { RequestCounts } from '../diagnostics/metrics.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { allowOrigin, answerPreflight, isPreflight } from './cors.ts';
import { whenOver } from './leaving.ts';
import { accessOfPath } from './route-table.ts';

/** Lets requests in, or refuses them, before their body is read. Each has one line in the log once it is answered. */
export class Entrance implements Disposable {
  readonly requests = new RequestCounts();
  readonly #access: AccessRules;
  readonly #failures: FailedAuthentications;

  constructor({ access, clock, logger }: { access: AccessRules; clock: Clock; logger: Logger }) {
    this.#access = access;
    this.#failures = new FailedAuthentications({ clock, logger });
  }

  [Symbol.dispose](): void {
    this.#failures[Symbol.dispose]();
  }

  /** Prepares a request before any part of it is checked: its end is noted, its id goes into the answer. */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    request.over = whenOver(reply.raw);
    this.#noteWhenAnswered(request, reply);
    reply.header('X-Request-Id', request.id);
  }

  /** One line a request, also for a stream, which is answered when its reader has left. */
  #noteWhenAnswered(request: FastifyRequest, reply: FastifyReply): void {
    const note = () => {
      const ms = Math.round(reply.elapsedTime * 10) / 10;
      const route = request.routeOptions.url ?? pathOf(request);
      const { method, bearer } = request;
      const status = reply.raw.statusCode;
      const token = bearer ? { token: bearer.id } : {};
      request.log.info({ method, route, status, ms, ...token }, 'request');
      this.requests.add(method, status);
    };
    if (request.over.aborted) note();
    else request.over.addEventListener('abort', note, { once: true });
  }

  /** Whether a request may be told to go on with its body. */
  mayEnter(raw: IncomingMessage): boolean {
    try {
      assertAddressed({ headers: raw.headers, raw }, this.#access);
      const asked = accessOfPath(raw.url ?? '');
      if (asked === 'public') return true;
      assertScope(identify(raw.headers.authorization, this.#access), raw.method ?? '', asked);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Whether the request goes on; a preflight does not, since it is answered here. Throws for a request that may not
   * enter; where authentication failed, only once that may be answered.
   */
  async letIn(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    assertAddressed(request, this.#access);
    allowOrigin(request, reply, this.#access.allowedOrigins().length > 0);
    if (isPreflight(request)) {
      void answerPreflight(request, reply);
      return false;
    }
    const asked = accessOf(request);
    if (asked === 'public') return true;
    try {
      request.bearer = identify(request.headers.authorization, this.#access);
    } catch (error) {
      await this.#failed(request, reply);
      throw error;
    }
    assertScope(request.bearer, request.method, asked);
    return true;
  }

  async #failed(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const source = request.socket.remoteAddress ?? 'unknown';
    const { hangUp } = await this.#failures.note({ source, log: request.log, gone: request.over });
    if (hangUp) reply.header('connection', 'close');
  }
}

/** By the route that was found, not by how its path was spelled; what was not found is open outside /v1 only. */
export function accessOf(request: FastifyRequest): Endpoint['access'] {
  const { url, config } = request.routeOptions;
  if (url !== undefined) return config.access ?? 'token';
  return accessOfPath(request.url);
}

export function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? request.url;
}
