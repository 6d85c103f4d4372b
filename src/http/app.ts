import { type FastifyInstance, fastify, LogController } from 'fastify';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { connectionLimit, limitConnections } from './connections.ts';
import type { Entrance } from './entrance.ts';
import { readJson } from './json-body.ts';
import { refuseGarbage, refuseUnknown, sendError } from './refuse.ts';

const BODY_BYTES = 256 * 1024;
/** The head of a request has to be there after so long, or when the whole of it has to be. */
const HEADERS_TIMEOUT_MS = 15_000;
/** How often Node looks for requests that are late. */
const LATE_EVERY_MS = 1000;
/** A longer path is refused by Node itself. */
const MAX_PARAM_LENGTH = 16 * 1024;

interface AppSettings {
  /** So many connections may be open at once, where there are file descriptors for them. */
  maxConnections: number;
  /** A request has to have arrived as a whole after so many milliseconds. Its answer may take days. */
  requestTimeoutMs: number;
  ids: Ids;
  logger: Logger;
}

/** A fastify without routes: limits, errors, and bodies of JSON. */
export function createApp(
  { maxConnections, requestTimeoutMs, ids, logger }: AppSettings,
  entrance: Entrance,
): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    // One line a request, written when it is answered.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_BYTES,
    genReqId: (request) => givenRequestId(request.headers['x-request-id']) ?? ids.next('req'),
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    return503OnClosing: false,
    // A request without a host is refused like one for a foreign host.
    http: {
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(LATE_EVERY_MS, requestTimeoutMs),
    },
    requestTimeout: requestTimeoutMs,
    clientErrorHandler: refuseGarbage,
    // What is not even a path never reaches the hooks.
    async frameworkErrors(error, request, reply) {
      entrance.begin(request, reply);
      try {
        if (await entrance.letIn(request, reply)) sendError(error, request, reply);
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

/** A sender who may not enter is not told to go on with a body. */
function expectBodies({ server }: FastifyInstance, entrance: Entrance): void {
  server.on('checkContinue', (request, response) => {
    if (entrance.mayEnter(request)) response.writeContinue();
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** JSON bodies, of which an empty one counts as `{}`. */
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
