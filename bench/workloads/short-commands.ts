import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { endpoints } from '../../src/api/index.ts';
import { startServer } from '../../test/support/server.ts';
import { pair, quantile, type Workload } from '../workload.ts';

const COMMANDS = 600;
const AT_ONCE = 32;

/** Short commands from the request to their end: each is stored and supervised, and its output is kept. */
export const shortCommands: Workload = {
  about: `${COMMANDS} commands, ${AT_ONCE} at once, each until its end is known; bare: spawn of the same shell, its output read`,
  async run(rounds, progress) {
    const cadre: Record<string, number>[] = [];
    const bare: Record<string, number>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
      const server = await startServer(directory, { args: ['--log-level', 'warn'] });
      cadre.push(
        await timed(async (command) => {
          const { process } = await server.client.call(endpoints.createProcess, {
            body: { command },
          });
          const params = { process_id: process.process_id };
          const over = await server.client.call(endpoints.waitForProcess, { params });
          if (over.process.exit_code !== 0) throw new Error(JSON.stringify(over));
        }),
      );
      await server.end('SIGTERM');
      fs.rmSync(directory, { recursive: true });
      bare.push(
        await timed(async (command) => {
          const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
          const [[code]] = await Promise.all([
            once(child, 'exit'),
            text(child.stdout),
            text(child.stderr),
          ]);
          if (code !== 0) throw new Error(`exit code ${code}`);
        }),
      );
      progress(`round ${round} of ${rounds}`);
    }
    return pair(cadre, bare, { 'commands a second': '/s', 'end p50': 'ms', 'end p99': 'ms' });
  },
};

async function timed(runOnce: (command: string) => Promise<void>): Promise<Record<string, number>> {
  const times: number[] = [];
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let n = next++; n < COMMANDS; n = next++) {
        const asked = performance.now();
        await runOnce(`echo ${n}`);
        times.push(performance.now() - asked);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  return {
    'commands a second': COMMANDS / seconds,
    'end p50': quantile(times, 0.5),
    'end p99': quantile(times, 0.99),
  };
}
