import { AppError, type ErrorCode, errorCodes } from '../api/errors.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';

/** The parts of a request beside its method and path. */
export interface RequestInput {
  params?: Record<string, string> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** An Idempotency-Key. */
  key?: string | undefined;
}

export const CUT_OFF = 'the connection to the server was lost before the response was complete';
export const LOST = 'the connection to the server was lost';
export const UNREADABLE = 'the server sent an event stream that cannot be read';
export const STREAM_ENDED = 'the server ended the event stream';

export function silenceAt(url: string): string {
  return `no server answers at ${url}: start one with cadre serve --detach`;
}

export function requestOf(
  path: string,
  token: string,
  { params = {}, query = {}, body, key }: RequestInput,
): { target: string; headers: Record<string, string>; body?: string } {
  return {
    target: pathWith(path, params, query),
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

export function pathWith(
  path: string,
  params: Record<string, string>,
  query: Record<string, unknown>,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as const),
  );
  const search = new URLSearchParams();
  for (const [name, one] of pairs)
    if (one !== undefined) search.append(name, `${one as string | number}`);
  return search.size > 0 ? `${filled}?${search.toString()}` : filled;
}

/** The refusal of a server as an AppError; null for a body that no cadre server sends. */
export function refusal(status: number, text: string): AppError | null {
  const body = parsedJson(text) as { error?: unknown; code?: unknown } | null | undefined;
  if (typeof body?.error !== 'string') return null;
  const code = (errorCodes as readonly string[]).includes(String(body.code))
    ? (body.code as ErrorCode)
    : codeOf(status);
  return new AppError(code, body.error);
}

function codeOf(status: number): ErrorCode {
  if (status === 401) return 'unauthorized';
  if (status === 404) return 'not_found';
  if (status === 409) return 'conflict';
  return status < 500 ? 'invalid' : 'internal';
}
