import { endpoints } from '../../src/api/index.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { type TestFleet, withFleet } from '../../test/support/fleet/cluster.ts';
import { startServer, type TestServer } from '../../test/support/server.ts';
import { tempDirectory } from '../../test/support/temp.ts';
import { Lags } from './lags.ts';
import { cpuOf, say, spreadOf } from './measured.ts';

const SECONDS = 4;
const RATES = [20, 200, 600];
const TURNS = 150;

/** Acknowledged writes and turns of a server with its mirror, and of one without, in alternation. */
export async function withAndWithout(
  rounds: number,
  parts: readonly ('writes' | 'turns')[],
): Promise<void> {
  await withFleet(
    async (fleet) => {
      await using directories = new AsyncDisposableStack();
      const servers: Record<string, TestServer> = {};
      for (const mirror of ['with', 'without']) {
        const directory = directories.use(tempDirectory('bench'));
        const server = await startServer(directory.path, {
          env: {
            CADRE_FLEET_URL: fleet.urls.join(','),
            CADRE_FLEET_NAME: mirror,
            CADRE_FLEET_FLEET: 'test',
            CADRE_FLEET_MIRROR: String(mirror === 'with'),
          },
        });
        directories.defer(() => server.end('SIGKILL').then(() => undefined));
        servers[mirror] = server;
        await write(server, 100, 2);
        await turns(server, TURNS);
      }
      if (parts.includes('writes')) await writes(servers, fleet, rounds);
      if (!parts.includes('turns')) return;
      // Nobody reads meanwhile, since that would take the time of who measures.
      for (let round = 0; round < rounds; round++)
        for (const [mirror, server] of inTurn(servers, round)) {
          const cpu = cpuOf(server.pid);
          const times = await turns(server, TURNS);
          const used = Math.round(((cpuOf(server.pid) - cpu) / TURNS) * 1e6);
          say(`turns, ${mirror} mirror`, { turn_ms: spreadOf(times), cpu_us_a_turn: used });
        }
    },
    { servers: 1 },
  );
}

async function writes(
  servers: Record<string, TestServer>,
  fleet: TestFleet,
  rounds: number,
): Promise<void> {
  await using lags = new Lags(fleet);
  for (const rate of RATES)
    for (let round = 0; round < rounds; round++)
      for (const [mirror, server] of inTurn(servers, round)) {
        await systemClock.sleep(300);
        lags.take();
        const cpu = cpuOf(server.pid);
        const times = await write(server, rate, SECONDS);
        const used = ((cpuOf(server.pid) - cpu) / times.length) * 1e6;
        await systemClock.sleep(300);
        const lag = mirror === 'with' ? { lag_ms: spreadOf(lags.take()) } : {};
        const about = { write_ms: spreadOf(times), cpu_us_an_event: Math.round(used) };
        say(`${rate}/s, ${mirror} mirror`, { ...about, ...lag });
      }
}

/** The servers, another one first each time. */
function inTurn(servers: Record<string, TestServer>, round: number): [string, TestServer][] {
  const all = Object.entries(servers);
  return round % 2 ? all.toReversed() : all;
}

/** Makes sessions at a pace, one event each; returns how long each took to be acknowledged, in ms. */
async function write({ client }: TestServer, rate: number, seconds: number): Promise<number[]> {
  const began = performance.now();
  const times: number[] = [];
  const open: Promise<void>[] = [];
  for (let i = 0; i < rate * seconds; i++) {
    const wait = began + (i * 1000) / rate - performance.now();
    if (wait > 0) await systemClock.sleep(wait);
    const sent = performance.now();
    open.push(
      client
        .call(endpoints.createSession, { body: { provider: 'acp' } })
        .then(() => void times.push(performance.now() - sent)),
    );
    if (open.length > 64) await open.shift();
  }
  await Promise.all(open);
  return times;
}

/** Sends turns, one after the other; returns how long each took, from the request to its end on a stream, in ms. */
async function turns({ client }: TestServer, count: number): Promise<number[]> {
  const { id } = await client.call(endpoints.createSession, { body: { provider: 'acp' } });
  const over = new AbortController();
  const ends = streamEvents({
    client,
    clock: systemClock,
    sessionId: id,
    kinds: ['turn.completed'],
    signal: over.signal,
  });
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const sent = performance.now();
    await client.call(endpoints.sendTurn, {
      params: { session_id: id },
      body: { input: [{ type: 'text', text: 'say done' }] },
    });
    await ends.next();
    times.push(performance.now() - sent);
  }
  over.abort();
  return times;
}
