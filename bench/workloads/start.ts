import fs from 'node:fs';
import path from 'node:path';
import { cpuMilliseconds } from '../client/process.ts';
import { median } from '../report/statistics.ts';
import { type Server, withBareServer, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

/** The time from starting a server until `/health` answers. */
export const start = workload({
  about:
    'the time from the start of the program until /health responds, with a new and with a used data directory. The baseline is a minimal HTTP server. The second baseline is a server that only loads the libraries of cadre',
  needs: 'process',
  servers: ['libraries'],
  units: { 'new directory': 'ms', 'used directory': 'ms', 'CPU, new directory': 'ms' },
  sizes: { short: { starts: 3 }, full: { starts: 10 } },
  server: (context, { starts }) =>
    measure(context.directory, starts, (at, use) => withServer({ ...context, directory: at }, use)),
  bare: (directory, { starts }) => measure(directory, starts, withBareServer),
});

async function measure(
  directory: string,
  starts: number,
  run: (at: string, use: (server: Server) => Promise<void>) => Promise<void>,
): Promise<Measures> {
  const times = { fresh: [] as number[], used: [] as number[], cpu: [] as number[] };
  for (let n = 0; n < starts; n++) {
    const at = path.join(directory, String(n));
    await run(at, async ({ startedIn, pid }) => {
      times.fresh.push(startedIn);
      times.cpu.push(cpuMilliseconds(pid));
    });
    await run(at, async ({ startedIn }) => void times.used.push(startedIn));
    fs.rmSync(at, { recursive: true });
  }
  return {
    'new directory': median(times.fresh),
    'used directory': median(times.used),
    'CPU, new directory': median(times.cpu),
  };
}
