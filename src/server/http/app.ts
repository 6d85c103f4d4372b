import { type FastifyInstance, LogController, fastify } from 'fastify';
import type { Ids } from '../../core/lib/ids.ts';
import type { Logger } from '../../core/lib/log.ts';
import type { AuthHook } from './auth-hook.ts';
import { refuseConnect, refuseGarbage, refuseUnknown, sendError } from './refuse.ts';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { descriptorLimit } from '../../core/lib/descriptor-limit.ts';
import { AppError, invalidError } from '../../api/errors.ts';
import { endpoints } from '../../api/index.ts';
import { inexactNumbers } from './exact-numbers.ts';
import { type Scanned, closingQuote } from '../../core/lib/json-string.ts';
import { shorten } from '../../core/lib/shorten.ts';

/** The maximum size of URL and headers together: in a URL, one character of a path or a search may take 12 bytes. */
const MAX_HEADER_BYTES = 64 * 1024;
const BODY_BYTES = 256 * 1024;
/** The largest body that any route accepts. */
const MAX_BODY_BYTES = Math.max(...Object.values(endpoints).map(({ bodyLimit }) => bodyLimit));
/** The maximum time for the headers of a request to arrive, in milliseconds, unless the whole request has less. */
const HEADERS_TIMEOUT_MS = 15_000;
/** How often Node checks for requests that are past their time limit, in milliseconds. */
const LATE_EVERY_MS = 1000;
/** The maximum length of a path parameter; Node itself refuses a longer path. */
const MAX_PARAM_LENGTH = MAX_HEADER_BYTES;

export interface AppSettings {
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
  authHook: AuthHook,
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
      authHook.begin(request, reply);
      try {
        if (await authHook.authenticate(request, reply)) sendError(error, request, reply);
      } catch (refusal) {
        sendError(refusal, request, reply);
      }
    },
  }) as unknown as FastifyInstance;
  limitConnections(app.server, connectionLimit(maxConnections));
  app.decorateRequest('bearer', null);
  app.decorateRequest('over');
  expectBodies(app, authHook);
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

/**
 * Sends `100 Continue` only to a sender that may enter, for a body that no route refuses for its size; others receive their
 * refusal before they send a body.
 */
function expectBodies({ server }: FastifyInstance, authHook: AuthHook): void {
  server.on('checkContinue', (request, response) => {
    const isTooLarge = Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES;
    if (!isTooLarge && authHook.mayEnter(request)) response.writeContinue();
    server.emit('request', request, response);
  });
  server.on('connect', (_request, socket) => refuseConnect(socket));
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses JSON bodies, which must be UTF-8; an empty one counts as `{}`. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/json(?:;|$)/i,
    { parseAs: 'buffer' },
    (request, body, done) => {
      try {
        assertUtf8(request.headers['content-type']);
        const text = decoded(body as Buffer);
        done(null, text === '' ? {} : readJson(text));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

/** Throws `unsupported_media_type` for a content type with another charset than UTF-8. */
function assertUtf8(contentType = ''): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1];
  if (charset === undefined || /^utf-?8$/i.test(charset)) return;
  throw new AppError(
    'unsupported_media_type',
    `request bodies with the charset ${shorten(charset, 40)} are not supported: send the body in UTF-8`,
  );
}

/** Throws `invalid` for bytes that are not UTF-8, which would be stored changed. */
function decoded(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw invalidError('the request body is not valid UTF-8');
  }
}

function givenRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.-]{1,64}$/.test(header) ? header : null;
}

/** The number of file descriptors reserved for files and children; at most half of the process's limit. */
const RESERVED_DESCRIPTORS = 512;

/** Returns the maximum number of open connections: the configured one, unless the file descriptors allow fewer. */
export function connectionLimit(configured: number, descriptors = descriptorLimit()): number {
  const reserved = Math.min(RESERVED_DESCRIPTORS, Math.ceil(descriptors / 2));
  return Math.max(1, Math.min(configured, descriptors - reserved));
}

/** The state of a connection: `used` once a whole request arrived, `isBusy` while its response is under way. */
interface Traffic {
  used: boolean;
  isBusy: () => boolean;
}

/**
 * Keeps a server from running out of connections. If more than `limit` are open, it closes the oldest one without a
 * complete request, else the oldest idle keep-alive connection, so that a client which holds connections open without
 * using them does not lock others out. A connection with a response under way, such as a stream, is never closed. A new
 * connection may first send its request, unless one and a half times `limit` are open: then it is closed at once.
 */
function limitConnections(server: Server, limit: number): void {
  const open = new Map<Socket, Traffic>();
  let isTrimming = false;
  const trim = () => {
    isTrimming = false;
    while (open.size > limit && endOne(open));
  };
  server.on('connection', (socket: Socket) => {
    if (open.size >= limit + Math.ceil(limit / 2)) return void socket.destroy();
    open.set(socket, { used: false, isBusy: () => false });
    socket.once('close', () => open.delete(socket));
    if (open.size <= limit || isTrimming) return;
    isTrimming = true;
    // The data that has arrived by now is read in the next turn of the event loop.
    setImmediate(() => setImmediate(trim));
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const traffic = {
      get used() {
        return request.complete;
      },
      isBusy: () => request.complete && !response.closed,
    };
    // The map is ordered by use, so the connections used last are closed last.
    if (open.delete(socket)) open.set(socket, traffic);
  });
}

/** Closes the least useful connection; returns false if all are busy. */
function endOne(open: Map<Socket, Traffic>): boolean {
  const idle = [...open].filter(([, { isBusy }]) => !isBusy());
  const [socket] = idle.find(([, { used }]) => !used) ?? idle[0] ?? [];
  if (!socket) return false;
  open.delete(socket);
  socket.destroy();
  return true;
}

/**
 * The maximum nesting depth of a body. SQLite reads JSON of at most 1000 levels, and a stored record contains the body some levels
 * deep.
 */
const MAX_DEPTH = 500;
/** The maximum number of values in a body, because each wrong value adds some hundred bytes to the error. */
const MAX_VALUES = 20_000;

/** Throws `invalid` for malformed JSON, too deep nesting, too many values, and numbers that are not exact. */
export function readJson(text: string): unknown {
  assertBounded(text);
  const value = parse(text);
  assertExact(text);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidError(`the request body is not valid JSON: ${(error as Error).message}`);
  }
}

/** Throws `invalid`, naming some of the numbers that cannot be stored exactly. */
function assertExact(json: string): void {
  const inexact = inexactNumbers(json, 3);
  if (inexact.length === 0) return;
  const named = inexact.map((one) => shorten(one, 40)).join(', ');
  throw invalidError(
    `the request body contains numbers that cannot be stored exactly (${named}): send these numbers as strings`,
  );
}

/**
 * Throws `invalid` for JSON text that is nested deeper than 500 levels, or holds more than 20,000 values. It scans
 * each character once, even in malformed text, and runs before the parser.
 */
export function assertBounded(text: Scanned): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(text, at);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth++;
        values++;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth--;
        break;
      case COMMA:
        values++;
        break;
      default:
    }
    if (depth > MAX_DEPTH)
      throw invalidError(`the request body is nested deeper than ${MAX_DEPTH} levels`);
    if (values > MAX_VALUES)
      throw invalidError(`the request body contains more than ${MAX_VALUES} values`);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
