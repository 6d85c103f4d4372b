import { setTimeout as pause } from 'node:timers/promises';
import { fill } from '../client/fill.ts';
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
  events: number;
}

/** The memory of a server and of its helpers. */
export const memory = workload<Size>({
  about:
    'the resident memory of the server and its helper processes, without agents. The row `after the load` is measured after commands and new sessions (full: 1,000 and 500, short: 200 and 100). The row `busy` is the peak memory of the server while eight agents use tools without a pause (full: 50,000 events, short: 10,000). The baseline is a minimal HTTP server, which writes the same number of requests to a file. The second baseline, in the row `idle`, is a server that only loads the libraries of cadre',
  needs: 'process',
  servers: ['libraries'],
  units: { idle: 'MB', 'after the load': 'MB', busy: 'MB' },
  sizes: {
    short: { processes: 200, sessions: 100, events: 10_000 },
    full: { processes: 1000, sessions: 500, events: 50_000 },
  },
  server: (context, size) =>
    withServer(context, async (server) =>
      context.subject.name === 'libraries'
        ? { idle: await idleMegabytes(server) }
        : measure(server, size, {
            commands: '/v1/processes',
            sessions: '/v1/sessions',
            busy: () => fill(server, context.directory, size.events),
          }),
    ),
  bare: (directory, size) =>
    withBareServer(directory, (server) =>
      measure(server, size, {
        commands: '/append',
        sessions: '/append',
        busy: () => post(server, '/append', { text: 'x'.repeat(400) }, size.events),
      }),
    ),
});

interface Work {
  commands: string;
  sessions: string;
  busy: () => Promise<unknown>;
}

async function measure(
  server: Server,
  { processes, sessions }: Size,
  work: Work,
): Promise<Measures> {
  const idle = await idleMegabytes(server);
  await post(server, work.commands, { command: 'echo hello' }, processes);
  await post(server, work.sessions, { provider: 'acp', cwd: '/' }, sessions);
  await pause(REST_MS);
  const loaded = treeMegabytes(server.pid);
  forgetPeak(server.pid);
  await work.busy();
  return { idle, 'after the load': loaded, busy: peakMegabytes(server.pid) };
}

async function idleMegabytes({ pid }: Server): Promise<number> {
  await pause(REST_MS);
  return treeMegabytes(pid);
}

function post(server: Server, path: string, body: object, count: number): Promise<unknown> {
  const text = JSON.stringify(body);
  return load(server, { method: 'POST', path, body: text, clients: CLIENTS, count });
}
