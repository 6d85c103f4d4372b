import { type FastifyInstance, fastify, LogController } from 'fastify';
import type { Ids } from '../../core/lib/ids.ts';
import type { Logger } from '../../core/lib/log.ts';
import { connectionLimit, limitConnections } from './connections.ts';
import type { AuthHook } from './auth-hook.ts';
import { readJson } from './json-body.ts';
import { refuseGarbage, refuseUnknown, sendError } from './refuse.ts';

/** The maximum size of URL and headers together: in a URL, one character of a path or a search may take 12 bytes. */
const MAX_HEADER_BYTES = 64 * 1024;
const BODY_BYTES = 256 * 1024;
/**
 * The maximum time for the headers of a request to arrive, in milliseconds; the time limit of the whole request may be
 * shorter.
 */
const HEADERS_TIMEOUT_MS = 15_000;
/** How often Node checks for requests that are past their time limit, in milliseconds. */
const LATE_EVERY_MS = 1000;
/** The maximum length of a path parameter; Node itself refuses a longer path. */
const MAX_PARAM_LENGTH = MAX_HEADER_BYTES;

interface AppSettings {
  /** The maximum number of open connections, which the available file descriptors may lower. */
  maxConnections: number;
  /** The maximum time for a whole request to arrive, in milliseconds. Its response may take days. */
  requestTimeoutMs: number;
  ids: Ids;
  logger: Logger;
}

/** Returns a fastify without routes, with limits, error handling and JSON bodies. */
export function createApp(
  { maxConnections, requestTimeoutMs, ids, logger }: AppSettings,
  entrance: AuthHook,
): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    // Each request has one line in the log, which is written after its response.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_BYTES,
    genReqId: (request) => givenRequestId(request.headers['x-request-id']) ?? ids.next('req'),
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    return503OnClosing: false,
    // No route has a schema of fastify's, so neither of its two compilers is loaded.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    // A request without a host is refused with the same error as one for a foreign host.
    http: {
      requireHostHeader: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(LATE_EVERY_MS, requestTimeoutMs),
    },
    requestTimeout: requestTimeoutMs,
    clientErrorHandler: refuseGarbage,
    // A request whose path cannot be parsed does not reach the hooks.
    async frameworkErrors(error, request, reply) {
      entrance.begin(request, reply);
      try {
        if (await entrance.authenticate(request, reply)) sendError(error, request, reply);
      } catch (refusal) {
        sendError(refusal, request, reply);
      }
    },
  }) as unknown as FastifyInstance;
  limitConnections(app.server, connectionLimit(maxConnections));
  app.decorateRequest('bearer', null);
  app.decorateRequest('over');
  expectBodies(app, entrance);
  readJsonBodies(app);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) => refuseUnknown(request, reply));
  return app;
}

function unused(): never {
  throw new Error(
    'fastify must not compile schemas: src/api describes the routes, and validate.ts checks requests',
  );
}

/** Sends `100 Continue` only to a sender that may enter; others receive their refusal before they send a body. */
function expectBodies({ server }: FastifyInstance, entrance: AuthHook): void {
  server.on('checkContinue', (request, response) => {
    if (entrance.mayEnter(request)) response.writeContinue();
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** Parses JSON bodies; an empty one counts as `{}`. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/json(?:;|$)/i,
    { parseAs: 'string' },
    (_request, body, done) => {
      try {
        done(null, body === '' ? {} : readJson(body as string));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

function givenRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.-]{1,64}$/.test(header) ? header : null;
}
