import { endpoints } from '../../src/api/index.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { withFleet } from '../../test/support/fleet/cluster.ts';
import { startServer, type TestServer } from '../../test/support/server.ts';
import { tempDirectory } from '../../test/support/temp.ts';
import { Lags } from './lags.ts';
import { cpuOf, memoryOf, say, spreadOf } from './measured.ts';

const SECONDS = 10;
/** So many servers start at the same time. */
const AT_ONCE = 4;

/** So many servers with the demo agent, which together make so many events a second, on a cluster of three. */
export async function manyNodes(count: number, perSecond: number): Promise<void> {
  await withFleet(
    async (fleet) => {
      await using undo = new AsyncDisposableStack();
      const servers: TestServer[] = [];
      const start = async (i: number) => {
        const directory = undo.use(tempDirectory('bench'));
        const server = await startServer(directory.path, {
          env: {
            CADRE_FLEET_URL: fleet.urls.join(','),
            CADRE_FLEET_NAME: `node${String(i).padStart(2, '0')}`,
            CADRE_FLEET_FLEET: 'test',
          },
        });
        undo.defer(() => server.end('SIGKILL').then(() => undefined));
        servers.push(server);
      };
      for (let i = 1; i <= count; i += AT_ONCE)
        await Promise.all(
          Array.from({ length: Math.min(AT_ONCE, count - i + 1) }, (_, k) => start(i + k)),
        );
      await using lags = new Lags(fleet);
      const over = new AbortController();
      const talks = servers.map((server) =>
        talk(server, (perSecond / count) | 0 || 1, over.signal),
      );
      await systemClock.sleep(4000);
      lags.take();
      const natsServers = fleet.cluster.servers.map(
        ({ process: natsProcess }) => natsProcess?.pid ?? 0,
      );
      const pids = [...natsServers, ...servers.map(({ pid }) => pid)];
      const before = pids.map(cpuOf);
      await systemClock.sleep(SECONDS * 1000);
      const shares = pids.map((pid, i) => (cpuOf(pid) - (before[i] ?? 0)) / SECONDS);
      const taken = lags.take();
      const share = (part: number[]) => part.map((one) => Math.round(one * 100) / 100);
      say(`${count} nodes`, {
        events_a_second: Math.round(taken.length / SECONDS),
        lag_ms: spreadOf(taken),
        nodes_seen: lags.newest.size,
        engine_cpu: share(shares.slice(0, 3)),
        engine_mib: natsServers.map(memoryOf),
        servers_cpu: share([shares.slice(3).reduce((sum, one) => sum + one, 0)])[0],
      });
      over.abort();
      await Promise.all(talks);
    },
    { servers: 3 },
  );
}

/** Has the demo agent speak, with about so many events a second. */
async function talk({ client }: TestServer, perSecond: number, signal: AbortSignal): Promise<void> {
  const { id } = await client.call(endpoints.createSession, { body: { provider: 'acp' } });
  const text = `repeat ${perSecond * 2} ${Math.round(1000 / perSecond)} tick; say done`;
  while (!signal.aborted) {
    await client
      .call(endpoints.sendTurn, {
        params: { session_id: id },
        body: { input: [{ type: 'text', text }] },
      })
      .catch(() => undefined);
    await systemClock.sleep(500, signal).catch(() => undefined);
  }
}
