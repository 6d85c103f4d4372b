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
} from '../idempotency/kept-answers.ts';
import type { Bearer } from './auth.ts';
import { errorReply } from './errors.ts';
import { queryDecoder, validator } from './validate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    bearer: Bearer | null;
  }
  interface FastifyContextConfig {
    access?: Endpoint['access'];
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
  /** Aborts when the client has left before it was answered. */
  left: () => AbortSignal;
  /** The raw answer, for a handler that streams: it answers by itself from then on. */
  takeOver: () => FastifyReply['raw'];
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

/** The records of a page; where the next one begins goes into its header. */
export function onePage<T>(
  { records, nextCursor }: { records: T[]; nextCursor: string | null },
  setHeader: (name: string, value: string) => void,
): T[] {
  if (nextCursor) setHeader('X-Next-Cursor', nextCursor);
  return records;
}

/** How endpoints become routes of an app. */
export function mounter(app: FastifyInstance, keptAnswers: KeptAnswers): Mount {
  return (endpoint, handler) => {
    const callOf = callReader(endpoint);
    app.route({
      method: endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: false,
      bodyLimit: endpoint.bodyLimit,
      config: { access: endpoint.access },
      async handler(request, reply) {
        const call = callOf(request, reply);
        const keyed = endpoint.method === 'POST' ? keyedRequest(request, endpoint) : null;
        if (!keyed) {
          const result = await handler({ ...call, keep: keepNothing });
          return reply.sent ? reply : send(reply, endpoint, result);
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
      },
    });
  };
}

/** Reads and checks a request as the endpoint describes it. */
function callReader<E extends Endpoint>(
  endpoint: E,
): (request: FastifyRequest, reply: FastifyReply) => Omit<Call<E>, 'keep'> {
  const decodeQuery = queryDecoder(endpoint.query);
  const checkQuery = validator(z.strictObject(endpoint.query), 'query');
  const checkBody = validator(endpoint.body ?? z.strictObject({}), 'body');
  return (request, reply) => ({
    params: request.params as ParamsOf<E>,
    query: checkQuery(decodeQuery(request.query as Record<string, unknown>)) as QueryOf<E>,
    body: (endpoint.method === 'GET'
      ? undefined
      : checkBody(request.body === undefined ? {} : request.body)) as BodyOf<E>,
    bearer: request.bearer,
    header: (name) => firstOf(request.headers[name]),
    setHeader: (name, value) => void reply.header(name, value),
    left: () => {
      const left = new AbortController();
      reply.raw.once('close', () => left.abort());
      return left.signal;
    },
    takeOver: () => {
      for (const [name, value] of Object.entries(reply.getHeaders()))
        reply.raw.setHeader(name, String(value));
      reply.hijack();
      return reply.raw;
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

/** A conflict is said again to who asks again; other refusals may have another end the next time. */
function keptRefusal(error: unknown): KeptAnswer | null {
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
    throw new AppError('invalid', `${path} takes no Idempotency-Key: give an invocation_id`);
  }
  if (secret) {
    throw new AppError(
      'invalid',
      `${path} keeps no answers, since they hold secrets: leave Idempotency-Key out`,
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
