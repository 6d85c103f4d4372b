import type { NatsConnection } from '@nats-io/transport-node';
import type { Endpoint } from '../api/endpoint.ts';
import type { RuntimeEventRecord } from '../api/events.ts';
import { type Answer, Client } from '../client/client.ts';
import { type RequestInput, pathWith, refusal } from '../client/wire.ts';
import type { EventScope } from '../client/event-scope.ts';
import { type AppError, invalidError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import { askNode } from './asking.ts';
import type { Names } from './names.ts';
import type { FleetAnswer } from './requests.ts';
import { endpoints } from '../api/index.ts';
import { replay } from '../client/replay.ts';
import { LogWakeup } from './log-wakeup.ts';

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

/** How long a node may take for an answer, in milliseconds, beside what the request itself asks it to wait. */
const PATIENCE_MS = 5000;

/** Calls one node through the fleet. */
export class NodeClient extends Client {
  readonly node: string;
  readonly #visit: Visit;

  constructor(visit: Visit, node: string) {
    super();
    this.#visit = visit;
    this.node = node;
  }

  get url(): string {
    return `fleet ${this.#visit.names.fleet}, node ${this.node}`;
  }

  protected override get messageName(): string {
    return `node "${this.node}"`;
  }

  protected override async send(
    endpoint: Endpoint,
    request: RequestInput,
  ): Promise<Answer<unknown>> {
    const { status, headers, body } = await this.#sendFitting(endpoint, request);
    if (status >= 300)
      throw refusal(status, JSON.stringify(body)) ?? this.foreign(`HTTP status ${status}`);
    return { value: body ?? undefined, headers };
  }

  /** Throws `invalid`, because a fleet carries no streams. */
  override open(endpoint: Endpoint): Promise<never> {
    return Promise.reject(noStream(endpoint));
  }

  override streamEvents(
    scope: EventScope,
    after: number | 'latest',
    signal?: AbortSignal,
  ): AsyncIterable<RuntimeEventRecord | { latestSeq: number }> {
    return followNode({ ...this.#visit, client: this, node: this.node }, scope, after, signal);
  }

  /** Asks for smaller pages of a list until one fits into an answer. */
  async #sendFitting(endpoint: Endpoint, request: RequestInput): Promise<FleetAnswer> {
    const field = endpoint.method === 'GET' ? endpoint.query.limit : undefined;
    let limit = Number(field?.safeParse(request.query?.limit).data ?? 1);
    for (let fitting = request; ; fitting = { ...request, query: { ...request.query, limit } }) {
      const answer = await this.#sendOnce(endpoint, fitting);
      if (answer.status !== 413 || limit <= 1) return answer;
      limit = Math.ceil(limit / 4);
    }
  }

  async #sendOnce(
    endpoint: Endpoint,
    { params = {}, query = {}, body, signal, key }: RequestInput,
  ): Promise<FleetAnswer> {
    if (endpoint.answers === 'stream' || endpoint.answers === 'bytes') throw noStream(endpoint);
    const { connection, names, scope, user, clock, newKey } = this.#visit;
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
}

/** How long a request asks the node to wait, in milliseconds. */
function waitOf({ query: fields }: Endpoint, query: Record<string, unknown>): number {
  const field = fields.timeout_ms;
  if (field === undefined) return 0;
  const wait = field.safeParse(query.timeout_ms).data;
  return typeof wait === 'number' ? wait : 0;
}

function noStream({ method, path }: Endpoint): AppError {
  return invalidError(
    `the response of ${method} ${path} is a stream, and streams are not available through a fleet: connect to the server with --url`,
  );
}

/** The most events of a page. */
const PAGE = 500;
/**
 * The shortest and the longest time between two requests to a node, in milliseconds. The time doubles while the node has
 * no events. An announced event is requested at once.
 */
const LOOK_SOON_MS = 100;
const LOOK_LATE_MS = 2000;
/** The least time between two questions, in milliseconds: what comes meanwhile comes together. */
const PAUSE_MS = 50;

/**
 * The events of a node's scope after a seq, then those that come: read page by page, as soon as the fleet's copy has
 * another event of the node, and every two seconds at least. Yields the newest seq first, as a stream does. Throws
 * `unreachable` when the node no longer answers.
 */
async function* followNode(
  deps: {
    client: Pick<Client, 'ask'>;
    connection: NatsConnection;
    names: Names;
    node: string;
    clock: Clock;
  },
  scope: EventScope,
  from: number | 'latest',
  signal: AbortSignal | undefined,
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
  const { client, connection, names, node, clock } = deps;
  const subject = names.newsOf(names.eventsOf(node));
  using news = new LogWakeup({ connection, clock, subject });
  const { headers } = await client.ask(endpoints.getVersion, {}, signal);
  const latestSeq = Number(headers['x-seq'] ?? 0);
  yield { latestSeq };
  let after = from === 'latest' ? latestSeq : from;
  let wait = LOOK_SOON_MS;
  while (!signal?.aborted) {
    const { value, headers } = await replay(client, scope, { after_seq: after, limit: PAGE });
    yield* value;
    const next = headers['x-next-after-seq'];
    after = Number(next ?? value.at(-1)?.seq ?? after);
    if (value.length > 0) wait = LOOK_SOON_MS;
    if (next === undefined) await news.more(wait, PAUSE_MS, signal);
    wait = Math.min(wait * 2, LOOK_LATE_MS);
  }
}
