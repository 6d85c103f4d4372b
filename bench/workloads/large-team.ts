import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Address, ask, createSession, send } from '../client/http.ts';
import { quantile } from '../report/statistics.ts';
import { withBareServer, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const IDLE_MS = 1000;
/** Time that the prober continues after a response, for the work that the request leaves behind. */
const AFTER_MS = 1000;
/** Size of a member in the view, for the baseline. */
const MEMBER_BYTES = 400;
const PROBER = path.join(import.meta.dirname, '../baselines/health-prober.ts');

interface Size {
  members: number;
  repeats: number;
}

/** Cost of a large team for other clients: the longest wait of a client that only requests `/health`. */
export const largeTeam = workload<Size>({
  about:
    'the longest response time of /health while the server sends a message to all members of a team (full: 1,000 members, short: 100), and while a client reads the team. The baseline is a minimal HTTP server, which writes a line for each member to a file',
  needs: 'process',
  units: {
    'idle, p99': 'ms',
    'broadcast, longest wait': 'ms',
    'broadcast, answer': 'ms',
    'view, longest wait': 'ms',
    'view, answer': 'ms',
  },
  sizes: { short: { members: 100, repeats: 2 }, full: { members: 1000, repeats: 5 } },
  server: (context, { members, repeats }) =>
    withServer(
      context,
      async (server) => {
        const ids: string[] = [];
        for (let n = 0; n < members; n++) ids.push(await createSession(server, context.directory));
        const [lead = '', ...others] = ids;
        const body = { name: 'many', lead_agent_id: lead, member_agent_ids: others };
        const { team } = await ask<{ team: { id: string } }>(server, 'POST', '/v1/teams', body);
        const message = { sender_agent_id: lead, input: { type: 'text', text: 'hello' } };
        return measure(server.url, repeats, {
          broadcast: () => ask(server, 'POST', `/v1/teams/${team.id}/broadcasts`, message),
          view: () => ask(server, 'GET', `/v1/teams/${team.id}/view`),
        });
      },
      { agent: 'silent' },
    ),
  bare: (directory, { members, repeats }) =>
    withBareServer(directory, (server) => measure(server.url, repeats, requests(server, members))),
});

interface Requests {
  broadcast: () => Promise<unknown>;
  view: () => Promise<unknown>;
}

function requests(server: Address, members: number): Requests {
  const lines = `${'x'.repeat(MEMBER_BYTES)}\n`.repeat(members);
  return {
    broadcast: () => send(server, 'POST', '/append', lines),
    view: () => ask(server, 'GET', `/bytes?n=${members * MEMBER_BYTES}`),
  };
}

async function measure(url: string, repeats: number, requests: Requests): Promise<Measures> {
  const prober = fork(PROBER, [url]);
  try {
    await pause(IDLE_MS);
    await timesOf(prober);
    await pause(IDLE_MS);
    const idle = await timesOf(prober);
    const broadcast = await during(prober, repeats, requests.broadcast, AFTER_MS);
    const view = await during(prober, repeats, requests.view, 0);
    return {
      'idle, p99': quantile(idle, 0.99),
      'broadcast, longest wait': broadcast.longest,
      'broadcast, answer': broadcast.answer,
      'view, longest wait': view.longest,
      'view, answer': view.answer,
    };
  } finally {
    prober.disconnect();
    await once(prober, 'exit');
  }
}

async function during(
  prober: ChildProcess,
  repeats: number,
  request: () => Promise<unknown>,
  afterMs: number,
): Promise<{ longest: number; answer: number }> {
  await timesOf(prober);
  const answers: number[] = [];
  for (let n = 0; n < repeats; n++) {
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
