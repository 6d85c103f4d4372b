import fs from 'node:fs';
import path from 'node:path';
import { DiscardPolicy, jetstreamManager } from '@nats-io/jetstream';
import { NatsReaderStream } from '../../../src/fleet/nats-reader-stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { untilDone } from '../../support/fleet/cluster.ts';
import { type Arena, FleetReader, inArena, leaderOf, names, verdicts } from './harness.ts';
import { underLoad } from './load.ts';
import type { Scenario } from './scenario.ts';

const sleep = (ms: number) => systemClock.sleep(ms);

/** The leader of the stream is killed again and again. */
export const leaderKilled: Scenario = ({ times }) =>
  inArena({ servers: 3, nodes: 2 }, async (arena) => {
    await using reader = new FleetReader(arena);
    await underLoad(arena.nodes, async () => {
      for (let i = 0; i < 2 * times; i++) {
        await sleep(1500);
        const leader = await leaderOf(arena);
        await arena.cluster.kill(leader);
        await sleep(1500);
        arena.cluster.boot(leader);
        await sleep(1000);
      }
    });
    return { kills: 2 * times, verdicts: await verdicts(arena, reader) };
  });

/** The leader of the stream hangs for so long that another is elected, and comes back not knowing. */
export const leaderStopped: Scenario = ({ times }) =>
  inArena({ servers: 3, nodes: 2 }, async (arena) => {
    await using reader = new FleetReader(arena);
    await underLoad(arena.nodes, async () => {
      for (let i = 0; i < times; i++) {
        await sleep(1500);
        const leader = await leaderOf(arena);
        leader.process?.kill('SIGSTOP');
        await sleep(9000);
        leader.process?.kill('SIGCONT');
      }
      await sleep(1500);
    });
    return { stops: times, verdicts: await verdicts(arena, reader) };
  });

/** No engine for some time, in which deltas of closed items leave the log; a server dies meanwhile. */
export const outage: Scenario = ({ outageSeconds: seconds }) =>
  inArena({ servers: 3, nodes: 2 }, async (arena) => {
    await using reader = new FleetReader(arena);
    await underLoad(arena.nodes, async () => {
      await sleep(1500);
      await Promise.all(arena.cluster.servers.map((one) => arena.cluster.kill(one)));
      await sleep(seconds * 500);
      const [node] = arena.nodes;
      await node?.end();
      await node?.start();
      await sleep(seconds * 500);
      for (const one of arena.cluster.servers) arena.cluster.boot(one);
      await sleep(3000);
    });
    return { seconds, verdicts: await verdicts(arena, reader) };
  });

/** The stream takes no more messages, until somebody gives it room. */
export const full: Scenario = () =>
  inArena({ servers: 1, nodes: 1 }, async (arena) => {
    await changeStream(arena, { max_bytes: 60_000, discard: DiscardPolicy.New });
    const info = () => new NatsReaderStream(arena.connection, names, systemClock).info();
    let stuckAt = 0;
    await underLoad(arena.nodes, async () => {
      await sleep(5000);
      stuckAt = (await info()).last;
      await sleep(1000);
      if ((await info()).last !== stuckAt) throw new Error('the stream was not full');
      await changeStream(arena, { max_bytes: 1e9, discard: DiscardPolicy.Old });
      await sleep(2000);
    });
    return { stuckAt, verdicts: await verdicts(arena) };
  });

/** Retention of the stream takes everything, while the server runs and while it does not. */
export const emptied: Scenario = () =>
  inArena({ servers: 1, nodes: 1 }, async (arena) => {
    await using reader = new FleetReader(arena);
    const [node] = arena.nodes;
    await underLoad(arena.nodes, async () => {
      await sleep(2500);
      await reader.caughtUp(arena);
      await purge(arena);
      await sleep(2500);
      await node?.end();
      await reader.caughtUp(arena);
      await purge(arena);
      await node?.start();
      await sleep(2500);
    });
    // Only the end of the stream is left, so the events of the reader are compared.
    const all = await verdicts(arena, reader);
    const readers = Object.entries(all).filter(([whose]) => whose.endsWith('reader'));
    return { verdicts: Object.fromEntries(readers) };
  });

/** The engine loses what it has acknowledged: all its stores go back to an earlier state. */
export const setBack: Scenario = ({ times }) =>
  inArena({ servers: 3, nodes: 2 }, async (arena) => {
    await using reader = new FleetReader(arena);
    const lost: number[] = [];
    await underLoad(arena.nodes, async () => {
      for (let i = 0; i < times; i++) {
        await sleep(2000);
        await withEngineDown(arena, (store, saved) => fs.cpSync(store, saved, { recursive: true }));
        const kept = await lastOf(arena);
        while ((await lastOf(arena)) < kept + 300) await sleep(100);
        await reader.caughtUp(arena);
        lost.push((await lastOf(arena)) - kept);
        await withEngineDown(arena, (store, saved) => {
          fs.rmSync(store, { recursive: true });
          fs.renameSync(saved, store);
        });
        await sleep(2000);
      }
    });
    const found = await verdicts(arena, reader);
    const rewinds = reader.notices.filter(({ kind }) => kind === 'rewind').length;
    return { lost, rewinds, verdicts: found };
  });

/** Kills all servers of the engine, does something to their stores, and starts them again. */
async function withEngineDown(
  { cluster }: Arena,
  change: (store: string, saved: string) => void,
): Promise<void> {
  await Promise.all(cluster.servers.map((one) => cluster.kill(one)));
  for (const { directory } of cluster.servers)
    change(path.join(directory, 'js'), path.join(directory, 'saved'));
  for (const one of cluster.servers) cluster.boot(one);
}

/** The number of the newest message of the stream, once there is a leader. */
function lastOf({ connection }: Arena): Promise<number> {
  return untilDone(
    async () => (await new NatsReaderStream(connection, names, systemClock).info()).last,
  );
}

async function purge({ connection }: Arena): Promise<void> {
  const manager = await jetstreamManager(connection);
  await manager.streams.purge(names.events);
}

async function changeStream(
  { connection }: Arena,
  change: { max_bytes: number; discard: DiscardPolicy },
): Promise<void> {
  const manager = await jetstreamManager(connection);
  const { config } = await manager.streams.info(names.events);
  await manager.streams.update(names.events, { ...config, ...change });
}
