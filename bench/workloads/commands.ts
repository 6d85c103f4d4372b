import { Ends, runOne, spawnOne } from '../client/commands.ts';
import { cpuMilliseconds, ownCpu } from '../client/process.ts';
import { followNewest } from '../client/stream.ts';
import { together } from '../client/together.ts';
import { withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const CLIENTS = 16;
const FIRST = 50;

/** Short commands, from the request to their end: each is stored and supervised, and its output is kept. */
export const commands = workload({
  about: `the time in which one client and ${CLIENTS} clients run the command \`echo\` as a process of the server, until the event stream reports its end. The baseline starts /bin/sh and reads its output`,
  needs: 'server',
  units: {
    'one, to its end': 'ms',
    [`${CLIENTS} clients`]: '/s',
    [`${CLIENTS} clients, p99`]: 'ms',
    'CPU of a command': 'ms',
  },
  sizes: { short: { alone: 50, many: 400 }, full: { alone: 200, many: 2000 } },
  server: (context, size) =>
    withServer(context, async (server) => {
      const ends = new Ends();
      const stream = await followNewest(server, (frame) => ends.take(frame));
      const run = (command: string) => runOne(server, ends, command);
      const measures = await measure(run, size, () => cpuMilliseconds(server.pid));
      stream.close();
      return measures;
    }),
  bare: (_directory, size) => measure(spawnOne, size, ownCpu),
});

async function measure(
  run: (command: string) => Promise<void>,
  { alone, many }: { alone: number; many: number },
  cpu: () => number,
): Promise<Measures> {
  const echo = (_client: number, n: number) => run(`echo ${n}`);
  await together(1, FIRST, echo);
  const one = await together(1, alone, echo);
  const before = cpu();
  const all = await together(CLIENTS, many, echo);
  return {
    'one, to its end': one.p50,
    [`${CLIENTS} clients`]: all.perSecond,
    [`${CLIENTS} clients, p99`]: all.p99,
    'CPU of a command': (cpu() - before) / many,
  };
}
