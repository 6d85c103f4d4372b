import type { Endpoint, ResponseOf } from '../api/endpoint.ts';
import { endpoints } from '../api/index.ts';
import type { Answer, CallInput, Client } from '../client/client.ts';
import { AppError } from '../api/errors.ts';
import { Bucket } from './bucket.ts';
import { patiently } from './patiently.ts';
import { NodeClient, type Visit } from './node-client.ts';
import { chosenNode, noRoom, Placements } from './placement.ts';
import { livingNodes } from './heartbeat.ts';

/** How often a place is looked for, where each node that was chosen refuses. */
const MAX_TRIES = 5;

/** The codes of refusals after which nothing was done: another node may be asked. */
const REFUSED = new Set(['too_many', 'storage_full']);

/**
 * Calls the node that new work goes to: one that has the labels and room. A new session gets a place that is kept under
 * the request's key, so whoever repeats the request asks the same node. What comes before it, such as the list of
 * providers, is asked of the node that would get the session now.
 */
export class PlacingClient implements Client {
  readonly #visit: Visit;
  readonly #labels: readonly string[];
  readonly #random: () => number;
  readonly #onPlaced: (id: string, node: string) => void;
  #chosen: string | null = null;
  #last: NodeClient | null = null;

  /** `onPlaced` is told which node has a new session. */
  constructor(
    visit: Visit,
    deps: {
      labels: readonly string[];
      random: () => number;
      onPlaced: (id: string, node: string) => void;
    },
  ) {
    this.#visit = visit;
    this.#labels = deps.labels;
    this.#random = deps.random;
    this.#onPlaced = deps.onPlaced;
  }

  get url(): string {
    return `fleet ${this.#visit.names.fleet}`;
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
    const isPlaced = (endpoint as Endpoint) === endpoints.createSession;
    if (!isPlaced) return this.#node(await this.#choose()).ask(endpoint, input, signal, key);
    const answer = await this.#place(endpoint, input, signal, key ?? this.#visit.newKey());
    const { id } = answer.value as { id: string };
    if (this.#last) this.#onPlaced(id, this.#last.node);
    return answer;
  }

  async open(endpoint: Endpoint): Promise<never> {
    return this.#node(await this.#choose()).open(endpoint);
  }

  misunderstanding(): AppError | null {
    return this.#last?.misunderstanding() ?? null;
  }

  /** Does nothing: the connection belongs to the fleet. */
  close(): void {}

  async #place<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal: AbortSignal | undefined,
    key: string,
  ): Promise<Answer<ResponseOf<E>>> {
    const { connection, names, clock } = this.#visit;
    const places = new Placements(new Bucket(connection, names, names.places));
    for (let tries = 1; ; tries++) {
      const place = await patiently(clock, () => places.reserve(key, () => this.#choose()), signal);
      try {
        return await this.#node(place.node).ask(endpoint, input, signal, key);
      } catch (error) {
        if (!(error instanceof AppError) || !REFUSED.has(error.code)) throw error;
        await places.release(key, place);
        this.#chosen = null;
        if (tries === MAX_TRIES) throw error;
      }
    }
  }

  /** The node that new work goes to, chosen once. */
  async #choose(): Promise<string> {
    if (this.#chosen !== null) return this.#chosen;
    const { connection, names, clock } = this.#visit;
    const bucket = new Bucket(connection, names, names.nodes);
    const nodes = await patiently(clock, () => livingNodes(bucket));
    const found = chosenNode(nodes, this.#labels, this.#random);
    if (!found) throw noRoom(nodes, this.#labels);
    this.#chosen = found.node;
    return found.node;
  }

  #node(name: string): NodeClient {
    if (this.#last?.node !== name) this.#last = new NodeClient(this.#visit, name);
    return this.#last;
  }
}
