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
/** How long after an answer the work that follows from it is watched. */
const AFTER_MS = 1000;
const PROBER = path.join(import.meta.dirname, '../baselines/health-prober.ts');

/** What large teams do to everybody else: the longest wait of a client that only asks for `/health`. */
export const largeTeam: Workload = {
  about: `the wait for /health while ${MEMBERS} members are broadcast to (a second after the answer included), and while their view is read, ${REPEATS} times each; bare: a server that appends a line a member, syncs and answers`,
  async run(rounds, progress) {
    const cadre: Record<string, number>[] = [];
    const bare: Record<string, number>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
      // Agents that start and say nothing: what is measured is the server, not them.
      const config = `[providers.acp]\ncommand = "sleep"\nargs = ["infinity"]\n`;
      const server = await startServer(directory, { config, args: ['--log-level', 'error'] });
      const requests = await teamOf(server);
      cadre.push(await measure(server.url, requests));
      await server.end('SIGTERM');
      const plain = await startBareTeam(path.join(directory, 'bare.log'), MEMBERS);
      bare.push(
        await measure(plain.url, {
          broadcast: () => taken(`${plain.url}/broadcast`, { method: 'POST' }),
          view: () => taken(`${plain.url}/view`, {}),
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
  const said = { sender_agent_id: lead, input: { type: 'text', text: 'hello, all of you' } };
  const body = JSON.stringify(said);
  const at = `${url}/v1/teams/${made.team.id}`;
  return {
    broadcast: () => taken(`${at}/broadcasts`, { method: 'POST', headers, body }),
    view: () => taken(`${at}/view`, { headers }),
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

async function taken(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}
