import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import { namesOf } from '../../src/fleet/names.ts';
import { NodeClient } from '../../src/fleet/node-client.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { newUuid } from '../../src/core/lib/ids.ts';
import { withFleet } from '../../test/support/fleet/cluster.ts';
import { startServer } from '../../test/support/server.ts';
import { tempDirectory } from '../../test/support/temp.ts';
import { cpuOf, memoryOf, say, spreadOf } from './measured.ts';

const REQUESTS = 400;
/** How long an idle server is left alone before its memory is read, in ms. */
const REST_MS = 3000;

/** Requests to a node through NATS, and to the same server over HTTP, in alternation, one after the other. */
export async function requests(rounds: number): Promise<void> {
  await withFleet(async (fleet) => {
    await using directory = tempDirectory('bench');
    const server = await startServer(directory.path, { env: memberOf(fleet.urls) });
    const { connection } = fleet;
    const asking = { connection, names: namesOf('test'), user: 'bench', scope: 'admin' } as const;
    const through = new NodeClient({ ...asking, clock: systemClock, newKey: newUuid }, 'n1');
    const ways: [string, Client][] = [
      ['directly', server.client],
      ['through NATS', through],
    ];
    for (const [, caller] of ways) await ask(caller);
    for (let round = 0; round < rounds; round++)
      for (const [way, caller] of round % 2 ? ways.toReversed() : ways) {
        const cpu = cpuOf(server.pid);
        const times = await ask(caller);
        const used = Math.round(((cpuOf(server.pid) - cpu) / REQUESTS) * 1e6);
        say(`requests ${way}`, { request_ms: spreadOf(times), cpu_us_a_request: used });
      }
    await server.end('SIGKILL');
  });
}

async function ask(caller: Client): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < REQUESTS; i++) {
    const sent = performance.now();
    await caller.call(endpoints.listSessions, { query: {} });
    times.push(performance.now() - sent);
  }
  return times;
}

/** Memory of an idle server in a fleet, and of an idle server without a fleet. */
export async function memory(rounds: number): Promise<void> {
  await withFleet(async ({ urls }) => {
    for (let round = 0; round < rounds; round++)
      for (const [what, env] of [
        ['without a fleet', {}],
        ['a member', memberOf(urls)],
      ] as const) {
        await using directory = tempDirectory('bench');
        const server = await startServer(directory.path, { env });
        await systemClock.sleep(REST_MS);
        say(`idle, ${what}`, { mib: memoryOf(server.pid) });
        await server.end('SIGTERM');
      }
  });
}

function memberOf(urls: readonly string[]): Record<string, string> {
  return {
    CADRE_FLEET_URL: urls.join(','),
    CADRE_FLEET_NAME: 'n1',
    CADRE_FLEET_FLEET: 'test',
  };
}
