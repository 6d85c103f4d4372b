import { type NatsConnection, errors } from '@nats-io/transport-node';
import type { Endpoint } from '../api/endpoint.ts';
import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import { type Answer, Client } from '../client/client.ts';
import { type RequestInput, pathWith, refusal } from '../client/wire.ts';
import type { EventScope } from '../client/event-scope.ts';
import { AppError, invalidError, unreachableError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import { isError } from './nats-api.ts';
import type { Names } from './names.ts';
import { type FleetAnswer, type FleetRequest, limitOf, readAnswer } from './requests.ts';
import { endpoints } from '../api/index.ts';
import { gapReporter, replay } from '../client/replay.ts';
import { LogWakeup } from './log-wakeup.ts';

/** The user and the connection of requests to a fleet. */
export interface FleetContext {
  connection: NatsConnection;
  names: Names;
  /** The person whose name NATS's permissions let into the subject. */
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
  readonly #context: FleetContext;

  constructor(context: FleetContext, node: string) {
    super();
    this.#context = context;
    this.node = node;
  }

  get url(): string {
    return `fleet ${this.#context.names.fleet}, node ${this.node}`;
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
    onGap?: (gap: StreamGap) => void,
  ): AsyncIterable<RuntimeEventRecord | { latestSeq: number }> {
    return followNode(this, this.#context, scope, { after, signal, onGap });
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
    const { names, scope, user, newKey } = this.#context;
    const isKeyed = endpoint.method === 'POST' && endpoint.access !== 'gateway' && !endpoint.secret;
    const asking = {
      ...this.#context,
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

const PAGE = 500;
/**
 * The shortest and the longest time between two requests to a node, in milliseconds. The time doubles while the node has
 * no events. An announced event is requested at once.
 */
const LOOK_SOON_MS = 100;
const LOOK_LATE_MS = 2000;
/** The least time between two questions, in milliseconds: what comes meanwhile comes together. */
const PAUSE_MS = 50;

/** Where a node's scope is followed from, and until when. */
interface FollowedPart {
  after: number | 'latest';
  signal: AbortSignal | undefined;
  onGap: ((gap: StreamGap) => void) | undefined;
}

/**
 * The events of a node's scope after a seq, then those that come: read page by page, as soon as the fleet's copy has
 * another event of the node, and every two seconds at least. Yields the newest seq first, as a stream does. Throws
 * `unreachable` when the node no longer answers.
 */
async function* followNode(
  client: NodeClient,
  { connection, names, clock }: FleetContext,
  scope: EventScope,
  { after: from, signal, onGap }: FollowedPart,
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
  const subject = names.newsOf(names.eventsOf(client.node));
  using news = new LogWakeup({ connection, clock, subject });
  const { headers } = await client.ask(endpoints.getVersion, {}, signal);
  const latestSeq = Number(headers['x-seq'] ?? 0);
  yield { latestSeq };
  let after = from === 'latest' ? latestSeq : from;
  let wait = LOOK_SOON_MS;
  const reportGap = gapReporter(onGap);
  while (!signal?.aborted) {
    const { value, headers } = await replay(client, scope, { after_seq: after, limit: PAGE });
    reportGap(headers, after);
    yield* value;
    const next = headers['x-next-after-seq'];
    after = Number(next ?? value.at(-1)?.seq ?? after);
    if (value.length > 0) wait = LOOK_SOON_MS;
    if (next === undefined) await news.more(wait, PAUSE_MS, signal);
    wait = Math.min(wait * 2, LOOK_LATE_MS);
  }
}

/** How a request to a node is sent, and how long it may take. */
interface Asking extends Pick<FleetContext, 'connection' | 'clock'> {
  node: string;
  subject: string;
  /** Whether the same request may be sent again, because it is done once or changes nothing. */
  isRepeatable: boolean;
  /** How long the node may take for one answer, in milliseconds, before the request is sent again. */
  patienceMs: number;
  signal?: AbortSignal | undefined;
}

/** How long a request is repeated to a node that is silent, in milliseconds. */
const REPEAT_MS = 30_000;
/** How long a request is repeated to a node that is not connected, in milliseconds: it may be about to come back. */
const ABSENT_MS = 2000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1500;

/**
 * Sends a request to a node until it answers. A silent node may have done what it was asked, so it alone is asked again,
 * for 30 s. Throws `unreachable` with the node's name, saying whether it may have been done; `payload_too_large` for
 * more than NATS carries, and `forbidden_scope` where NATS refuses the asker.
 */
async function askNode(asking: Asking, request: FleetRequest): Promise<FleetAnswer> {
  const { clock, signal, connection, node } = asking;
  const payload = Buffer.from(JSON.stringify(request));
  const limit = limitOf(connection);
  if (payload.length > limit)
    throw new AppError(
      'payload_too_large',
      `the request has ${payload.length} bytes, and NATS allows at most ${limit} bytes: raise max_payload of nats-server`,
    );
  const begun = clock.monotonic();
  let pause = FIRST_PAUSE_MS;
  for (let isMaybeDone = false; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const answer = await attempt(asking, payload);
    // A stopping node refuses a request before it checks the key, so this refusal says nothing about an attempt that
    // was silent.
    const isAnswer = answer !== 'absent' && answer !== 'silent';
    if (isAnswer && !(isMaybeDone && answer.status === 503)) return answer;
    isMaybeDone ||= answer === 'silent' && request.method !== 'GET';
    const spent = clock.monotonic() - begun;
    const isOver = spent >= (answer === 'absent' && !isMaybeDone ? ABSENT_MS : REPEAT_MS);
    if (isOver || (isMaybeDone && !asking.isRepeatable)) throw gone(node, isMaybeDone);
    await clock.sleep(pause, signal);
  }
}

/** `absent`: nobody listens for the node, so nothing was done. `silent`: nothing is known. */
async function attempt(
  { connection, subject, patienceMs, signal, node }: Asking,
  payload: Uint8Array,
): Promise<FleetAnswer | 'absent' | 'silent'> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const asked = connection.request(subject, payload, { timeout: patienceMs });
    const answer = await Promise.race([asked, aborted.promise]);
    // An answer that cannot be read says nothing about what was done.
    return readAnswer(answer.string()) ?? 'silent';
  } catch (error) {
    signal?.throwIfAborted();
    return whatFailed(error, node);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function whatFailed(error: unknown, node: string): 'absent' | 'silent' {
  if (isError(error, errors.NoRespondersError)) return 'absent';
  if (isError(error, errors.PermissionViolationError))
    throw new AppError(
      'forbidden_scope',
      `NATS refused the request to node "${node}", because the key does not allow the configured name and scope: check the section fleet.person of the configuration`,
      { cause: error },
    );
  const { ClosedConnectionError, DrainingConnectionError } = errors;
  if (isError(error, ClosedConnectionError) || isError(error, DrainingConnectionError))
    throw unreachableError('the connection to the fleet was closed', { cause: error });
  return 'silent';
}

function gone(node: string, isMaybeDone: boolean): AppError {
  return unreachableError(
    isMaybeDone
      ? `node "${node}" is unreachable, and the request might have been executed: see cadre fleet nodes`
      : `node "${node}" is unreachable, so the request was not executed: see cadre fleet nodes`,
  );
}
