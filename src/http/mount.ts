import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '../api/endpoint.ts';
import { queryDecoder, validator } from './validate.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Endpoint['access'];
  }
}

/** What a handler gets of a request: checked, and typed by the endpoint. */
export interface Call<E> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  header: (name: string) => string | undefined;
  /** Sets a header of the answer. */
  setHeader: (name: string, value: string) => void;
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
) => Promise<ResponseOf<E> | RawJson | undefined> | ResponseOf<E>;

/** Makes a route of an endpoint and its handler. */
export function mount<E extends Endpoint>(
  app: FastifyInstance,
  endpoint: E,
  handler: Handler<E>,
): void {
  const decodeQuery = queryDecoder(endpoint.query);
  const checkQuery = validator(z.strictObject(endpoint.query), 'query');
  const checkBody = validator(endpoint.body ?? z.strictObject({}), 'body');
  app.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    exposeHeadRoute: false,
    config: { access: endpoint.access },
    async handler(request, reply) {
      let taken = false;
      const result = await handler({
        params: request.params as ParamsOf<E>,
        query: checkQuery(decodeQuery(request.query as Record<string, unknown>)) as QueryOf<E>,
        body: (endpoint.method === 'GET' ? undefined : checkBody(request.body ?? {})) as BodyOf<E>,
        header: (name) => firstOf(request.headers[name]),
        setHeader: (name, value) => void reply.header(name, value),
        takeOver() {
          taken = true;
          for (const [name, value] of Object.entries(reply.getHeaders()))
            reply.raw.setHeader(name, String(value));
          reply.hijack();
          return reply.raw;
        },
      });
      if (taken) return reply;
      if (endpoint.answers === 'text') return reply.send(result);
      reply.header('content-type', 'application/json; charset=utf-8');
      return reply.send(result instanceof RawJson ? result.text : JSON.stringify(result));
    },
  });
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
