import { type FastifyInstance, type FastifyRequest, fastify, LogController } from 'fastify';
import { endpoints } from '../api/index.ts';
import { AppError } from '../errors.ts';
import type { Feed } from '../events/feed.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { SessionService } from '../sessions/service.ts';
import { type AccessRules, assertMayEnter } from './auth.ts';
import { errorReply } from './errors.ts';
import { refuseOtherMethods } from './mount.ts';
import { eventRoutes } from './routes/events.ts';
import { runtimeRoutes, type SelfKnowledge } from './routes/runtime.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { EventStreams } from './sse.ts';

const BODY_BYTES = 256 * 1024;

export interface HttpServer {
  /** Answers the address it listens on, `http://HOST:PORT`. Throws AppError where it cannot listen. */
  listen(host: string, port: number): Promise<string>;
  /** From now on what would change something is refused with `shutting_down`. */
  refuseChanges(): void;
  /** Ends the streams once they have everything, and every connection. */
  close(): Promise<void>;
}

/** The interface over HTTP. */
export function createHttpServer(given: {
  access: AccessRules;
  self: SelfKnowledge;
  log: EventLog;
  feed: Feed;
  sessions: SessionService;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}): HttpServer {
  const { access, self, feed, clock, ids, logger } = given;
  const streams = new EventStreams({ feed, clock });
  const app = fastify({
    loggerInstance: logger,
    // One line a request, written when it is answered.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_BYTES,
    genReqId: (request) => givenRequestId(request.headers['x-request-id']) ?? ids.next('req'),
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 200 },
    return503OnClosing: false,
  }) as unknown as FastifyInstance;
  let changes = true;

  readJsonBodies(app);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id);
    assertMayEnter(request.headers, isPublic(request), access);
    reply.header('X-Epoch', self.epoch);
    if (request.method === 'GET') reply.header('X-Seq', String(feed.latestSeq));
    else if (!changes)
      throw new AppError('shutting_down', 'the server is stopping: try again when it is back');
  });
  app.addHook('onResponse', (request, reply, done) => {
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? request.url,
        status: reply.statusCode,
        ms,
      },
      'request',
    );
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const { status, body, isBug } = errorReply(error);
    if (isBug) request.log.error({ err: error }, 'a request failed on a bug');
    else if (status >= 500) request.log.error({ err: error }, 'a request failed');
    return reply
      .code(status)
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify(body));
  });
  app.setNotFoundHandler((request) => {
    throw new AppError(
      'not_found',
      `no route ${request.method} ${pathOf(request)}; see /openapi.yaml`,
    );
  });
  runtimeRoutes(app, self);
  sessionRoutes(app, given.sessions);
  eventRoutes(app, { ...given, streams, epoch: self.epoch });
  refuseOtherMethods(app, Object.values(endpoints));

  return {
    async listen(host, port) {
      try {
        return await app.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port });
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EADDRINUSE') {
          throw new AppError(
            'conflict',
            `port ${port} is in use: choose another with --port (0 takes a free one)`,
            { cause: error },
          );
        }
        throw new AppError(
          'invalid',
          `cannot listen on ${host}:${port}: ${(error as Error).message}`,
          { cause: error },
        );
      }
    },
    refuseChanges() {
      changes = false;
      // Those who are here may still read; nobody new comes in.
      app.server.close();
    },
    async close() {
      await streams.end();
      await app.close();
    },
  };
}

/** JSON bodies, of which an empty one counts as `{}`. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/json(?:;|$)/i,
    { parseAs: 'string' },
    (_request, body, done) => {
      if (body === '') return done(null, {});
      try {
        done(null, JSON.parse(body as string));
      } catch (error) {
        done(new AppError('invalid', `the body is not valid JSON: ${(error as Error).message}`));
      }
    },
  );
}

/** By the route that was found, not by how its path was spelled; what was not found is open outside /v1 only. */
function isPublic(request: FastifyRequest): boolean {
  const { url, config } = request.routeOptions;
  if (url !== undefined) return config.access === 'public';
  return !/^\/+v1(\/|$)/i.test(pathOf(request));
}

function givenRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.-]{1,64}$/.test(header) ? header : null;
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? request.url;
}
