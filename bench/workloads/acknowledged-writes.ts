import { type Address, send } from '../client/http.ts';
import { together } from '../client/together.ts';
import { withBareServer, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

/** One client measures latency, many clients measure throughput. */
const MANY = [16, 64];

interface Size {
  alone: number;
  many: number;
}

/** Clients open sessions: each answer means that the session and its event are on disk. */
export const acknowledgedWrites = workload<Size>({
  about: `the rate at which one client, and ${MANY.join(' and ')} clients, create sessions, each of which is on disk before the response. The baseline appends the same data to a file, with one fdatasync for several clients`,
  needs: 'server',
  units: {
    'one client': 'ms',
    ...Object.fromEntries(MANY.map((clients) => [`${clients} clients`, '/s'])),
    [`${MANY.at(-1)} clients, p99`]: 'ms',
  },
  sizes: { short: { alone: 200, many: 3000 }, full: { alone: 500, many: 10_000 } },
  server: (context, size) =>
    withServer(context, (server) => measure(server, '/v1/sessions', context.directory, size)),
  bare: (directory, size) =>
    withBareServer(directory, (server) => measure(server, '/append', directory, size)),
});

async function measure(
  server: Address,
  path: string,
  cwd: string,
  { alone, many }: Size,
): Promise<Measures> {
  const body = JSON.stringify({ provider: 'acp', cwd, metadata: { about: 'x'.repeat(100) } });
  const run = (clients: number, count: number) =>
    together(clients, count, () => send(server, 'POST', path, body));
  await run(16, many / 4);
  const measures: Measures = { 'one client': (await run(1, alone)).p50 };
  for (const clients of MANY) {
    const { perSecond, p99 } = await run(clients, many);
    measures[`${clients} clients`] = perSecond;
    measures[`${clients} clients, p99`] = p99;
  }
  return measures;
}
