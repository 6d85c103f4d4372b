import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { TokenHolder } from '../../core/access/tokens.ts';

/** A request that another part of the server has authenticated, such as the fleet. */
export interface InternalRequest {
  method: string;
  /** The path, with the query. */
  path: string;
  /** A JSON value; undefined: none. */
  body?: unknown;
  key?: string;
}

/** The response to an internal request, in the form of an HTTP response. */
export interface InternalResponse {
  status: number;
  headers: Record<string, string>;
  /** JSON, unless the content type is another; empty: there is no body. */
  text: string;
}

/** The holder of the internal request that is being routed, and of everything that the request has started. */
const holders = new AsyncLocalStorage<TokenHolder>();

/** Returns the token holder of an internal request; undefined for a request from the network, whatever it sends. */
export function holderOfInternalRequest({ socket }: IncomingMessage): TokenHolder | undefined {
  // The network of a sandbox that an internal request has started serves its connections in the context of that request.
  return socket instanceof Socket ? undefined : holders.getStore();
}

/**
 * Passes a request to the routes, with the rights of `holder` and the same checks and limits as an HTTP request. It cannot
 * stream. Never throws for a refusal: that is an answer.
 */
export async function sendInternalRequest(
  app: FastifyInstance,
  { method, path, body, key }: InternalRequest,
  holder: TokenHolder,
): Promise<InternalResponse> {
  const answer = await holders.run(holder, async () => {
    // `inject` does nothing before it is awaited, so that has to happen inside.
    const injected = await app.inject({
      method: method as 'GET',
      url: path,
      headers: {
        host: 'localhost',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return injected;
  });
  const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
  return {
    status: answer.statusCode,
    headers: Object.fromEntries(headers) as Record<string, string>,
    text: answer.payload,
  };
}
