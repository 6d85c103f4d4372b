import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../src/api/index.ts';
import { startServer, type TestServer } from '../../test/support/server.ts';
import { startBareTeam } from '../baselines/bare-team.ts';
import { pair, quantile, type Workload } from '../workload.ts';

const MEMBERS = 1000;
const REPEATS = 5;
const IDLE_MS = 2000;
/** How long the prober continues after a response, to measure the work that the request left behind. */
const AFTER_MS = 1000;
const PROBER = path.join(import.meta.dirname, '../baselines/health-prober.ts');

/** The effect of large teams on other clients: the longest wait of a client that only requests `/health`. */
export const largeTeam: Workload = {
  about: `the wait for /health during a broadcast to ${MEMBERS} members (and a second after its response), and while their view is read, ${REPEATS} times each; bare: a server that appends a line for each member, syncs and responds`,
  async run(rounds, progress) {
    const cadre: Record<string, number>[] = [];
    const bare: Record<string, number>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
      // The agents start and do nothing, because only the server is measured.
      const config = `[providers.acp]\ncommand = "sleep"\nargs = ["infinity"]\n`;
      const server = await startServer(directory, { config, args: ['--log-level', 'error'] });
      const requests = await teamOf(server);
      cadre.push(await measure(server.url, requests));
      await server.end('SIGTERM');
      const plain = await startBareTeam(path.join(directory, 'bare.log'), MEMBERS);
      bare.push(
        await measure(plain.url, {
          broadcast: () => fetchAll(`${plain.url}/broadcast`, { method: 'POST' }),
          view: () => fetchAll(`${plain.url}/view`, {}),
        }),
      );
      await plain.end();
      fs.rmSync(directory, { recursive: true });
      progress(`round ${round} of ${rounds}`);
    }
    return pair(cadre, bare, {
      'idle, p99': 'ms',
      'broadcast, longest': 'ms',
      'view, longest': 'ms',
      'broadcast, answer p50': 'ms',
      'view, answer p50': 'ms',
    });
  },
};

interface Requests {
  broadcast: () => Promise<void>;
  view: () => Promise<void>;
}

async function teamOf({ client, url, token, directory }: TestServer): Promise<Requests> {
  const ids: string[] = [];
  for (let n = 0; n < MEMBERS; n++) {
    const body = { provider: 'acp' as const, cwd: directory };
    ids.push((await client.call(endpoints.createSession, { body })).id);
  }
  const [lead = '', ...others] = ids;
  const made = await client.call(endpoints.createTeam, {
    body: { name: 'many', lead_agent_id: lead, member_agent_ids: others },
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const message = { sender_agent_id: lead, input: { type: 'text', text: 'hello, all of you' } };
  const body = JSON.stringify(message);
  const at = `${url}/v1/teams/${made.team.id}`;
  return {
    broadcast: () => fetchAll(`${at}/broadcasts`, { method: 'POST', headers, body }),
    view: () => fetchAll(`${at}/view`, { headers }),
  };
}

async function measure(url: string, requests: Requests): Promise<Record<string, number>> {
  const prober = fork(PROBER, [url]);
  try {
    await pause(IDLE_MS);
    await timesOf(prober);
    await pause(IDLE_MS);
    const idle = await timesOf(prober);
    const broadcast = await during(prober, requests.broadcast, AFTER_MS);
    const view = await during(prober, requests.view, 0);
    return {
      'idle, p99': quantile(idle, 0.99),
      'broadcast, longest': broadcast.longest,
      'view, longest': view.longest,
      'broadcast, answer p50': broadcast.answer,
      'view, answer p50': view.answer,
    };
  } finally {
    prober.disconnect();
    await once(prober, 'exit');
  }
}

async function during(
  prober: ChildProcess,
  request: () => Promise<void>,
  afterMs: number,
): Promise<{ longest: number; answer: number }> {
  await timesOf(prober);
  const answers: number[] = [];
  for (let n = 0; n < REPEATS; n++) {
    const asked = performance.now();
    await request();
    answers.push(performance.now() - asked);
    await pause(afterMs);
  }
  return { longest: Math.max(...(await timesOf(prober))), answer: quantile(answers, 0.5) };
}

async function timesOf(prober: ChildProcess): Promise<number[]> {
  prober.send('times');
  const [times] = (await once(prober, 'message')) as [number[]];
  return times;
}

async function fetchAll(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}
