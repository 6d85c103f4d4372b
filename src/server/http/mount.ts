import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '../../api/endpoint.ts';
import { AppError, invalidError, notFoundError } from '../../api/errors.ts';
import {
  type IdempotencyStore,
  type KeyedRequest,
  type SaveResponse,
  type StoredResponse,
  keyedBy,
} from '../../core/store/idempotency-store.ts';
import type { Bearer } from '../../core/access/admit.ts';
import { errorReply } from './errors.ts';
import type { EventStreams, Frames } from './sse.ts';
import { explain, issueInWords } from '../../core/lib/explain.ts';

declare module 'fastify' {
  interface FastifyRequest {
    bearer: Bearer | null;
    /** Aborts when the response was sent, or the client has disconnected. */
    over: AbortSignal;
  }
  interface FastifyContextConfig {
    /** `link`: the page that a link to an approval opens, for whoever has the link. */
    access?: Endpoint['access'] | 'link';
    answers?: Endpoint['answers'];
    statuses?: Endpoint['statuses'];
    /** The path as the endpoint writes it. */
    path?: string;
  }
}

/** The parts of a request that a handler receives, checked and typed by the endpoint. */
export interface Call<E> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  /** The sender; null on routes without authentication. */
  bearer: Bearer | null;
  /** Stores the response for the request's Idempotency-Key, if any; to be called in the transaction of the effect. */
  saveResponse: SaveResponse | undefined;
  header: (name: string) => string | undefined;
  setHeader: (name: string, value: string) => void;
  /** Whether only the headers are requested; a handler then does not wait for anything. */
  isHead: boolean;
  /** Aborts when the client disconnects before the response was sent; it may have aborted already. */
  disconnected: AbortSignal;
  /** Aborts when the server stops: a handler then waits for nothing more. */
  ending: AbortSignal;
  /**
   * Responds with a stream of frames, until they end, the client disconnects or its token is no longer valid. Throws
   * `too_many` if no further stream may be open.
   */
  stream: (frames: Frames, headers?: Record<string, string>) => undefined;
}

/** JSON that is serialised already, as text or as UTF-8. */
export class RawJson {
  readonly text: string | Buffer;
  constructor(text: string | Buffer) {
    this.text = text;
  }
}

export type Handler<E> = (
  call: Call<E>,
) => Promise<ResponseOf<E> | RawJson | Readable | undefined> | ResponseOf<E>;

/** Adds a route for an endpoint and its handler. */
export interface Mount {
  <E extends Endpoint>(endpoint: E, handler: Handler<E>): void;
  /** Adds a route that responds with the records of a page, and sends the cursor of the next one in a header. */
  page: <E extends Endpoint>(endpoint: E, read: (call: Call<E>) => Promise<Page<E>>) => void;
}

interface Page<E> {
  records: ResponseOf<E>;
  nextCursor: string | null;
}

/** Returns the id of the sender of a request; only for routes with authentication. */
export function senderOf({ bearer }: Pick<Call<unknown>, 'bearer'>): string {
  if (bearer) return bearer.id;
  throw new Error('a public route has no sender, because its requests have no token');
}

/** Returns the function that adds endpoints to an app as routes. Each GET route has a HEAD route. */
export function mounter(
  app: FastifyInstance,
  dependencies: { idempotencyStore: IdempotencyStore; streams: EventStreams },
): Mount {
  const mount = <E extends Endpoint>(endpoint: E, handler: Handler<E>): void => {
    const callOf = callReader(endpoint, dependencies.streams);
    const answer = answerer(endpoint, handler, dependencies.idempotencyStore);
    app.route({
      method: endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: endpoint.method === 'GET',
      bodyLimit: endpoint.bodyLimit,
      config: {
        access: endpoint.access,
        answers: endpoint.answers,
        path: endpoint.path,
        statuses: endpoint.statuses,
      },
      async handler(request, reply) {
        try {
          return await answer(callOf(request, reply), request, reply);
        } catch (error) {
          if (!request.over.aborted) throw error;
          // The client no longer reads, and an error because of its disconnection is not a failure of the server.
          request.log.debug({ err: error }, 'a request failed after its client disconnected');
          return reply.hijack();
        }
      },
    });
  };
  const page: Mount['page'] = (endpoint, read) =>
    mount(endpoint, async (call) => {
      const { records, nextCursor } = await read(call);
      if (nextCursor) call.setHeader('X-Next-Cursor', nextCursor);
      return records;
    });
  return Object.assign(mount, { page });
}

/** Runs the handler of an endpoint, once for each Idempotency-Key, and sends its result. */
function answerer<E extends Endpoint>(
  endpoint: E,
  handler: Handler<E>,
  idempotencyStore: IdempotencyStore,
): (
  call: Omit<Call<E>, 'saveResponse'>,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply> {
  return async (call, request, reply) => {
    const keyed = endpoint.method === 'POST' ? keyedRequest(request, endpoint) : null;
    if (!keyed) {
      const result = await handler({ ...call, saveResponse: undefined });
      if (reply.sent) return reply;
      // A file that was opened for a client that has disconnected is closed.
      if (call.disconnected.aborted && result instanceof Readable) result.destroy();
      return call.disconnected.aborted ? reply.hijack() : send(reply, endpoint, result);
    }
    const result = await idempotencyStore.once(
      keyed,
      endpoint.status,
      async (saveResponse) => handler({ ...call, saveResponse }),
      storedRefusal,
    );
    if ('value' in result) return send(reply, endpoint, result.value);
    reply.header('Idempotency-Replayed', 'true');
    return sendJson(reply, result.kept.status, result.kept.text);
  };
}

function callReader<E extends Endpoint>(
  endpoint: E,
  streams: EventStreams,
): (request: FastifyRequest, reply: FastifyReply) => Omit<Call<E>, 'saveResponse'> {
  return (request, reply) => ({
    ...checksOf(endpoint)<E>(request),
    bearer: request.bearer,
    header: (name) => firstOf(request.headers[name]),
    setHeader: (name, value) => void reply.header(name, value),
    isHead: request.method === 'HEAD',
    disconnected: request.over,
    ending: streams.ending,
    stream: (frames, headers = {}) => {
      const holder = request.bearer;
      // Agents' tokens are valid for tools only, and tools do not stream.
      if (holder === null || !('ended' in holder))
        throw new Error('an event stream requires an API token');
      streams.assertRoom(holder);
      for (const [name, value] of Object.entries(reply.getHeaders()))
        reply.raw.setHeader(name, String(value));
      reply.hijack();
      const streamed = { response: reply.raw, disconnected: request.over, holder, headers };
      if (request.method === 'HEAD') streams.serveHead(streamed);
      else streams.serve(streamed, frames);
      return undefined;
    },
  });
}

/** The checks of each endpoint, which its first request creates, so that a start does not wait for them. */
const checks = new WeakMap<Endpoint, Check>();

type Check = <E>(request: FastifyRequest) => Pick<Call<E>, 'params' | 'query' | 'body'>;

function checksOf(endpoint: Endpoint): Check {
  const known = checks.get(endpoint);
  if (known) return known;
  const checkPath = pathChecker(endpoint.params);
  const decodeQuery = queryDecoder(endpoint.query);
  const checkQuery = validator(z.strictObject(endpoint.query), 'query');
  const checkBody = validator(endpoint.body ?? z.strictObject({}), 'body');
  const check: Check = <E>(request: FastifyRequest) => ({
    params: checkPath(request.params) as ParamsOf<E>,
    // Monitoring tools add arbitrary parameters to defeat caches, so public routes ignore the query.
    query: (endpoint.access === 'public'
      ? {}
      : checkQuery(decodeQuery(request.query as Record<string, unknown>))) as QueryOf<E>,
    body: (endpoint.method === 'GET'
      ? undefined
      : checkBody(request.body === undefined ? {} : request.body)) as BodyOf<E>,
  });
  checks.set(endpoint, check);
  return check;
}

function send(reply: FastifyReply, endpoint: Endpoint, result: unknown): FastifyReply {
  if (endpoint.status === 204) return reply.code(204).send();
  if (endpoint.answers === 'text') return reply.send(result);
  if (endpoint.answers === 'bytes') return reply.type('application/octet-stream').send(result);
  // JSON in chunks, from a handler that yields to the event loop between them.
  if (result instanceof Readable)
    return reply.code(endpoint.status).type('application/json; charset=utf-8').send(result);
  return sendJson(
    reply,
    endpoint.status,
    result instanceof RawJson ? result.text : JSON.stringify(result),
  );
}

function sendJson(reply: FastifyReply, status: number, text: string | Buffer): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text);
}

/**
 * Returns the response to store for a refusal. A conflict is stored, so a repeated request receives it again. A temporary
 * refusal, such as `turn_in_progress`, is not: the same request may succeed later.
 */
function storedRefusal(error: unknown): StoredResponse | null {
  if (error instanceof AppError && (error.isTemporary || error.code === 'turn_in_progress'))
    return null;
  const { status, body } = errorReply(error);
  return status === 409 ? { status, text: JSON.stringify(body) } : null;
}

/**
 * Returns the request that an Idempotency-Key identifies: its token, path and body. Throws `invalid` for a malformed
 * key, and on routes whose responses must not be stored.
 */
function keyedRequest(
  request: FastifyRequest,
  { access, secret, path }: Endpoint,
): KeyedRequest | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (access === 'gateway') {
    throw invalidError(
      `the route ${path} does not support Idempotency-Key: send an invocation_id instead`,
    );
  }
  if (secret) {
    throw invalidError(
      `the route ${path} does not support Idempotency-Key, because its responses contain secrets: leave the header out`,
    );
  }
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalidError('Idempotency-Key has to be 1 to 255 visible ASCII characters');
  }
  const { method, url, headers, body } = request;
  return keyedBy([headers.authorization ?? '', key], method, url, body ?? {});
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Returns a strict parser for one part of a request. It throws `invalid`, naming the field and its allowed values. */
function validator<T extends z.ZodType>(
  schema: T,
  part: 'body' | 'query',
): (value: unknown) => z.output<T> {
  return (value) => {
    const result = schema.safeParse(value, { error: issueInWords });
    if (!result.success) throw invalidError(explain(result.error, part, schema));
    const dropped = pathWithoutProto(value, result.data);
    if (dropped)
      throw invalidError(
        `${[part, ...dropped].join('.')}: the name "__proto__" is not accepted: use another name`,
      );
    return result.data;
  };
}

/** Zod drops the field `__proto__` of a record. Returns the path of the first object that has lost it; else undefined. */
function pathWithoutProto(sent: unknown, read: unknown): string[] | undefined {
  if (sent === read || typeof sent !== 'object' || typeof read !== 'object') return undefined;
  if (sent === null || read === null) return undefined;
  if (Object.hasOwn(sent, '__proto__') && !Object.hasOwn(read, '__proto__')) return [];
  const fields = read as Record<string, unknown>;
  for (const [name, value] of Object.entries(sent)) {
    const path = pathWithoutProto(value, fields[name]);
    if (path) return [name, ...path];
  }
  return undefined;
}

/** Returns a checker for path parameters. It throws `not_found` for a value that its schema excludes. */
function pathChecker(fields: Record<string, z.ZodType>): (params: unknown) => unknown {
  const chosen = Object.entries(fields).filter(([, schema]) => schema instanceof z.ZodEnum);
  return (params) => {
    for (const [name, schema] of chosen) {
      const value = (params as Record<string, unknown>)[name];
      if (schema.safeParse(value).success) continue;
      const values = (schema as z.ZodEnum).options.join(', ');
      throw notFoundError(`unknown ${name} "${String(value)}": expected ${values}`);
    }
    return params;
  };
}

/** Returns a function that converts a query string to typed values by the schema's types. */
function queryDecoder(
  fields: Record<string, z.ZodType>,
): (query: Record<string, unknown>) => Record<string, unknown> {
  const numeric = fieldsThat(fields, /"type":"(integer|number)"/);
  const repeated = fieldsThat(fields, /"type":"array"/);
  const truths = fieldsThat(fields, /"type":"boolean"/);
  return (query) =>
    Object.fromEntries(
      Object.entries(query).map(([name, value]) => {
        if (repeated.has(name)) return [name, Array.isArray(value) ? value : [value]];
        if (Array.isArray(value))
          throw invalidError(`query: the parameter "${name}" occurs more than once`);
        if (typeof value !== 'string') return [name, value];
        if (numeric.has(name) && /^-?\d+$/.test(value)) return [name, Number(value)];
        if (truths.has(name) && /^(true|false)$/.test(value)) return [name, value === 'true'];
        return [name, value];
      }),
    );
}

/** Returns the names of the fields whose schema accepts values of a type. */
function fieldsThat(fields: Record<string, z.ZodType>, take: RegExp): Set<string> {
  const named = Object.entries(fields).filter(([, schema]) => take.test(jsonSchemaOf(schema)));
  return new Set(named.map(([name]) => name));
}

/** A cache of the JSON Schema of fields, because making one takes longer than all other work of mounting a route. */
const jsonSchemas = new WeakMap<z.ZodType, string>();

function jsonSchemaOf(schema: z.ZodType): string {
  const cached = jsonSchemas.get(schema);
  if (cached !== undefined) return cached;
  const made = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  jsonSchemas.set(schema, made);
  return made;
}
