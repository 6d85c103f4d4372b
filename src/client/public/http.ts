import { CUT_OFF, refusal, type RequestInput, requestOf, silenceAt } from '../wire.ts';
import { CadreError, type ErrorCode } from './error.ts';
import type { ServerAddress } from './types.ts';

/** A request as every route takes it. */
export interface Input extends Omit<RequestInput, 'key'> {
  idempotencyKey?: string | undefined;
}

/**
 * Sends a request to the route `METHOD PATH`, and resolves with a successful response, its body unread. Rejects with a
 * CadreError, or with the reason of the signal.
 */
export async function send(
  { url, token }: ServerAddress,
  route: string,
  { idempotencyKey: key, ...input }: Input,
): Promise<Response> {
  const [method = '', path = ''] = route.split(' ');
  const { target, ...request } = requestOf(path, token, { ...input, key });
  const { signal } = input;
  const init = { method, ...request, ...(signal ? { signal } : {}) };
  const response = await unlessAborted(
    signal,
    () => fetch(new URL(target, url), init),
    silenceAt(url),
  );
  if (response.ok) return response;
  throw refused(url, response, await readText(response, signal));
}

/** The text of an answer. Rejects as `send`. */
export function readText(response: Response, signal?: AbortSignal): Promise<string> {
  return unlessAborted(signal, () => response.text(), CUT_OFF);
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
  const reported = refusal(status, text);
  if (!reported) return foreign(url, response);
  const requestId = headers.get('x-request-id');
  return new CadreError(reported.code as ErrorCode, reported.message, { status, requestId });
}
