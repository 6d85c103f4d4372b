import type { z } from 'zod';
import type { ServerErrorCode } from '../errors.ts';

type Fields = Record<string, z.ZodType>;

/** One promise of the interface: everything that server, client, command line and openapi.yaml know of a route. */
export interface Endpoint<
  Params extends Fields = Fields,
  Query extends Fields = Fields,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  method: 'GET' | 'POST' | 'DELETE';
  /** With parameters as `{name}`. */
  path: string;
  summary: string;
  /**
   * `public` needs no token; `admin` needs one of that scope, also to read; `gateway` takes the tokens of sessions'
   * agents, too, which open nothing else.
   */
  access: 'public' | 'token' | 'admin' | 'gateway';
  /**
   * `json` answers one document; `stream` is Server-Sent Events; `text` is what `response` says, as plain text;
   * `bytes` is a file.
   */
  answers: 'json' | 'stream' | 'text' | 'bytes';
  params: Params;
  query: Query;
  body: Body | null;
  response: Response;
  /** Of a stream: the data of frames that are no `response`, by their event. */
  frames: Fields;
  /** What a success answers with, if not 200. */
  status: 200 | 202 | 204;
  /** The largest body it takes, in bytes. */
  bodyLimit: number;
  /** What is said holds a secret: no answer is kept, so no Idempotency-Key is taken. */
  secret: boolean;
  /** What it may refuse with, beside what every route may (400 `invalid`, 401, 403, 500). */
  errors: readonly ServerErrorCode[];
  /** The HTTP status of a refusal, where it is another here than `refusals` says. */
  statuses: Partial<Record<ServerErrorCode, number>>;
}

type Described<P extends Fields, Q extends Fields, B extends z.ZodType, R extends z.ZodType> = Pick<
  Endpoint<P, Q, B, R>,
  'method' | 'path' | 'summary' | 'response'
> &
  Partial<
    Pick<
      Endpoint<P, Q, B, R>,
      | 'access'
      | 'answers'
      | 'params'
      | 'query'
      | 'body'
      | 'frames'
      | 'status'
      | 'bodyLimit'
      | 'secret'
      | 'errors'
      | 'statuses'
    >
  >;

/** Describes an endpoint; what is not said is the usual: needs a token, takes nothing, answers JSON. */
export function endpoint<
  R extends z.ZodType,
  P extends Fields = {},
  Q extends Fields = {},
  B extends z.ZodType = z.ZodNull,
>(described: Described<P, Q, B, R>): Endpoint<P, Q, B, R> {
  return {
    access: 'token',
    answers: 'json',
    params: {} as P,
    query: {} as Q,
    body: null,
    frames: {},
    status: 200,
    bodyLimit: 256 * 1024,
    secret: false,
    errors: [],
    statuses: {},
    ...described,
  };
}

/** The parameters of an endpoint's path. */
export type ParamsOf<E> = E extends Endpoint<infer P> ? { [K in keyof P]: z.output<P[K]> } : never;
/** The query as the handler sees it: defaults filled in. */
export type QueryOf<E> = E extends Endpoint<Fields, infer Q> ? z.output<z.ZodObject<Q>> : never;
/** The query as a client gives it. */
export type QueryInputOf<E> = E extends Endpoint<Fields, infer Q> ? z.input<z.ZodObject<Q>> : never;
/** The body as the handler sees it. */
export type BodyOf<E> = E extends Endpoint<Fields, Fields, infer B> ? z.output<B> : never;
/** The body as a client gives it. */
export type BodyInputOf<E> = E extends Endpoint<Fields, Fields, infer B> ? z.input<B> : never;
/** What a client gets. */
export type ResponseOf<E> =
  E extends Endpoint<Fields, Fields, z.ZodType, infer R> ? z.output<R> : never;
