import { jetstreamManager } from '@nats-io/jetstream';
import { FleetCursor } from '../../../src/fleet/cursor.ts';
import { fill } from '../../../src/fleet/servers.ts';
import type { MirroredMessage } from '../../../src/fleet/mirrored.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { NatsMirrorStream } from '../../../src/fleet/nats-mirror-stream.ts';
import { NatsReaderStream } from '../../../src/fleet/nats-reader-stream.ts';
import { type FleetEvent, type FleetNotice, readFleet } from '../../../src/fleet/reader.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import {
  type ClusterOptions,
  type NatsServer,
  type TestFleet,
  untilDone,
  withFleet,
} from '../../support/fleet/cluster.ts';
import {
  type ReceivedEvent,
  compareEvents,
  type EventComparison,
} from '../../support/fleet/compare-events.ts';
import { scaled } from '../../support/patience.ts';
import { CampaignNode } from './node.ts';

export const names = namesOf('test');

/** A cluster with servers as its nodes, and what a scenario does to them. */
export interface FleetHarness extends TestFleet {
  nodes: CampaignNode[];
  /** Starts one more server; its data is at `directory`, or at a fresh place. */
  join(
    name: string,
    more?: { directory?: string; urls?: string[]; env?: Record<string, string> },
  ): Promise<CampaignNode>;
  /** A fresh directory for a server that is not started yet. */
  place(name: string): string;
}

/** Runs `scenario` with a cluster and `count` servers, and ends them whatever happens. */
export function withFleetHarness<T>(
  { nodes: count, ...options }: ClusterOptions & { nodes: number; maxBytes?: number },
  scenario: (harness: FleetHarness) => Promise<T>,
): Promise<T> {
  return withFleet(async (fleet) => {
    const nodes: CampaignNode[] = [];
    const place = (name: string) => fleet.cluster.place(`node-${name}`);
    const harness: FleetHarness = {
      ...fleet,
      nodes,
      place,
      async join(name, { directory = place(name), urls = fleet.urls, env = {} } = {}) {
        const node = new CampaignNode(name, directory, { urls, env });
        nodes.push(node);
        return node.start();
      },
    };
    try {
      for (let i = 1; i <= count; i++) await harness.join(`node${i}`);
      return await scenario(harness);
    } finally {
      await Promise.all(nodes.map((node) => node.end('SIGTERM')));
    }
  }, options);
}

/** The server of NATS that leads the stream; the first one while none does. */
export async function leaderOf({ connection, cluster }: FleetHarness): Promise<NatsServer> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const leader = await manager.streams.info(names.events).then(
    ({ cluster: about }) => about?.leader,
    () => undefined,
  );
  const found = cluster.servers.find(({ name }) => name === leader) ?? cluster.servers[0];
  if (!found) throw new Error('a cluster has at least one server');
  return found;
}

/** Waits until the fleet has all that is stored on a server. Rejects after two minutes. */
export async function settled({ connection }: FleetHarness, node: CampaignNode): Promise<void> {
  const stream = new NatsMirrorStream(connection, names, node.name);
  const until = performance.now() + scaled(120_000);
  for (;;) {
    const { epoch, last } = await node.log();
    const head = await stream.head().catch(() => null);
    if (head?.epoch === epoch && head.seq >= last) return;
    if (performance.now() > until)
      throw new Error(
        `${node.name}: the fleet has ${head?.seq ?? 'nothing'}, the log ends at ${last}: ${JSON.stringify(await node.state())}\n${node.server.log().slice(-2000)}`,
      );
    await systemClock.sleep(100);
  }
}

/** All messages of the stream, in its order, once NATS gives them. */
export function wholeStream(harness: FleetHarness): Promise<MirroredMessage[]> {
  return untilDone(() => readStream(harness));
}

async function readStream({ connection }: FleetHarness): Promise<MirroredMessage[]> {
  const all: MirroredMessage[] = [];
  const { signal } = new AbortController();
  const stream = new NatsReaderStream(connection, names, systemClock);
  for await (const { message } of stream.read({ after: 0 }, { follow: false, signal }))
    all.push(message);
  return all;
}

/** A reader of the whole fleet, which has holes filled by the servers, as `events tail --fleet` does. */
export class FleetReader implements AsyncDisposable {
  readonly events: FleetEvent[] = [];
  readonly notices: FleetNotice[] = [];
  readonly cursor = FleetCursor.start();
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;

  constructor({ connection, nodes }: FleetHarness) {
    const parts = {
      stream: new NatsReaderStream(connection, names, systemClock),
      clock: systemClock,
      cursor: this.cursor,
      fill: async (name: string, epoch: string, after: number, upTo: number) => {
        const node = nodes.find((one) => one.name === name);
        if (!node) throw new Error('there is no such server');
        return fill(node.server.client, { node: name, epoch, after, upTo });
      },
    };
    this.#done = (async () => {
      const items = readFleet(parts, { follow: true, signal: this.#stopping.signal });
      for await (const item of items)
        if ('event' in item) this.events.push(item.event);
        else this.notices.push(item.notice);
    })();
  }

  /** Resolves once it has read all that the stream has. */
  async caughtUp({ connection }: FleetHarness): Promise<void> {
    const stream = new NatsReaderStream(connection, names, systemClock);
    const isThere = async () => {
      const { first, last } = await stream.info();
      const { seq, last: stayed } = this.cursor.position;
      if (seq < last || stayed === null || stayed.seq < first) return seq >= last;
      // A place beyond the end, or in what the stream was before, is not the end.
      return (await stream.idAt(stayed.seq)) === stayed.id;
    };
    while (!(await untilDone(isThere))) await systemClock.sleep(50);
  }

  /** Events of one log that the reader has received. */
  of(node: CampaignNode, epoch: string): FleetEvent[] {
    return this.events.filter((event) => event.node === node.name && event.epoch === epoch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }
}

/** Events of each server that the stream, and a reader, have received until now. */
export async function comparisons(
  harness: FleetHarness,
  reader?: FleetReader,
): Promise<Record<string, EventComparison>> {
  const expected = await Promise.all(harness.nodes.map((node) => node.expected()));
  for (const node of harness.nodes) await settled(harness, node);
  const all = await wholeStream(harness);
  await reader?.caughtUp(harness);
  const found: Record<string, EventComparison> = {};
  for (const [i, node] of harness.nodes.entries()) {
    const { epoch } = await node.log();
    const known = expected[i] ?? new Map<number, string>();
    const last = Math.max(...known.keys());
    const upTo = (received: readonly ReceivedEvent[]) => received.filter(({ seq }) => seq <= last);
    const mirrored = all.filter((one) => one.node === node.name && one.epoch === epoch);
    found[node.name] = compareEvents(known, upTo(mirrored));
    if (reader) found[`${node.name}, reader`] = compareEvents(known, upTo(reader.of(node, epoch)));
  }
  return found;
}
