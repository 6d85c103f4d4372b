import { namesOf } from '../../src/fleet/names.ts';
import { NatsMirrorStream } from '../../src/fleet/nats-mirror-stream.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { withFleet } from '../../test/support/fleet/cluster.ts';
import { append, startMirror } from '../../test/support/fleet/mirroring.ts';
import { withStore } from '../../test/support/memory-store.ts';
import { say } from './measured.ts';

/** How fast a mirror writes what had happened while it did not run, such as a day without NATS. */
export async function catchUp(events: number, replicas: 1 | 3): Promise<void> {
  await withFleet(
    ({ connection }) =>
      withStore(async (store) => {
        for (let left = events; left > 0; left -= 1000) await append(store, Math.min(left, 1000));
        const stream = new NatsMirrorStream(connection, namesOf('test'), 'n1');
        const done = Promise.withResolvers<void>();
        let first: { at: number; cpu: NodeJS.CpuUsage; seq: number } | undefined;
        await using _mirror = startMirror(store, stream, {
          clock: systemClock,
          onPublished(entries) {
            const seq = entries.at(-1)?.seq ?? 0;
            first ??= { at: performance.now(), cpu: process.cpuUsage(), seq };
            if (seq === store.db.durableSeq) done.resolve();
          },
        });
        await done.promise;
        if (!first) throw new Error('nothing was written');
        const seconds = (performance.now() - first.at) / 1000;
        const { user, system } = process.cpuUsage(first.cpu);
        const count = store.db.durableSeq - first.seq;
        say(`catch-up, ${replicas} copies`, {
          events: count,
          events_a_second: Math.round(count / seconds),
          cpu_us_an_event: Math.round(((user + system) / count) * 10) / 10,
        });
      }),
    { servers: replicas },
  );
}
