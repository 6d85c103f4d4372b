import type { Endpoint } from '../api/endpoint.ts';
import { endpoints } from '../api/index.ts';
import { type Answer, type CallInput, Client } from '../client/client.ts';
import type { RequestInput } from '../client/wire.ts';
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

/** How a node for new work is chosen. */
export interface Placing {
  /** The labels that the node has to have. */
  labels: readonly string[];
  random: () => number;
  /** Called with the id of a new session and its node. */
  onPlaced: (id: string, node: string) => void;
}

/**
 * Calls a node that has the labels and room for new work. The place of a new session is kept under the key of the
 * request, so that a repeated request asks the same node. Other requests, such as the list of providers, go to the node
 * that would get the session now.
 */
export class PlacingClient extends Client {
  readonly #visit: Visit;
  readonly #placing: Placing;
  #chosen: string | null = null;
  #last: NodeClient | null = null;

  constructor(visit: Visit, placing: Placing) {
    super();
    this.#visit = visit;
    this.#placing = placing;
  }

  get url(): string {
    return `fleet ${this.#visit.names.fleet}`;
  }

  protected override async send(
    endpoint: Endpoint,
    request: RequestInput,
  ): Promise<Answer<unknown>> {
    const { signal, key = this.#visit.newKey() } = request;
    const input = request as CallInput<Endpoint>;
    if (endpoint !== endpoints.createSession)
      return this.#node(await this.#choose()).ask(endpoint, input, signal, request.key);
    const answer = await this.#place((node) => node.ask(endpoint, input, signal, key), key, signal);
    const { id } = answer.value as { id: string };
    if (this.#last) this.#placing.onPlaced(id, this.#last.node);
    return answer;
  }

  override async open(endpoint: Endpoint): Promise<never> {
    return this.#node(await this.#choose()).open(endpoint);
  }

  override misunderstanding(): AppError | null {
    return this.#last?.misunderstanding() ?? null;
  }

  /** Asks the node that the key reserves, and the next one if that node refuses. */
  async #place<T>(
    ask: (node: NodeClient) => Promise<T>,
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { connection, names, clock } = this.#visit;
    const places = new Placements(new Bucket(connection, names, names.places));
    for (let tries = 1; ; tries++) {
      const place = await patiently(clock, () => places.reserve(key, () => this.#choose()), signal);
      try {
        return await ask(this.#node(place.node));
      } catch (error) {
        if (!(error instanceof AppError) || !REFUSED.has(error.code)) throw error;
        await places.release(key, place);
        this.#chosen = null;
        if (tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Chooses the node once. */
  async #choose(): Promise<string> {
    if (this.#chosen !== null) return this.#chosen;
    const { connection, names, clock } = this.#visit;
    const bucket = new Bucket(connection, names, names.nodes);
    const nodes = await patiently(clock, () => livingNodes(bucket));
    const found = chosenNode(nodes, this.#placing.labels, this.#placing.random);
    if (!found) throw noRoom(nodes, this.#placing.labels);
    this.#chosen = found.node;
    return found.node;
  }

  #node(name: string): NodeClient {
    if (this.#last?.node !== name) this.#last = new NodeClient(this.#visit, name);
    return this.#last;
  }
}
