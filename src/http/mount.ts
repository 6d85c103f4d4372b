import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '../api/endpoint.ts';
import { AppError } from '../errors.ts';
import {
  digestOf,
  type Keep,
  keepNothing,
  type KeptAnswer,
  type KeptAnswers,
  type KeyedRequest,
} from '../store/kept-answers.ts';
import type { Bearer } from '../access/admit.ts';
import { errorReply } from './errors.ts';
import type { EventStreams, Frames } from './sse.ts';
import { pathChecker, queryDecoder, validator } from './validate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    bearer: Bearer | null;
    /** Aborts when the request was answered, or its client has left. */
    over: AbortSignal;
  }
  interface FastifyContextConfig {
    access?: Endpoint['access'];
    statuses?: Endpoint['statuses'];
    /** As the endpoint has it. */
    path?: string;
  }
}

/** What a handler gets of a request: checked, and typed by the endpoint. */
export interface Call<E> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  /** Who sends it; null where nobody has to say. */
  bearer: Bearer | null;
  /** Keeps the answer for the request's Idempotency-Key, if it has one: call it in the transaction of the effect. */
  keep: Keep;
  header: (name: string) => string | undefined;
  /** Sets a header of the answer. */
  setHeader: (name: string, value: string) => void;
  /** Whether only the headers are asked for: a handler that would wait for something does not. */
  isHead: boolean;
  /** Aborts when the client has left before it was answered; it may have left already. */
  left: AbortSignal;
  /**
   * Answers with a stream of frames, until those end, the client leaves or its token is good no more. Throws
   * `too_many` where no stream more may be open.
   */
  stream: (frames: Frames, headers?: Record<string, string>) => undefined;
}

/** JSON that is text already. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Handler<E> = (
  call: Call<E>,
) => Promise<ResponseOf<E> | RawJson | Readable | undefined> | ResponseOf<E>;

/** Makes a route of an endpoint and its handler. */
export type Mount = <E extends Endpoint>(endpoint: E, handler: Handler<E>) => void;

/** The id of who sends a request to a route that is not public. */
export function senderOf({ bearer }: Pick<Call<unknown>, 'bearer'>): string {
  if (bearer) return bearer.id;
  throw new Error('nobody has to say who sends this');
}

/** The records of a page; where the next one begins goes into its header. */
export function onePage<T>(
  { records, nextCursor }: { records: T[]; nextCursor: string | null },
  setHeader: (name: string, value: string) => void,
): T[] {
  if (nextCursor) setHeader('X-Next-Cursor', nextCursor);
  return records;
}

/** How endpoints become routes of an app. Where there is GET there is HEAD. */
export function mounter(
  app: FastifyInstance,
  given: { keptAnswers: KeptAnswers; streams: EventStreams },
): Mount {
  return (endpoint, handler) => {
    const callOf = callReader(endpoint, given.streams);
    const answer = answerer(endpoint, handler, given.keptAnswers);
    app.route({
      method: endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: endpoint.method === 'GET',
      bodyLimit: endpoint.bodyLimit,
      config: { access: endpoint.access, path: endpoint.path, statuses: endpoint.statuses },
      async handler(request, reply) {
        try {
          return await answer(callOf(request, reply), request, reply);
        } catch (error) {
          if (!request.over.aborted) throw error;
          // Nobody is there to be told, and work that was called off for that reason is no failure.
          request.log.debug({ err: error }, 'a request failed after its client had left');
          return reply.hijack();
        }
      },
    });
  };
}

/** Runs the handler of an endpoint, once for an Idempotency-Key, and sends what it gives. */
function answerer<E extends Endpoint>(
  endpoint: E,
  handler: Handler<E>,
  keptAnswers: KeptAnswers,
): (
  call: Omit<Call<E>, 'keep'>,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply> {
  return async (call, request, reply) => {
    const keyed = endpoint.method === 'POST' ? keyedRequest(request, endpoint) : null;
    if (!keyed) {
      const result = await handler({ ...call, keep: keepNothing });
      if (reply.sent) return reply;
      // A file that was opened for a client that has left is closed.
      if (call.left.aborted && result instanceof Readable) result.destroy();
      return call.left.aborted ? reply.hijack() : send(reply, endpoint, result);
    }
    const result = await keptAnswers.once(
      keyed,
      endpoint.status,
      async (keep) => handler({ ...call, keep }),
      keptRefusal,
    );
    if ('value' in result) return send(reply, endpoint, result.value);
    reply.header('Idempotency-Replayed', 'true');
    return sendJson(reply, result.kept.status, result.kept.text);
  };
}

/** Reads and checks a request as the endpoint describes it. */
function callReader<E extends Endpoint>(
  endpoint: E,
  streams: EventStreams,
): (request: FastifyRequest, reply: FastifyReply) => Omit<Call<E>, 'keep'> {
  const checkPath = pathChecker(endpoint.params);
  const decodeQuery = queryDecoder(endpoint.query);
  const checkQuery = validator(z.strictObject(endpoint.query), 'query');
  const checkBody = validator(endpoint.body ?? z.strictObject({}), 'body');
  return (request, reply) => ({
    params: checkPath(request.params) as ParamsOf<E>,
    // Who watches whether the server is there adds whatever keeps caches away.
    query: (endpoint.access === 'public'
      ? {}
      : checkQuery(decodeQuery(request.query as Record<string, unknown>))) as QueryOf<E>,
    body: (endpoint.method === 'GET'
      ? undefined
      : checkBody(request.body === undefined ? {} : request.body)) as BodyOf<E>,
    bearer: request.bearer,
    header: (name) => firstOf(request.headers[name]),
    setHeader: (name, value) => void reply.header(name, value),
    isHead: request.method === 'HEAD',
    left: request.over,
    stream: (frames, headers = {}) => {
      const holder = request.bearer;
      // Agents have tokens for tools alone, which do not stream.
      if (holder === null || !('ended' in holder)) throw new Error('nobody may stream this');
      streams.assertRoom(holder);
      for (const [name, value] of Object.entries(reply.getHeaders()))
        reply.raw.setHeader(name, String(value));
      reply.hijack();
      const asked = { response: reply.raw, left: request.over, holder, headers };
      if (request.method === 'HEAD') streams.serveHead(asked);
      else streams.serve(asked, frames);
      return undefined;
    },
  });
}

function send(reply: FastifyReply, endpoint: Endpoint, result: unknown): FastifyReply {
  if (endpoint.status === 204) return reply.code(204).send();
  if (endpoint.answers === 'text') return reply.send(result);
  if (endpoint.answers === 'bytes') return reply.type('application/octet-stream').send(result);
  // JSON in pieces, of a handler that serves others in between.
  if (result instanceof Readable)
    return reply.code(endpoint.status).type('application/json; charset=utf-8').send(result);
  return sendJson(
    reply,
    endpoint.status,
    result instanceof RawJson ? result.text : JSON.stringify(result),
  );
}

function sendJson(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text);
}

/**
 * A conflict is said again to who asks again. What says "not now" is not: nothing was done, and the same request may
 * be carried out later.
 */
function keptRefusal(error: unknown): KeptAnswer | null {
  if (error instanceof AppError && error.code === 'turn_in_progress') return null;
  const { status, body } = errorReply(error);
  return status === 409 ? { status, text: JSON.stringify(body) } : null;
}

/**
 * What an Idempotency-Key stands for: one token's request, its path and body. Throws `invalid` for a bad key,
 * and for any where the answer must not be kept.
 */
function keyedRequest(
  request: FastifyRequest,
  { access, secret, path }: Endpoint,
): KeyedRequest | null {
  const given = request.headers['idempotency-key'];
  if (given === undefined) return null;
  if (access === 'gateway') {
    throw new AppError('invalid', `${path} accepts no Idempotency-Key: send an invocation_id`);
  }
  if (secret) {
    throw new AppError(
      'invalid',
      `${path} stores no responses, because they contain secrets: leave out Idempotency-Key`,
    );
  }
  if (typeof given !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(given)) {
    throw new AppError('invalid', 'Idempotency-Key has to be 1 to 255 visible ASCII characters');
  }
  return {
    key: digestOf(request.headers.authorization, given),
    fingerprint: digestOf(request.method, request.url, request.body ?? {}),
  };
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
