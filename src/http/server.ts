import type { IncomingMessage } from 'node:http';
import net, { type Socket } from 'node:net';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { AppError } from '../errors.ts';
import type { Feed } from '../events/feed.ts';
import type { EventLog } from '../events/log.ts';
import type { ToolGateway } from '../gateway/service.ts';
import type { KeptAnswers } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { ProcessService } from '../processes/service.ts';
import type { SessionService } from '../sessions/service.ts';
import type { TokenService } from '../access/tokens.ts';
import type { InitScripts } from '../worktrees/init-scripts.ts';
import type { WorktreeService } from '../worktrees/service.ts';
import type { AccessRules } from '../access/admit.ts';
import { connectionLimit, limitConnections } from './connections.ts';
import { accessOf, Entrance, pathOf } from './entrance.ts';
import { errorReply } from './errors.ts';
import { readJson } from './json-body.ts';
import { mounter } from './mount.ts';
import { UnderWay } from './under-way.ts';
import { isShadowed, methodsOf } from './route-table.ts';
import { eventRoutes } from './routes/events.ts';
import { gatewayRoutes } from './routes/gateway.ts';
import { type ProviderKnowledge, providerRoutes } from './routes/providers.ts';
import { runtimeRoutes, type SelfKnowledge } from './routes/runtime.ts';
import { processRoutes } from './routes/processes.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { type Teams, teamRoutes } from './routes/teams.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { worktreeRoutes } from './routes/worktrees.ts';
import { EventStreams } from './sse.ts';
import type { StreamSettings } from './stream-limits.ts';

const BODY_BYTES = 256 * 1024;
/** The head of a request has to be there after so long, or when the whole of it has to be. */
const HEADERS_TIMEOUT_MS = 15_000;
/** How often it is looked for requests that are late. */
const LATE_EVERY_MS = 1000;
/** A longer path is refused by Node itself. */
const MAX_PARAM_LENGTH = 16 * 1024;
/** How long the last answers may take when the server ends, in milliseconds. */
const LAST_ANSWERS_MS = 2000;

export interface HttpServer {
  /** Answers the address it listens on, `http://HOST:PORT`. Throws AppError where it cannot listen. */
  listen(host: string, port: number): Promise<string>;
  /** From now on what would change something is refused with `shutting_down`. */
  refuseChanges(): void;
  /** Ends the streams once they have everything, and every connection. */
  close(): Promise<void>;
}

interface HttpServerDependencies {
  access: AccessRules;
  self: SelfKnowledge;
  log: EventLog;
  feed: Feed;
  /** So many streams may be open at once. */
  streamLimits: () => StreamSettings;
  /** So many connections may be open at once, where there are file descriptors for them. */
  maxConnections: number;
  /** A request has to have arrived as a whole after so long. What answers it may take days. */
  requestTimeoutMs: number;
  sessions: SessionService;
  processes: ProcessService;
  worktrees: WorktreeService;
  initScripts: InitScripts;
  teams: Teams;
  providers: ProviderKnowledge;
  tokens: TokenService;
  gateway: ToolGateway;
  keptAnswers: KeptAnswers;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** The interface over HTTP. */
export function createHttpServer(given: HttpServerDependencies): HttpServer {
  const { feed, clock } = given;
  const streams = new EventStreams({ feed, clock, limits: given.streamLimits });
  const entrance = new Entrance(given);
  const app = newApp(given, entrance);
  const underWay = new UnderWay(clock);
  let takesChanges = true;
  app.addHook('onRequest', async (request, reply) => {
    entrance.begin(request, reply);
    if (!(await entrance.letIn(request, reply))) return reply;
    underWay.add(request.over);
    admitToRoute(request, reply, { epoch: given.self.epoch, seq: feed.latestSeq, takesChanges });
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) => refuseUnknown(request, reply));
  mountAll(app, given, { streams, entrance });

  return {
    listen: (host, port) => listenOn(app, host, port),
    refuseChanges() {
      takesChanges = false;
      // Open connections may still read; no new one is taken. http's own close would also cut the connections
      // that are idle just now, on some of which a request is on its way.
      net.Server.prototype.close.call(app.server);
    },
    async close() {
      await streams.end();
      await underWay.over(LAST_ANSWERS_MS);
      await app.close();
      entrance[Symbol.dispose]();
    },
  };
}

/** An app with its limits, its reader of bodies, and the entrance before everything else. */
function newApp(given: HttpServerDependencies, entrance: Entrance): FastifyInstance {
  const { ids, logger, requestTimeoutMs } = given;
  const app = fastify({
    loggerInstance: logger,
    // One line a request, written when it is answered.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_BYTES,
    genReqId: (request) => givenRequestId(request.headers['x-request-id']) ?? ids.next('req'),
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    return503OnClosing: false,
    // A request without one is refused like one for a foreign host.
    http: {
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(LATE_EVERY_MS, requestTimeoutMs),
    },
    requestTimeout: requestTimeoutMs,
    clientErrorHandler: refuseGarbage,
    // A request whose target is not even a path never reaches the hooks.
    async frameworkErrors(error, request, reply) {
      entrance.begin(request, reply);
      try {
        if (await entrance.letIn(request, reply)) sendError(error, request, reply);
      } catch (refusal) {
        sendError(refusal, request, reply);
      }
    },
  }) as unknown as FastifyInstance;
  limitConnections(app.server, connectionLimit(given.maxConnections));
  app.decorateRequest('bearer', null);
  app.decorateRequest('over');
  // A request that may not enter is not told to go on with its body.
  app.server.on('checkContinue', (request, response) => {
    if (entrance.mayEnter(request)) response.writeContinue();
    app.server.emit('request', request, response);
  });
  app.server.on('checkExpectation', (request, response) =>
    app.server.emit('request', request, response),
  );
  readJsonBodies(app);
  return app;
}

/** Sets the headers of the answer, and refuses, before the body is read, a request that no route takes just now. */
function admitToRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  { epoch, seq, takesChanges }: { epoch: string; seq: number; takesChanges: boolean },
): void {
  const isPublic = accessOf(request) === 'public';
  if (!isPublic) reply.header('X-Epoch', epoch);
  const { config } = request.routeOptions;
  if (request.is404 || isShadowed(config.path, request.method, pathOf(request)))
    refuseUnknown(request, reply);
  // Kept connections end with the answer, or the server would wait for them.
  if (!takesChanges) reply.header('connection', 'close');
  if (request.method === 'GET' || request.method === 'HEAD') {
    if (!isPublic) reply.header('X-Seq', String(seq));
    return;
  }
  if (!takesChanges)
    throw new AppError('shutting_down', 'the server is stopping: try again when it is back');
  assertNotEncoded(request);
}

function mountAll(
  app: FastifyInstance,
  given: HttpServerDependencies,
  { streams, entrance }: { streams: EventStreams; entrance: Entrance },
): void {
  const mount = mounter(app, { keptAnswers: given.keptAnswers, streams });
  runtimeRoutes(mount, given.self, entrance.requests);
  providerRoutes(mount, given.providers);
  sessionRoutes(mount, given.sessions);
  processRoutes(mount, given.processes);
  worktreeRoutes(mount, given.worktrees, given.initScripts);
  teamRoutes(mount, given.teams);
  eventRoutes(mount, { ...given, teams: given.teams.teams });
  tokenRoutes(mount, given.tokens);
  gatewayRoutes(mount, given.gateway);
}

/** Answers the address it listens on. Throws `conflict` where the port is in use, `invalid` where it cannot listen. */
async function listenOn(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({
      host: host.replace(/^\[(.*)\]$/, '$1'),
      port,
      listenTextResolver: (address) => `listening on ${address}`,
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new AppError(
        'conflict',
        `port ${port} is in use: choose another with --port (0 takes a free one)`,
        { cause: error },
      );
    throw new AppError('invalid', `cannot listen on ${host}:${port}: ${(error as Error).message}`, {
      cause: error,
    });
  }
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

/** Throws `unsupported_media_type` for a body that is compressed. */
function assertNotEncoded({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw new AppError(
    'unsupported_media_type',
    'the body has to be sent as it is, without Content-Encoding',
  );
}

/** Throws `not_found`, or `method_not_allowed` for a path that has other methods. */
function refuseUnknown(request: FastifyRequest, reply: FastifyReply): never {
  const path = pathOf(request);
  const methods = methodsOf(path);
  if (methods.length === 0) {
    throw new AppError('not_found', `no route ${request.method} ${path}; see /openapi.yaml`);
  }
  reply.header('allow', methods.join(', '));
  throw new AppError(
    'method_not_allowed',
    `${request.method} is not a method of ${path}; it has ${methods.join(', ')}`,
  );
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, body, isBug } = errorReply(error, request.routeOptions.config.statuses);
  // Nobody reads what is still to come of it.
  if (isOnItsWay(request.raw)) reply.header('connection', 'close');
  if (isBug) request.log.error({ err: error }, 'a request failed on a bug');
  else if (status >= 500) request.log.error({ err: error }, 'a request failed');
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(body));
}

/** Whether a body is announced that was not read to its end. */
function isOnItsWay({ complete, headers }: IncomingMessage): boolean {
  const announced = headers['content-length'] ?? (headers['transfer-encoding'] ? '1' : '0');
  return !complete && announced !== '0';
}

/** Status and message of what Node gives up on; all else is no HTTP. */
const garbage: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not arrive in time'],
};

/** What is no HTTP: there is no request to answer, only a socket. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, message] = garbage[error.code ?? ''] ?? [
    '400 Bad Request',
    'this is no HTTP request',
  ];
  const body = JSON.stringify({ error: message, code: 'invalid' });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function givenRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.-]{1,64}$/.test(header) ? header : null;
}
