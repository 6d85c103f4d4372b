import http from 'node:http';
import type { BodyInputOf, Endpoint, ParamsOf, QueryInputOf, ResponseOf } from '../api/endpoint.ts';
import { AppError, type ErrorCode, errorCodes } from '../errors.ts';

/** Where the server is and how to be let in. */
export interface ClientOptions {
  /** `http://HOST:PORT`. */
  url: string;
  token: string;
}

type Empty = Record<string, never>;
type Part<Name extends string, T> = keyof T extends never
  ? unknown
  : Empty extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T };
/** What a call needs: only the parts the endpoint has. */
export type CallInput<E> = Part<'params', ParamsOf<E>> &
  Part<'query', QueryInputOf<E>> &
  (BodyInputOf<E> extends null ? unknown : { body: BodyInputOf<E> });

/** An answer with what its headers say. */
export interface Answer<T> {
  value: T;
  headers: http.IncomingHttpHeaders;
}

/** Calls a server. Refusals come as AppError with the server's own code; no answer is `unreachable`. */
export class Client {
  readonly #options: ClientOptions;
  readonly #agent = new http.Agent({ keepAlive: true });
  /** The last answer of each endpoint. */
  readonly #answers = new Map<Endpoint, unknown>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<ResponseOf<E>> {
    return (await this.ask(endpoint, input, signal)).value;
  }

  /** Like `call`, with the headers of the answer. */
  async ask<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<Answer<ResponseOf<E>>> {
    const { body } = input as { body?: unknown };
    const response = await this.open(
      endpoint,
      input,
      body === undefined ? undefined : JSON.stringify(body),
      signal && { signal },
    );
    const text = await readAll(response);
    const isText = endpoint.answers === 'text' || endpoint.status === 204;
    const value = (isText ? text || undefined : this.#read(endpoint, text)) as ResponseOf<E>;
    return { value, headers: response.headers };
  }

  /**
   * What a caller that stumbled over an answer has to be told; null where all answers were as described. Answers are
   * not checked before: those of another version may lack a field that nobody needs.
   */
  misunderstanding(): AppError | null {
    for (const [{ method, path, response }, value] of this.#answers)
      if (!response.safeParse(value).success)
        return this.#foreign(`its answer is none to ${method} ${path}`);
    return null;
  }

  #read(endpoint: Endpoint, text: string): unknown {
    try {
      const value: unknown = JSON.parse(text);
      this.#answers.set(endpoint, value);
      return value;
    } catch (error) {
      throw this.#foreign('its answer is no JSON', error);
    }
  }

  #foreign(why: string, cause?: unknown): AppError {
    return new AppError(
      'unreachable',
      `what answers at ${this.url} is no cadre server, or one of another version (${why}): name the right one with --url`,
      { cause },
    );
  }

  /** Sends a request; resolves with the answer once it is known to be a good one, its body unread. */
  async open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    body?: string,
    more?: { headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<http.IncomingMessage> {
    const { params = {}, query = {} } = input as {
      params?: Record<string, string>;
      query?: Record<string, unknown>;
    };
    const response = await this.#send(
      endpoint.method,
      pathWith(endpoint.path, params, query),
      body,
      more,
    );
    const { statusCode: status = 500 } = response;
    if (status < 300 && (endpoint.access === 'public' || response.headers['x-epoch']))
      return response;
    const said = status < 300 ? null : refusal(status, await readAll(response));
    if (said) throw said;
    response.destroy();
    throw this.#foreign(`it said ${status}, not as a cadre server does`);
  }

  /** Lets go of kept connections. */
  close(): void {
    this.#agent.destroy();
  }

  #send(
    method: string,
    path: string,
    body: string | undefined,
    more: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<http.IncomingMessage> {
    const { url, token } = this.#options;
    return new Promise((resolve, reject) => {
      const request = http.request(new URL(path, url), {
        method,
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...more.headers,
        },
        ...(more.signal ? { signal: more.signal } : {}),
      });
      request.once('response', resolve);
      request.once('error', (error) => {
        reject(
          new AppError('unreachable', `no server answers at ${url}: start one with cadre serve`, {
            cause: error,
          }),
        );
      });
      request.end(body);
    });
  }
}

function pathWith(
  path: string,
  params: Record<string, string>,
  query: Record<string, unknown>,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const given = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as const),
  );
  const search = new URLSearchParams();
  for (const [name, one] of given)
    if (one !== undefined) search.append(name, `${one as string | number}`);
  return search.size > 0 ? `${filled}?${search.toString()}` : filled;
}

/** The server's refusal as the error it was; null for what no cadre server says. */
function refusal(status: number, text: string): AppError | null {
  let body: { error?: unknown; code?: unknown } | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    return null;
  }
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

async function readAll(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new AppError('unreachable', 'the server went away in the middle of its answer', {
      cause: error,
    });
  }
  return Buffer.concat(chunks).toString('utf8');
}
