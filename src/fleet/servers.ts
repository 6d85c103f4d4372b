import { ownerOf } from '../client/owner.ts';
import type {
  FollowAll,
  ServerEntry,
  ServerSnapshot,
  Servers,
  ServersEventStream,
} from '../client/servers.ts';
import { unreachableError } from '../api/errors.ts';
import { type FleetNode, fleetNodes } from './status.ts';
import { FleetEventStream, type FollowedNode } from './fleet-event-stream.ts';
import { NatsReaderStream } from './nats-reader-stream.ts';
import { NodeClient, type FleetContext } from './node-client.ts';
import { NodeView, joined, viewKinds } from './node-view.ts';
import { retryWhileUnavailable } from './nats-api.ts';
import { PlacementClient } from './placement-client.ts';
import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { trimmedSeqIn } from '../client/replay.ts';
import type { FleetItem } from './reader.ts';

/** For so long, in milliseconds, the list of nodes holds. */
const FRESH_MS = 2000;

/** The nodes of a fleet, as several servers that a command asks as if they were one. */
export class FleetServers implements Servers {
  readonly #context: FleetContext;
  readonly #labels: readonly string[];
  readonly #placing: PlacementClient;
  /** The node of each session that was made here. */
  readonly #placed = new Map<string, string>();
  /** The nodes that were alive with all labels. The labels of a dead node are unknown. */
  readonly #labelled = new Set<string>();
  #asked: { at: number; nodes: Promise<FleetNode[]> } | undefined;

  /** `labels`: only nodes that have all of them. */
  constructor(context: FleetContext, deps: { labels: readonly string[]; random: () => number }) {
    this.#context = context;
    this.#labels = deps.labels;
    const onPlaced = (id: string, node: string) => void this.#placed.set(id, node);
    this.#placing = new PlacementClient(context, { ...deps, onPlaced });
  }

  async list(): Promise<FollowedNode[]> {
    const nodes = await this.#nodes();
    // The labels of a dead node are unknown, so only a list of all nodes includes it.
    const wanted = nodes.filter(({ labels }) =>
      this.#labels.every((label) => labels?.includes(label)),
    );
    for (const { node } of wanted) this.#labelled.add(node);
    return wanted.map((node) => this.#entry(node));
  }

  async named(name: string): Promise<ServerEntry> {
    const nodes = await this.#nodes();
    const found = nodes.find(({ node }) => node === name);
    if (found) return this.#entry(found);
    const names = nodes.map(({ node }) => node).join(', ') || 'none';
    // A node that has died before any event of it came is one that the fleet does not know any more.
    throw unreachableError(
      `node "${name}" not found, because the fleet has received no heartbeat and no events from that node: choose from ${names}`,
    );
  }

  async serverOf(id: string): Promise<ServerEntry> {
    const node = this.#placed.get(id);
    if (node !== undefined) return this.named(node);
    return ownerOf(await this.list(), id, (name) => this.known(name));
  }

  /** Where new work goes: to a node that is found once it is known what is asked. */
  async first(): Promise<ServerEntry> {
    const { url } = this.#placing;
    return { name: url, url, state: 'reachable', detail: null, client: this.#placing };
  }

  /** Made from what the fleet has of the node's events. */
  known(name: string): Promise<ServerSnapshot | null> {
    return retryWhileUnavailable(this.#context.clock, () => this.#known(name));
  }

  async #known(name: string): Promise<ServerSnapshot | null> {
    const { connection, names, clock } = this.#context;
    const { signal } = new AbortController();
    const readings = viewKinds.map((kind) =>
      new NatsReaderStream(connection, names, clock, names.event(name, kind)).read(
        { after: 0 },
        { follow: false, signal },
      ),
    );
    const view = new NodeView();
    for await (const arrived of joined(readings)) view.apply(arrived);
    return view.known;
  }

  /**
   * The events of all nodes with the labels, or of one, as the fleet's stream has them: also of nodes that do not answer. The
   * labels of a node that was dead from the start are unknown, so its events are left out where labels are wanted.
   */
  streamEvents(options: FollowAll, signal: AbortSignal): ServersEventStream {
    const { connection, names, clock } = this.#context;
    const filter = options.node === undefined ? names.allEvents : names.eventsOf(options.node);
    const parts = {
      stream: new NatsReaderStream(connection, names, clock, filter),
      fill: (node: string, epoch: string, after: number, upTo: number) =>
        fill(new NodeClient(this.#context, node), { node, epoch, after, upTo }),
      clock,
      list: () => this.list(),
      isFollowed: (node: string) => this.#hasLabels(node),
    };
    return new FleetEventStream(parts, options, signal);
  }

  async #hasLabels(node: string): Promise<boolean> {
    if (this.#labels.length === 0 || this.#labelled.has(node)) return true;
    await this.list().catch(() => undefined);
    return this.#labelled.has(node);
  }

  close(): void {
    void this.#context.connection.close();
  }

  #nodes(): Promise<FleetNode[]> {
    const { clock, connection, names } = this.#context;
    const at = clock.monotonic();
    if (!this.#asked || at - this.#asked.at > FRESH_MS) {
      const nodes = retryWhileUnavailable(clock, () => fleetNodes(connection, names));
      this.#asked = { at, nodes };
    }
    return this.#asked.nodes;
  }

  #entry({ node, state, mirror, detail }: FleetNode): FollowedNode {
    const client = new NodeClient(this.#context, node);
    const about = { name: node, url: client.url, remark: remarkOn(node, mirror, detail) };
    if (state === 'alive') return { ...about, state: 'reachable', detail: null, client };
    const why = `node "${node}" is unreachable: no heartbeat for 6 s`;
    return { ...about, state: 'unreachable', detail: why, client: null };
  }
}

/** Why nobody gets the events of a node from the fleet. */
function remarkOn(node: string, mirror: FleetNode['mirror'], detail: string | null): string | null {
  if (mirror === 'failing')
    return detail ?? 'its events are not mirrored to the fleet at the moment';
  return mirror === 'off'
    ? `its events are not mirrored to the fleet (fleet.mirror is false): follow the node directly with --on ${node}`
    : null;
}

/** A part of the log of a node. */
interface Hole {
  node: string;
  epoch: string;
  after: number;
  upTo: number;
}

const PAGE = 500;

/**
 * Asks a node for the events of a hole, oldest first, with a notice first if retention has deleted some. Throws if the node
 * cannot be asked, or has another log by now.
 */
export async function fill(
  client: Pick<Client, 'ask'>,
  { node, epoch, after: first, upTo }: Hole,
): Promise<FleetItem[]> {
  const items: FleetItem[] = [];
  let trimmed = 0;
  for (let after_seq = first; after_seq < upTo;) {
    const query = { after_seq, limit: PAGE };
    const { value, headers } = await client.ask(endpoints.replayEvents, { query });
    if (headers['x-epoch'] !== epoch) throw new Error(`node ${node} has a new event log`);
    trimmed = Math.max(trimmed, trimmedSeqIn(headers));
    for (const event of value) {
      const { seq, kind } = event;
      if (seq <= upTo)
        items.push({ event: { node, epoch, seq, kind, text: JSON.stringify(event) } });
    }
    const next = value.at(-1)?.seq ?? upTo;
    if (!(next > after_seq))
      throw new Error(`node ${node} returned events outside the requested range`);
    after_seq = next;
  }
  if (trimmed <= first) return items;
  const why = 'retention removed them';
  const range = { after: first, up_to: Math.min(trimmed, upTo) };
  return [{ notice: { node, kind: 'gap', ...range, why } }, ...items];
}
