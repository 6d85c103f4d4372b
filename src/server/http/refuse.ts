import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, notFoundError } from '../../api/errors.ts';
import { unreadRefusals } from '../../api/refusals.ts';
import { pathOf } from './auth-hook.ts';
import { errorReply } from './errors.ts';
import { isShadowed, methodsOf } from './route-table.ts';

/** Throws `not_found` for an unknown path, or `method_not_allowed` for a path with other methods. */
export function refuseUnknown(request: FastifyRequest, reply: FastifyReply): never {
  const path = pathOf(request);
  const methods = methodsOf(path);
  if (methods.length === 0) {
    throw notFoundError(`the route ${request.method} ${path} does not exist: see /openapi.yaml`);
  }
  reply.header('allow', methods.join(', '));
  throw new AppError(
    'method_not_allowed',
    `the route ${path} does not support the method ${request.method}: use ${methods.join(', ')}`,
  );
}

/** Whether a request has no route of its own. */
export function isUnknown(request: FastifyRequest): boolean {
  const { path } = request.routeOptions.config;
  return request.is404 || isShadowed(path, request.method, pathOf(request));
}

/** Throws `unsupported_media_type` for a compressed body. */
export function assertNotEncoded({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw new AppError(
    'unsupported_media_type',
    'compressed request bodies are not supported: send the body uncompressed, without the header Content-Encoding',
  );
}

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, body, isBug } = errorReply(error, request.routeOptions.config.statuses);
  // The rest of the body will not be read, so the connection cannot be reused.
  if (isOnItsWay(request.raw)) {
    reply.header('connection', 'close');
    linger(request.raw.socket);
  }
  if (isBug) request.log.error({ err: error }, 'a request failed because of a bug');
  else if (status >= 500) request.log.error({ err: error }, 'a request failed');
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(body));
}

/** The longest pause in the rest of a refused body, which is read and discarded, in milliseconds. */
const LINGER_MS = 2000;

/**
 * Lets a client finish sending after its response: many clients read no response while they send, and report a broken connection
 * if the server closes it before.
 */
function linger(socket: Socket): void {
  // Node calls `destroySoon` after the response. Its own version closes the connection at once.
  socket.destroySoon = () => {
    socket.end();
    socket.setTimeout(LINGER_MS, () => socket.destroy());
  };
}

/** Whether a request has a body that was not read to its end. */
function isOnItsWay({ complete, headers }: IncomingMessage): boolean {
  const announced = headers['content-length'] ?? (headers['transfer-encoding'] ? '1' : '0');
  return !complete && announced !== '0';
}

/** The statuses for errors of Node's HTTP parser; any other error means that the bytes are not HTTP. */
const unreadStatuses: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const notHttp = { reason: 'Bad Request', when: 'this is not an HTTP request' };
const cutOff = { reason: 'Bad Request', when: 'the request is incomplete' };

/** Responds to bytes that are not HTTP on the bare socket, because there is no request. */
export function refuseGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status = unreadStatuses[error.code ?? ''] ?? 400;
  const isCutOff = error.code === 'HPE_INVALID_EOF_STATE';
  const { reason, when } = unreadRefusals[status] ?? (isCutOff ? cutOff : notHttp);
  refuseRaw(socket, `${status} ${reason}`, { error: when, code: 'invalid' });
}

/** Responds to CONNECT, for which Node has no response of its own. */
export function refuseConnect(socket: Duplex): void {
  const error =
    'the method CONNECT is not supported: use the server directly instead of as a proxy';
  refuseRaw(socket, '405 Method Not Allowed', { error, code: 'method_not_allowed' });
}

function refuseRaw(socket: Duplex, status: string, refusal: object): void {
  const body = JSON.stringify(refusal);
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
