import http from 'node:http';
import type { BodyInputOf, Endpoint, ParamsOf, QueryInputOf, ResponseOf } from '../api/endpoint.ts';
import type { RuntimeEventRecord } from '../api/events.ts';
import { AppError } from '../api/errors.ts';
import type { EventScope } from './event-scope.ts';
import { pathWith, refusal } from './wire.ts';

/** The address of a server and the token for it. */
export interface ClientOptions {
  /** `http://HOST:PORT`. */
  url: string;
  token: string;
  /** What people call the server; errors name it. Absent where there is only one. */
  name?: string;
  /**
   * The current address and token of the server, which is asked before each new connection after the first one: a server
   * that was restarted may have another address, and its old address may belong to another program. Throws `unreachable`.
   */
  locate?: () => { url: string; token: string };
}

type Empty = Record<string, never>;
type Part<Name extends string, T> = keyof T extends never
  ? unknown
  : Empty extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T };
/** The input of a call: of params, query and body the ones that the endpoint has. */
export type CallInput<E> = Part<'params', ParamsOf<E>> &
  Part<'query', QueryInputOf<E>> &
  (BodyInputOf<E> extends null ? unknown : { body: BodyInputOf<E> });

/** An answer with its headers. */
export interface Answer<T> {
  value: T;
  headers: http.IncomingHttpHeaders;
}

/**
 * Calls a server, or several as if they were one. Throws a refusal as an AppError with the server's code, and
 * `unreachable` without an answer.
 */
export interface Client {
  /** The address, as people are told it. */
  readonly url: string;
  /** `key`: an Idempotency-Key, with which a request that is repeated within a day is done once. */
  call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<ResponseOf<E>>;
  /** Like `call`, with the headers of the answer. */
  ask<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<Answer<ResponseOf<E>>>;
  /** Sends a request and resolves with a successful response, its body unread. */
  open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    body?: string,
    more?: { headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<http.IncomingMessage>;
  /**
   * Follows a scope of the log after a seq, where that is not a stream over HTTP: yields the newest seq once it begins,
   * then events. Throws `unreachable` when it breaks.
   */
  streamEvents?(
    scope: EventScope,
    after: number | 'latest',
    signal?: AbortSignal,
  ): AsyncIterable<RuntimeEventRecord | { latestSeq: number }>;
  /**
   * The error for a caller that failed on an answer; null where every answer matches its schema. Answers are checked
   * only here, because a server of another version may leave out a field that the caller does not need.
   */
  misunderstanding(): AppError | null;
  /** Of several servers, those that could not be asked, each in a sentence for people. */
  remarks?(): readonly string[];
  /** Of several servers, the client of the one that has a record. Throws `not_found` and `unreachable`. */
  clientOf?(id: string): Promise<Client>;
  /** Closes the kept-alive connections. */
  close(): void;
}

/** Calls one server over HTTP. */
export class HttpClient implements Client {
  #options: ClientOptions;
  #isConnected = false;
  readonly #agent = new http.Agent({ keepAlive: true });
  /** The last answer of each endpoint. */
  readonly #answers = new Map<Endpoint, unknown>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  /** The address, with the name of the server where it has one. */
  get #place(): string {
    const { url, name } = this.#options;
    return name === undefined ? url : `${url} (${name})`;
  }

  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<ResponseOf<E>> {
    return (await this.ask(endpoint, input, signal, key)).value;
  }

  /**
   * The answer to a GET, by its path alone and unchecked: for callers that cannot wait until the descriptions of the
   * endpoints are loaded.
   */
  async get(path: string, signal: AbortSignal): Promise<unknown> {
    const response = await this.#send('GET', path, undefined, { signal });
    const text = await readAll(response);
    if (response.statusCode !== 200) throw this.#foreign(`HTTP status ${response.statusCode}`);
    return JSON.parse(text) as unknown;
  }

  async ask<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<Answer<ResponseOf<E>>> {
    const { body } = input as { body?: unknown };
    const response = await this.open(
      endpoint,
      input,
      body === undefined ? undefined : JSON.stringify(body),
      {
        ...(signal && { signal }),
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
      },
    );
    const text = await readAll(response);
    const isText = endpoint.answers === 'text' || endpoint.status === 204;
    const value = (isText ? text || undefined : this.#read(endpoint, text)) as ResponseOf<E>;
    return { value, headers: response.headers };
  }

  misunderstanding(): AppError | null {
    for (const [{ method, path, response }, value] of this.#answers)
      if (!response.safeParse(value).success)
        return this.#foreign(
          `the response to ${method} ${path} does not match this client's schema`,
        );
    return null;
  }

  #read(endpoint: Endpoint, text: string): unknown {
    try {
      const value: unknown = JSON.parse(text);
      this.#answers.set(endpoint, value);
      return value;
    } catch (error) {
      throw this.#foreign('the response is not JSON', error);
    }
  }

  #foreign(why: string, cause?: unknown): AppError {
    return new AppError(
      'unreachable',
      `unexpected response from ${this.#place} (${why}): check --url and the version of the server`,
      { cause },
    );
  }

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
    if (said) throw this.#named(said);
    response.destroy();
    throw this.#foreign(`HTTP status ${status}`);
  }

  /** Of several servers, each has a token of its own: which one is refused? */
  #named(error: AppError): AppError {
    const { name } = this.#options;
    if (name === undefined || error.code !== 'unauthorized') return error;
    return new AppError(error.code, `${name}: ${error.message}`, { cause: error });
  }

  close(): void {
    this.#agent.destroy();
  }

  #silence(): string {
    const { url, name } = this.#options;
    return name === undefined
      ? `no server answers at ${url}: start one with cadre serve --detach`
      : `${name} is unreachable: no server answers at ${url}`;
  }

  /** The options, after a look for the server where a request needs a new connection. */
  #located(): ClientOptions {
    const { locate } = this.#options;
    const needsNone = Object.keys(this.#agent.freeSockets).length > 0;
    if (locate && this.#isConnected && !needsNone)
      this.#options = { ...this.#options, ...locate() };
    return this.#options;
  }

  async #send(
    method: string,
    path: string,
    body: string | undefined,
    more: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<http.IncomingMessage> {
    const { url, token } = this.#located();
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
      request.once('response', (response) => {
        this.#isConnected = true;
        resolve(response);
      });
      request.once('error', (error) => {
        reject(new AppError('unreachable', this.#silence(), { cause: error }));
      });
      request.end(body);
    });
  }
}

async function readAll(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new AppError(
      'unreachable',
      'the connection to the server was lost before the response was complete',
      {
        cause: error,
      },
    );
  }
  return Buffer.concat(chunks).toString('utf8');
}
