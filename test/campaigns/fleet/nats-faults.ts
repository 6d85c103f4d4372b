import fs from 'node:fs';
import path from 'node:path';
import { DiscardPolicy, jetstreamManager } from '@nats-io/jetstream';
import { NatsReaderStream } from '../../../src/fleet/nats-reader-stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { untilDone } from '../../support/fleet/cluster.ts';
import {
  type FleetHarness,
  FleetReader,
  withFleetHarness,
  leaderOf,
  names,
  comparisons,
} from './harness.ts';
import { underLoad } from './load.ts';
import type { Scenario } from './scenario.ts';

const sleep = (ms: number) => systemClock.sleep(ms);

/** The leader of the stream is killed again and again. */
export const leaderKilled: Scenario = ({ times }) =>
  withFleetHarness({ servers: 3, nodes: 2 }, async (harness) => {
    await using reader = new FleetReader(harness);
    await underLoad(harness.nodes, async () => {
      for (let i = 0; i < 2 * times; i++) {
        await sleep(1500);
        const leader = await leaderOf(harness);
        await harness.cluster.kill(leader);
        await sleep(1500);
        harness.cluster.boot(leader);
        await sleep(1000);
      }
    });
    return { kills: 2 * times, comparisons: await comparisons(harness, reader) };
  });

/** The leader of the stream hangs for so long that another is elected, and comes back not knowing. */
export const leaderStopped: Scenario = ({ times }) =>
  withFleetHarness({ servers: 3, nodes: 2 }, async (harness) => {
    await using reader = new FleetReader(harness);
    await underLoad(harness.nodes, async () => {
      for (let i = 0; i < times; i++) {
        await sleep(1500);
        const leader = await leaderOf(harness);
        leader.process?.kill('SIGSTOP');
        await sleep(9000);
        leader.process?.kill('SIGCONT');
      }
      await sleep(1500);
    });
    return { stops: times, comparisons: await comparisons(harness, reader) };
  });

/** NATS is down for some time, in which deltas of closed items leave the log; a server dies meanwhile. */
export const outage: Scenario = ({ outageSeconds: seconds }) =>
  withFleetHarness({ servers: 3, nodes: 2 }, async (harness) => {
    await using reader = new FleetReader(harness);
    await underLoad(harness.nodes, async () => {
      await sleep(1500);
      await Promise.all(harness.cluster.servers.map((one) => harness.cluster.kill(one)));
      await sleep(seconds * 500);
      const [node] = harness.nodes;
      await node?.end();
      await node?.start();
      await sleep(seconds * 500);
      for (const one of harness.cluster.servers) harness.cluster.boot(one);
      await sleep(3000);
    });
    return { seconds, comparisons: await comparisons(harness, reader) };
  });

/** The stream takes no more messages, until somebody gives it room. */
export const full: Scenario = () =>
  withFleetHarness({ servers: 1, nodes: 1 }, async (harness) => {
    await changeStream(harness, { max_bytes: 60_000, discard: DiscardPolicy.New });
    const info = () => new NatsReaderStream(harness.connection, names, systemClock).info();
    let stuckAt = 0;
    await underLoad(harness.nodes, async () => {
      await sleep(5000);
      stuckAt = (await info()).last;
      await sleep(1000);
      if ((await info()).last !== stuckAt) throw new Error('the stream was not full');
      await changeStream(harness, { max_bytes: 1e9, discard: DiscardPolicy.Old });
      await sleep(2000);
    });
    return { stuckAt, comparisons: await comparisons(harness) };
  });

/** Retention of the stream takes everything, while the server runs and while it does not. */
export const emptied: Scenario = () =>
  withFleetHarness({ servers: 1, nodes: 1 }, async (harness) => {
    await using reader = new FleetReader(harness);
    const [node] = harness.nodes;
    await underLoad(harness.nodes, async () => {
      await sleep(2500);
      await reader.caughtUp(harness);
      await purge(harness);
      await sleep(2500);
      await node?.end();
      await reader.caughtUp(harness);
      await purge(harness);
      await node?.start();
      await sleep(2500);
    });
    // Only the end of the stream is left, so the events of the reader are compared.
    const all = await comparisons(harness, reader);
    const readers = Object.entries(all).filter(([whose]) => whose.endsWith('reader'));
    return { comparisons: Object.fromEntries(readers) };
  });

/** NATS loses what it has acknowledged: all its stores go back to an earlier state. */
export const setBack: Scenario = ({ times }) =>
  withFleetHarness({ servers: 3, nodes: 2 }, async (harness) => {
    await using reader = new FleetReader(harness);
    const lost: number[] = [];
    await underLoad(harness.nodes, async () => {
      for (let i = 0; i < times; i++) {
        await sleep(2000);
        await withNatsDown(harness, (store, saved) => fs.cpSync(store, saved, { recursive: true }));
        const kept = await lastOf(harness);
        while ((await lastOf(harness)) < kept + 300) await sleep(100);
        await reader.caughtUp(harness);
        lost.push((await lastOf(harness)) - kept);
        await withNatsDown(harness, (store, saved) => {
          fs.rmSync(store, { recursive: true });
          fs.renameSync(saved, store);
        });
        await sleep(2000);
      }
    });
    const found = await comparisons(harness, reader);
    const rewinds = reader.notices.filter(({ kind }) => kind === 'rewind').length;
    return { lost, rewinds, comparisons: found };
  });

/** Kills all servers of NATS, does something to their stores, and starts them again. */
async function withNatsDown(
  { cluster }: FleetHarness,
  change: (store: string, saved: string) => void,
): Promise<void> {
  await Promise.all(cluster.servers.map((one) => cluster.kill(one)));
  for (const { directory } of cluster.servers)
    change(path.join(directory, 'js'), path.join(directory, 'saved'));
  for (const one of cluster.servers) cluster.boot(one);
}

/** The number of the newest message of the stream, once there is a leader. */
function lastOf({ connection }: FleetHarness): Promise<number> {
  return untilDone(
    async () => (await new NatsReaderStream(connection, names, systemClock).info()).last,
  );
}

async function purge({ connection }: FleetHarness): Promise<void> {
  const manager = await jetstreamManager(connection);
  await manager.streams.purge(names.events);
}

async function changeStream(
  { connection }: FleetHarness,
  change: { max_bytes: number; discard: DiscardPolicy },
): Promise<void> {
  const manager = await jetstreamManager(connection);
  const { config } = await manager.streams.info(names.events);
  await manager.streams.update(names.events, { ...config, ...change });
}
