import type { z } from 'zod';
import type { ServerErrorCode } from './errors.ts';

export type Fields = Record<string, z.ZodType>;

/** An HTTP endpoint. The server, the client, the command line and openapi.yaml are generated from it. */
export interface Endpoint<
  Params extends Fields = Fields,
  Query extends Fields = Fields,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path, with parameters as `{name}`. */
  path: string;
  summary: string;
  /**
   * `public` needs no token. `token` needs a token whose scope allows the method. `admin` needs a token with scope
   * `admin`, even to read. `gateway` also accepts the tokens of the sessions' agents, which are valid for no other
   * route.
   */
  access: 'public' | 'token' | 'admin' | 'gateway';
  /**
   * The format of a successful response. `json`: one document. `stream`: Server-Sent Events. `text`: text of the
   * content type in the metadata of `response`. `bytes`: a file.
   */
  answers: 'json' | 'stream' | 'text' | 'bytes';
  params: Params;
  query: Query;
  body: Body | null;
  response: Response;
  /** For a stream: schemas of frames whose data differs from `response`, by event name. */
  frames: Fields;
  /** The HTTP status of a successful response. */
  status: 200 | 202 | 204;
  /** The maximum size of the request body in bytes. */
  bodyLimit: number;
  /** Whether the response contains a secret. If so, it is never stored and no Idempotency-Key is accepted. */
  secret: boolean;
  /** The error codes of this route, beside the error codes of every route (400 `invalid`, 401, 403, 500). */
  errors: readonly ServerErrorCode[];
  /** The HTTP statuses of error codes that differ from those in `refusals`. */
  statuses: Partial<Record<ServerErrorCode, number>>;
}

type EndpointDescription<
  P extends Fields,
  Q extends Fields,
  B extends z.ZodType,
  R extends z.ZodType,
> = Pick<Endpoint<P, Q, B, R>, 'summary' | 'response'> &
  Partial<Omit<Endpoint<P, Q, B, R>, 'method' | 'path' | 'summary' | 'response'>>;

/**
 * Describes the endpoint `METHOD PATH`. By default it needs a token, has no parameters and no body, and returns JSON. An
 * endpoint with parameters answers `not_found` for an unknown record.
 */
export function endpoint<
  R extends z.ZodType,
  P extends Fields = {},
  Q extends Fields = {},
  B extends z.ZodType = z.ZodNull,
>(
  route: `${Endpoint['method']} /${string}`,
  description: EndpointDescription<P, Q, B, R>,
): Endpoint<P, Q, B, R> {
  const [method, path] = route.split(' ') as [Endpoint['method'], string];
  return {
    method,
    path,
    access: 'token',
    answers: 'json',
    params: {} as P,
    query: {} as Q,
    body: null,
    frames: {},
    status: 200,
    bodyLimit: 256 * 1024,
    secret: false,
    statuses: {},
    ...description,
    errors: [
      ...(path.includes('{') ? (['not_found'] as const) : []),
      ...(description.errors ?? []),
    ],
  };
}

/** The parameters of an endpoint's path. */
export type ParamsOf<E> = E extends Endpoint<infer P> ? { [K in keyof P]: z.output<P[K]> } : never;
/** The query as the handler receives it, with defaults filled in. */
export type QueryOf<E> = E extends Endpoint<Fields, infer Q> ? z.output<z.ZodObject<Q>> : never;
/** The query as a client sends it. */
export type QueryInputOf<E> = E extends Endpoint<Fields, infer Q> ? z.input<z.ZodObject<Q>> : never;
/** The body as the handler receives it. */
export type BodyOf<E> = E extends Endpoint<Fields, Fields, infer B> ? z.output<B> : never;
/** The body as a client sends it. */
export type BodyInputOf<E> = E extends Endpoint<Fields, Fields, infer B> ? z.input<B> : never;
/** The response as a client receives it. */
export type ResponseOf<E> =
  E extends Endpoint<Fields, Fields, z.ZodType, infer R> ? z.output<R> : never;
