import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { startServer } from '../../test/support/server.ts';
import { pair, quantile, type Workload } from '../workload.ts';
import { startBareAppend } from '../baselines/bare-append.ts';

const CLIENTS = 64;
const REQUESTS = 6000;

/** Many clients open sessions at once: each response means that the session and its event are on disk. */
export const acknowledgedWrites: Workload = {
  about: `${REQUESTS} POSTs by ${CLIENTS} clients, each on disk before its response; bare: append to a file, with group commit`,
  async run(rounds, progress) {
    const cadre: Record<string, number>[] = [];
    const bare: Record<string, number>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
      const server = await startServer(directory, { args: ['--log-level', 'warn'] });
      const body = JSON.stringify({ provider: 'acp', cwd: directory, title: 'x'.repeat(100) });
      cadre.push(await load(`${server.url}/v1/sessions`, server.token, body));
      await server.end('SIGTERM');
      const plain = await startBareAppend(path.join(directory, 'bare.log'));
      bare.push(await load(plain.url, 'none', body));
      await plain.end();
      fs.rmSync(directory, { recursive: true });
      progress(`round ${round} of ${rounds}`);
    }
    return pair(cadre, bare, { 'requests a second': '/s', 'answer p50': 'ms', 'answer p99': 'ms' });
  },
};

async function load(url: string, token: string, body: string): Promise<Record<string, number>> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS });
  const post = () => postOnce(agent, url, token, body);
  await Promise.all(Array.from({ length: CLIENTS }, post));
  const times: number[] = [];
  let left = REQUESTS;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (left-- > 0) {
        const sent = performance.now();
        await post();
        times.push(performance.now() - sent);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  return {
    'requests a second': REQUESTS / seconds,
    'answer p50': quantile(times, 0.5),
    'answer p99': quantile(times, 0.99),
  };
}

function postOnce(agent: http.Agent, url: string, token: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      if (response.statusCode === 200) response.once('end', resolve);
      else reject(new Error(`${url} answered ${response.statusCode}`));
    });
    request.once('error', reject);
    request.end(body);
  });
}
