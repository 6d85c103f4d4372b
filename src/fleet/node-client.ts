import type { NatsConnection } from '@nats-io/transport-node';
import type { Endpoint, ResponseOf } from '../api/endpoint.ts';
import type { RuntimeEventRecord } from '../api/events.ts';
import type { Answer, CallInput, Client } from '../client/client.ts';
import { pathWith, refusal } from '../client/wire.ts';
import type { EventScope } from '../client/event-scope.ts';
import { AppError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import { askNode } from './asking.ts';
import { followNode } from './follow-node.ts';
import type { Names } from './names.ts';
import type { FleetAnswer } from './requests.ts';

/** Who asks, and over which connection. */
export interface Visit {
  connection: NatsConnection;
  names: Names;
  /** The person whose name the engine's permissions let into the subject. */
  user: string;
  scope: 'admin' | 'read';
  clock: Clock;
  /** Makes an idempotency key, for changes that have none. */
  newKey: () => string;
}

interface Input {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}

/** How long a node may take for an answer, in milliseconds, beside what the request itself asks it to wait. */
const PATIENCE_MS = 5000;

/** Calls one node through the fleet, as its client over HTTP would. It has no streams. */
export class NodeClient implements Client {
  readonly node: string;
  readonly #visit: Visit;
  /** The last answer of each endpoint. */
  readonly #answers = new Map<Endpoint, unknown>();

  constructor(visit: Visit, node: string) {
    this.#visit = visit;
    this.node = node;
  }

  get url(): string {
    return `fleet ${this.#visit.names.fleet}, node ${this.node}`;
  }

  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<ResponseOf<E>> {
    return (await this.ask(endpoint, input, signal, key)).value;
  }

  async ask<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<Answer<ResponseOf<E>>> {
    const answer = await this.#sendFitting(endpoint, input as Input, signal, key);
    const { status, headers, body } = answer;
    if (status >= 300)
      throw refusal(status, JSON.stringify(body)) ?? this.#foreign(`HTTP status ${status}`);
    this.#answers.set(endpoint, body);
    return { value: (body ?? undefined) as ResponseOf<E>, headers };
  }

  /** Throws `invalid`: nothing streams through a fleet. */
  open(endpoint: Endpoint): Promise<never> {
    return Promise.reject(noStream(endpoint));
  }

  /** Follows a scope of the node's log, page by page. */
  streamEvents(
    scope: EventScope,
    after: number | 'latest',
    signal?: AbortSignal,
  ): AsyncIterable<RuntimeEventRecord | { latestSeq: number }> {
    return followNode({ ...this.#visit, client: this, node: this.node }, scope, after, signal);
  }

  misunderstanding(): AppError | null {
    for (const [{ method, path, response, status }, value] of this.#answers)
      if (status !== 204 && !response.safeParse(value).success)
        return this.#foreign(
          `the response to ${method} ${path} does not match this client's schema`,
        );
    return null;
  }

  /** Does nothing: the connection belongs to the fleet. */
  close(): void {}

  /** Asks for smaller pages of a list until one fits into an answer. */
  async #sendFitting(
    endpoint: Endpoint,
    input: Input,
    signal: AbortSignal | undefined,
    key: string | undefined,
  ): Promise<FleetAnswer> {
    const field = endpoint.method === 'GET' ? endpoint.query.limit : undefined;
    let limit = Number(field?.safeParse(input.query?.limit).data ?? 1);
    for (let fitting = input; ; fitting = { ...input, query: { ...input.query, limit } }) {
      const answer = await this.#send(endpoint, fitting, signal, key);
      if (answer.status !== 413 || limit <= 1) return answer;
      limit = Math.ceil(limit / 4);
    }
  }

  async #send(
    endpoint: Endpoint,
    input: Input,
    signal: AbortSignal | undefined,
    key: string | undefined,
  ): Promise<FleetAnswer> {
    if (endpoint.answers === 'stream' || endpoint.answers === 'bytes') throw noStream(endpoint);
    const { connection, names, scope, user, clock, newKey } = this.#visit;
    const { params = {}, query = {}, body } = input;
    const isKeyed = endpoint.method === 'POST' && endpoint.access !== 'gateway' && !endpoint.secret;
    const asking = {
      connection,
      clock,
      node: this.node,
      subject: names.request(this.node, scope, user),
      isRepeatable: isKeyed || endpoint.method === 'GET' || endpoint.method === 'PATCH',
      patienceMs: PATIENCE_MS + waitOf(endpoint, query),
      signal,
    };
    return askNode(asking, {
      method: endpoint.method,
      path: pathWith(endpoint.path, params, query),
      ...(body === undefined ? {} : { body }),
      ...(isKeyed ? { key: key ?? newKey() } : {}),
    });
  }

  #foreign(why: string): AppError {
    return new AppError(
      'unreachable',
      `unexpected response from node "${this.node}" (${why}): check the version of the server`,
    );
  }
}

/** How long a request asks the node to wait, in milliseconds. */
function waitOf({ query: fields }: Endpoint, query: Record<string, unknown>): number {
  const field = fields.timeout_ms;
  if (field === undefined) return 0;
  const wait = field.safeParse(query.timeout_ms).data;
  return typeof wait === 'number' ? wait : 0;
}

function noStream({ method, path }: Endpoint): AppError {
  return new AppError(
    'invalid',
    `the response of ${method} ${path} is a stream, and streams are not available through a fleet: connect to the server with --url`,
  );
}
