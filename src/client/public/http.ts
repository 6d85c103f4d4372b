import { pathWith, refusal } from '../wire.ts';
import { CadreError, type ErrorCode } from './error.ts';
import type { ServerAddress } from './face.ts';

/** A request as every route takes it. */
export interface Input {
  params?: Record<string, string> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  idempotencyKey?: string | undefined;
}

/**
 * Sends a request to the route `METHOD PATH`, and resolves with a successful answer, its body unread. Rejects with a
 * CadreError, or with the reason of the signal.
 */
export async function send(
  { url, token }: ServerAddress,
  route: string,
  { params = {}, query = {}, body, signal, idempotencyKey }: Input,
): Promise<Response> {
  const [method = '', path = ''] = route.split(' ');
  const request = {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal ? { signal } : {}),
  };
  const response = await unlessAborted(
    signal,
    () => fetch(new URL(pathWith(path, params, query), url), request),
    `no server answers at ${url}: start one with cadre serve --detach`,
  );
  if (response.ok) return response;
  throw refused(url, response, await readText(response, signal));
}

/** The text of an answer. Rejects as `send`. */
export function readText(response: Response, signal?: AbortSignal): Promise<string> {
  const lost = 'the connection to the server was lost before the response was complete';
  return unlessAborted(signal, () => response.text(), lost);
}

/** The error for an answer that no cadre server gives. */
export function foreign(url: string, { status }: Response): CadreError {
  return new CadreError(
    'unreachable',
    `unexpected response from ${url} (HTTP status ${status}): check the address and the version of the server`,
    { status },
  );
}

/** Runs what needs the network. Throws the reason of the signal where it has aborted, else `unreachable`. */
async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
  message: string,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new CadreError('unreachable', message, { cause });
  }
}

function refused(url: string, response: Response, text: string): CadreError {
  const { status, headers } = response;
  const said = refusal(status, text);
  if (!said) return foreign(url, response);
  const requestId = headers.get('x-request-id');
  return new CadreError(said.code as ErrorCode, said.message, { status, requestId });
}
