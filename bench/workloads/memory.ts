import { setTimeout as pause } from 'node:timers/promises';
import { load } from '../client/load.ts';
import { forgetPeak, peakMegabytes, treeMegabytes } from '../client/process.ts';
import { type Server, withBareServer, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

/** A server is idle when this time has passed. */
const REST_MS = 2000;
const CLIENTS = 16;

interface Size {
  processes: number;
  sessions: number;
}

/** The memory of a server and of its helpers. */
export const memory = workload<Size>({
  about:
    'resident memory of the server and its helpers, without agents: idle, after the full form has run 1,000 commands and opened 500 sessions (short: 200 and 100), and the most that the server itself had meanwhile; bare: the minimal HTTP server, which appends as many bodies',
  needs: 'process',
  units: { idle: 'MB', 'after the load': 'MB', busy: 'MB' },
  sizes: {
    short: { processes: 200, sessions: 100 },
    full: { processes: 1000, sessions: 500 },
  },
  server: (stage, size) =>
    withServer(stage, (server) =>
      measure(server, size, { commands: '/v1/processes', sessions: '/v1/sessions' }),
    ),
  bare: (directory, size) =>
    withBareServer(directory, (server) =>
      measure(server, size, { commands: '/append', sessions: '/append' }),
    ),
});

async function measure(
  server: Server,
  { processes, sessions }: Size,
  paths: { commands: string; sessions: string },
): Promise<Measures> {
  await pause(REST_MS);
  const idle = treeMegabytes(server.pid);
  forgetPeak(server.pid);
  const requests = { method: 'POST', clients: CLIENTS } as const;
  const command = JSON.stringify({ command: 'echo hello' });
  const session = JSON.stringify({ provider: 'acp', cwd: '/' });
  await load(server, { ...requests, path: paths.commands, body: command, count: processes });
  await load(server, { ...requests, path: paths.sessions, body: session, count: sessions });
  await pause(REST_MS);
  return {
    idle,
    'after the load': treeMegabytes(server.pid),
    busy: peakMegabytes(server.pid),
  };
}
