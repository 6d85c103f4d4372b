import type { Endpoint } from '../api/endpoint.ts';
import { endpoints } from '../api/index.ts';
import { type Answer, type CallInput, Client } from '../client/client.ts';
import type { RequestInput } from '../client/wire.ts';
import { AppError, isUnreachable, unreachableError } from '../api/errors.ts';
import { Bucket, Changed } from './bucket.ts';
import { retryWhileUnavailable } from './nats-api.ts';
import { NodeClient, type FleetContext } from './node-client.ts';
import { type NodeHeartbeat, livingNodes } from './heartbeat.ts';
import { createHash } from 'node:crypto';
import { parsedJson } from '../core/lib/parsed-json.ts';

/** How often a node is chosen anew, where each node that was chosen refuses. */
const MAX_TRIES = 5;

/** The codes of refusals after which nothing was done: another node may be asked. */
const REFUSED = new Set(['too_many', 'storage_full']);

export interface Placing {
  /** The labels that the node has to have. */
  labels: readonly string[];
  random: () => number;
  /** Called with the id of a new session and its node. */
  onPlaced: (id: string, node: string) => void;
}

/**
 * Calls a node that has the labels and room for new work. The placement of a new session is kept under the key of the
 * request, so that a repeated request asks the same node. Other requests, such as the list of providers, go to the node
 * that would get the session now.
 */
export class PlacementClient extends Client {
  readonly #context: FleetContext;
  readonly #placing: Placing;
  #chosen: string | null = null;
  #last: NodeClient | null = null;

  constructor(context: FleetContext, placing: Placing) {
    super();
    this.#context = context;
    this.#placing = placing;
  }

  get url(): string {
    return `fleet ${this.#context.names.fleet}`;
  }

  protected override async send(
    endpoint: Endpoint,
    request: RequestInput,
  ): Promise<Answer<unknown>> {
    const { signal, key = this.#context.newKey() } = request;
    const input = request as CallInput<Endpoint>;
    if (endpoint !== endpoints.createSession)
      return this.#leavingLost(async () =>
        this.#node(await this.#choose()).ask(endpoint, input, signal, request.key),
      );
    let placedOn = '';
    const ask = (node: NodeClient) => {
      placedOn = node.node;
      return node.ask(endpoint, input, signal, key);
    };
    const answer = await this.#leavingLost(() => this.#place(ask, key, signal));
    // The next session may be for another node.
    this.#chosen = null;
    const { id } = answer.value as { id: string };
    this.#placing.onPlaced(id, placedOn);
    return answer;
  }

  override async open(endpoint: Endpoint): Promise<never> {
    return this.#node(await this.#choose()).open(endpoint);
  }

  override misunderstanding(): AppError | null {
    return this.#last?.misunderstanding() ?? null;
  }

  /** Resolves with what `ask` returns. If its node cannot be reached, the next request chooses a node anew. */
  async #leavingLost<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (isUnreachable(error)) this.#chosen = null;
      throw error;
    }
  }

  /** Asks the node that the key reserves, and the next one if that node refuses. */
  async #place<T>(
    ask: (node: NodeClient) => Promise<T>,
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { connection, names, clock } = this.#context;
    const placements = new Placements(new Bucket(connection, names, names.placements));
    for (let tries = 1; ; tries++) {
      const reservation = await retryWhileUnavailable(
        clock,
        () => placements.reserve(key, () => this.#choose()),
        signal,
      );
      try {
        return await ask(this.#node(reservation.node));
      } catch (error) {
        if (!(error instanceof AppError) || !REFUSED.has(error.code)) throw error;
        await placements.release(key, reservation);
        this.#chosen = null;
        if (tries === MAX_TRIES) throw error;
      }
    }
  }

  async #choose(): Promise<string> {
    if (this.#chosen !== null) return this.#chosen;
    const { connection, names, clock } = this.#context;
    const bucket = new Bucket(connection, names, names.nodes);
    const nodes = await retryWhileUnavailable(clock, () => livingNodes(bucket));
    const found = chosenNode(nodes, this.#placing.labels, this.#placing.random);
    if (!found) throw noRoom(nodes, this.#placing.labels);
    this.#chosen = found.node;
    return found.node;
  }

  #node(name: string): NodeClient {
    if (this.#last?.node !== name) this.#last = new NodeClient(this.#context, name);
    return this.#last;
  }
}

/**
 * The better of two random nodes among those that have all the labels and room; null where there is none. Everybody
 * sees the same numbers, up to two seconds old, so nobody takes the best one: all would take the same.
 */
export function chosenNode(
  nodes: readonly NodeHeartbeat[],
  labels: readonly string[],
  random: () => number,
): NodeHeartbeat | null {
  const fit = nodes.filter(
    (node) => labels.every((one) => node.labels.includes(one)) && node.live < node.max_live,
  );
  const [first, second] = [anyOf(fit, random), anyOf(fit, random)];
  if (first === null || second === null) return null;
  return loadOf(first) <= loadOf(second) ? first : second;
}

function anyOf<T>(all: readonly T[], random: () => number): T | null {
  return all[Math.min(all.length - 1, Math.floor(random() * all.length))] ?? null;
}

function loadOf({ live, max_live }: NodeHeartbeat): number {
  return live / max_live;
}

/** Why no node was chosen, for whoever wanted one. */
export function noRoom(nodes: readonly NodeHeartbeat[], labels: readonly string[]): AppError {
  const wanted = labels.length === 0 ? '' : ` with the label ${labels.join(' and ')}`;
  const fit = nodes.filter((node) => labels.every((one) => node.labels.includes(one)));
  if (nodes.length === 0)
    return unreachableError('no node of the fleet is alive: see cadre fleet nodes');
  return fit.length === 0
    ? new AppError('too_many', `no node of the fleet${wanted} is alive: see cadre fleet nodes`)
    : new AppError(
        'too_many',
        `all live nodes${wanted} already run their maximum number of agents: try again when a turn has ended`,
      );
}

/** Placements of requests, by their idempotency keys. */
export class Placements {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  /**
   * The node that a request goes to: the one that was kept under its key, by whichever client, else the one that
   * `choose` names, which is kept from now on.
   */
  async reserve(key: string, choose: () => Promise<string>): Promise<Reservation> {
    const at = placementKey(key);
    for (;;) {
      const { value, revision } = await this.#bucket.get(at);
      const kept = nodeIn(value);
      if (kept !== null) return { node: kept, revision };
      const node = await choose();
      try {
        return { node, revision: await this.#bucket.put(at, JSON.stringify({ node }), revision) };
      } catch (error) {
        // Somebody with the same key was faster: theirs counts.
        if (!(error instanceof Changed)) throw error;
      }
    }
  }

  /** Gives a placement up, after the node has refused, and did nothing. Another client may have given it up already. */
  async release(key: string, { revision }: Reservation): Promise<void> {
    await this.#bucket.remove(placementKey(key), revision).catch((error: unknown) => {
      if (!(error instanceof Changed)) throw error;
    });
  }
}

interface Reservation {
  node: string;
  revision: number;
}

/** A key as NATS takes it: itself, or else its digest. */
function placementKey(key: string): string {
  return /^[\w-]{1,128}$/.test(key) ? key : createHash('sha256').update(key).digest('base64url');
}

function nodeIn(value: string | null): string | null {
  const { node } = (parsedJson(value ?? '') ?? {}) as { node?: unknown };
  return typeof node === 'string' ? node : null;
}
