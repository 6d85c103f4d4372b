import http from 'node:http';
import type { BodyInputOf, Endpoint, ParamsOf, QueryInputOf, ResponseOf } from '../api/endpoint.ts';
import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import { AppError, unreachableError } from '../api/errors.ts';
import type { EventScope } from './event-scope.ts';
import { CUT_OFF, refusal, type RequestInput, requestOf, silenceAt } from './wire.ts';

/** The address of a server and the token for it. */
export interface ClientOptions {
  /** `http://HOST:PORT`. */
  url: string;
  token: string;
  /** The name of one of several servers, for errors. */
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

export interface Answer<T> {
  value: T;
  headers: http.IncomingHttpHeaders;
}

/**
 * Calls one server, or several servers as if they were one. Throws a refusal as an AppError with the code of the server,
 * and `unreachable` without a response.
 */
export abstract class Client {
  /** The address, as messages name it. */
  abstract readonly url: string;
  /** The last JSON response of each endpoint. */
  readonly #answers = new Map<Endpoint, unknown>();

  /** Sends a request, and resolves with the successful response. */
  protected abstract send(endpoint: Endpoint, request: RequestInput): Promise<Answer<unknown>>;

  /** `key`: an Idempotency-Key. A request that is repeated with it within a day is executed once. */
  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<ResponseOf<E>> {
    return (await this.ask(endpoint, input, signal, key)).value;
  }

  /** Like `call`, with the headers of the response. */
  async ask<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<Answer<ResponseOf<E>>> {
    const answer = await this.send(endpoint, { ...(input as RequestInput), signal, key });
    if (endpoint.answers === 'json' && endpoint.status !== 204)
      this.#answers.set(endpoint, answer.value);
    return answer as Answer<ResponseOf<E>>;
  }

  /** Sends a request, and resolves with a successful response, its body unread. */
  abstract open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<http.IncomingMessage>;

  /**
   * Follows a scope of the log after a seq, where HTTP cannot stream: yields the newest seq once it begins, then events.
   * Throws `unreachable` when it breaks.
   */
  streamEvents?(
    scope: EventScope,
    after: number | 'latest',
    signal?: AbortSignal,
    onGap?: (gap: StreamGap) => void,
  ): AsyncIterable<RuntimeEventRecord | { latestSeq: number }>;

  /**
   * Returns the error for a caller that failed on a response; null if every response matches its schema. Only this method
   * checks responses, because a server of another version may leave out a field that the caller does not need.
   */
  misunderstanding(): AppError | null {
    for (const [{ method, path, response }, value] of this.#answers)
      if (!response.safeParse(value).success)
        return this.foreign(
          `the response to ${method} ${path} does not match this client's schema`,
        );
    return null;
  }

  /** The error for a response that is not from a cadre server, or from one of another version. */
  protected foreign(why: string, cause?: unknown): AppError {
    return unreachableError(
      `unexpected response from ${this.messageName} (${why}): ${this.advice}`,
      { cause },
    );
  }

  /** The server, as messages about its responses name it. */
  protected get messageName(): string {
    return this.url;
  }

  protected readonly advice: string = 'check the version of the server';

  /** The servers that did not answer, each as a sentence. */
  remarks(): readonly string[] {
    return [];
  }

  /** The client of the server that has a record. Throws `not_found` and `unreachable`. */
  clientOf(_id: string): Promise<Client> {
    return Promise.resolve(this);
  }

  /** The client of the server that gets new work. Throws `unreachable`. */
  first(): Promise<Client> {
    return Promise.resolve(this);
  }

  close(): void {}
}

export class HttpClient extends Client {
  #options: ClientOptions;
  #isConnected = false;
  readonly #agent = new http.Agent({ keepAlive: true });

  constructor(options: ClientOptions) {
    super();
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  protected override get messageName(): string {
    const { url, name } = this.#options;
    return name === undefined ? url : `${url} (${name})`;
  }

  protected override readonly advice = 'check --url and the version of the server';

  /**
   * The response to a GET of a path, without a check: for callers that cannot wait until the descriptions of the endpoints
   * are loaded.
   */
  async get(path: string, signal: AbortSignal): Promise<unknown> {
    const response = await this.#request('GET', path, { signal });
    const text = await readAll(response);
    if (response.statusCode !== 200) throw this.foreign(`HTTP status ${response.statusCode}`);
    return JSON.parse(text) as unknown;
  }

  protected override async send(
    endpoint: Endpoint,
    request: RequestInput,
  ): Promise<Answer<unknown>> {
    const response = await this.#open(endpoint, request);
    const text = await readAll(response);
    const isText = endpoint.answers === 'text' || endpoint.status === 204;
    return { value: isText ? text || undefined : this.#parse(text), headers: response.headers };
  }

  override open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<http.IncomingMessage> {
    return this.#open(endpoint, { ...(input as RequestInput), signal });
  }

  async #open(endpoint: Endpoint, input: RequestInput): Promise<http.IncomingMessage> {
    const response = await this.#request(endpoint.method, endpoint.path, input);
    const { statusCode: status = 500 } = response;
    if (status < 300 && (endpoint.access === 'public' || response.headers['x-epoch']))
      return response;
    const refused = status < 300 ? null : refusal(status, await readAll(response));
    if (refused) throw this.#named(refused);
    response.destroy();
    throw this.foreign(`HTTP status ${status}`);
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw this.foreign('the response is not JSON', error);
    }
  }

  /** With several servers, each has its own token, so a refusal names its server. */
  #named(error: AppError): AppError {
    const { name } = this.#options;
    if (name === undefined || error.code !== 'unauthorized') return error;
    return new AppError(error.code, `${name}: ${error.message}`, { cause: error });
  }

  override close(): void {
    this.#agent.destroy();
  }

  #silence(): string {
    const { url, name } = this.#options;
    return name === undefined
      ? silenceAt(url)
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

  async #request(method: string, path: string, input: RequestInput): Promise<http.IncomingMessage> {
    const { url, token } = this.#located();
    const { target, headers, body } = requestOf(path, token, input);
    return new Promise((resolve, reject) => {
      const request = http.request(new URL(target, url), {
        method,
        agent: this.#agent,
        headers,
        ...(input.signal ? { signal: input.signal } : {}),
      });
      request.once('response', (response) => {
        this.#isConnected = true;
        resolve(response);
      });
      request.once('error', (error) => {
        reject(unreachableError(this.#silence(), { cause: error }));
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
    throw unreachableError(CUT_OFF, { cause: error });
  }
  return Buffer.concat(chunks).toString('utf8');
}
