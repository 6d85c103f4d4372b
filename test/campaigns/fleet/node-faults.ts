import { Feed } from '../../../src/core/events/feed.ts';
import { Mirror } from '../../../src/fleet/mirror.ts';
import { NatsMirrorStream } from '../../../src/fleet/nats-mirror-stream.ts';
import { connectTo } from '../../../src/fleet/connection.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { noFailpoints } from '../../../src/core/lib/failpoint.ts';
import { mirroredLog, mirrorRows } from '../../../src/server/runtime/mirrored-log.ts';
import { Relay } from '../../support/fleet/relay.ts';
import { compareEvents } from '../../support/fleet/compare-events.ts';
import { append, wholeLog } from '../../support/fleet/mirroring.ts';
import { withStore } from '../../support/memory-store.ts';
import {
  type FleetHarness,
  FleetReader,
  withFleetHarness,
  names,
  comparisons,
  wholeStream,
} from './harness.ts';
import { underLoad } from './load.ts';
import type { Scenario } from './scenario.ts';

const sleep = (ms: number) => systemClock.sleep(ms);

/** Servers are killed at any moment, and die by themselves before or after the commit of a batch. */
export const kills: Scenario = ({ times, random }) =>
  withFleetHarness({ servers: 1, nodes: 2 }, async (harness) => {
    await using reader = new FleetReader(harness);
    let atCommit = 0;
    await underLoad(harness.nodes, async () => {
      for (let i = 0; i < 4 * times; i++) {
        for (const node of harness.nodes) {
          await sleep(random.between(100, 1200));
          if (node.hasDied) atCommit++;
          await node.end();
          const where = random.pick(['mirror.before', 'mirror.after']);
          await node.start(random.chance(0.6) ? `${where}=kill@${random.between(1, 20)}` : '');
        }
      }
    });
    for (const node of harness.nodes) {
      await node.end();
      await node.start();
    }
    return { kills: 8 * times, atCommit, comparisons: await comparisons(harness, reader) };
  });

/** The network of one server swallows everything for longer than anybody waits. */
export const cutOff: Scenario = ({ times }) =>
  withFleetHarness({ servers: 1, nodes: 1 }, async (harness) => {
    const [port = 0] = harness.cluster.servers.map((one) => one.port);
    await using relay = await Relay.to(port);
    await harness.join('far', { urls: [relay.url] });
    await using reader = new FleetReader(harness);
    await underLoad(harness.nodes, async () => {
      for (let i = 0; i < times; i++) {
        await sleep(2000);
        relay.freeze();
        await sleep(12_000);
        relay.thaw();
      }
      await sleep(2000);
    });
    return { cuts: times, comparisons: await comparisons(harness, reader) };
  });

/** Two write as one node, of which one is cut off now and then, and knows nothing of the other. */
export const twoWriters: Scenario = ({ times, random }) =>
  withFleetHarness({ servers: 1, nodes: 0 }, (harness) =>
    withStore(async (store) => {
      const [port = 0] = harness.cluster.servers.map((one) => one.port);
      await using relay = await Relay.to(port);
      const stopping = new AbortController();
      const writers = await Promise.all(
        [harness.urls, [relay.url]].map((urls) => writer(store, urls, stopping.signal)),
      );
      for (let i = 0; i < times; i++) {
        relay.freeze();
        await write(store, 60, random.between(2, 20));
        relay.thaw();
        await write(store, 60, random.between(2, 20));
      }
      await write(store, 60, 10);
      const refused = writers.map(({ mirror }) => mirror.status.refused);
      while ((await newest(harness)) !== store.db.durableSeq) await sleep(50);
      stopping.abort();
      await Promise.all(writers.map(({ done }) => done));
      const comparison = compareEvents(
        wholeLog(store, store.db.durableSeq),
        await wholeStream(harness),
      );
      return { refused, comparisons: { both: comparison } };
    }),
  );

type Store = Parameters<Parameters<typeof withStore>[0]>[0];

async function writer({ db, log }: Store, urls: string[], signal: AbortSignal) {
  const tls = { ca: null, cert: null, key: null };
  const access = { urls, fleet: 'test', name: 'both', credentials: null, tls };
  const connection = await connectTo(access);
  const mirror = new Mirror({
    log: mirroredLog({ db, log, feed: new Feed({ db, log }) }),
    rows: mirrorRows(db),
    stream: new NatsMirrorStream(connection, names, 'both'),
    clock: systemClock,
    failpoint: noFailpoints,
  });
  const run = async () => {
    await mirror.run(signal);
    await connection.close();
  };
  return { mirror, done: run() };
}

async function write(store: Store, batches: number, events: number): Promise<void> {
  for (let i = 0; i < batches; i++) {
    await append(store, events);
    await sleep(30);
  }
}

async function newest({ connection }: FleetHarness): Promise<number> {
  return (await new NatsMirrorStream(connection, names, 'both').head())?.seq ?? 0;
}

/** Servers whose clocks are wrong by hours: their heartbeats and the order of events do not depend on them. */
export const clocks: Scenario = () =>
  withFleetHarness({ servers: 1, nodes: 1 }, async (harness) => {
    for (const [name, hours] of [
      ['ahead', 2],
      ['behind', -2],
    ] as const)
      await harness.join(name, { env: { NODE_OPTIONS: shiftedBy(hours) } });
    await using reader = new FleetReader(harness);
    await underLoad(harness.nodes, () => sleep(8000));
    const states = await Promise.all(
      harness.nodes.map(async (node) => (await node.state())?.state),
    );
    if (states.some((state) => state !== 'member'))
      throw new Error(`not all are members: ${states.join(', ')}`);
    return { comparisons: await comparisons(harness, reader) };
  });

/** Options of Node with which the clock on the wall is wrong by so many hours. */
function shiftedBy(hours: number): string {
  const code = `const now = Date.now; Date.now = () => now() + ${hours * 3_600_000};`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}
