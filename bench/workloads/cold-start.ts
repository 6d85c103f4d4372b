import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { selfCommand } from '../../src/lib/self.ts';
import { startServer } from '../../test/support/server.ts';
import { pair, quantile, type Workload } from '../workload.ts';

const STARTS = 15;

/** The time of a command from its start to its end, compared to an empty script in Node. */
export const coldStart: Workload = {
  about: `${STARTS} starts of each a round; bare: the same Node with an empty script`,
  async run(rounds, progress) {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
    const server = await startServer(directory);
    const packaged = path.join(import.meta.dirname, '../../out/cadre');
    const { file, args } = selfCommand();
    const [command, ...self] = fs.existsSync(packaged) ? [packaged] : [file, ...args];
    const cadre: Record<string, number>[] = [];
    const bare: Record<string, number>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const global = [...self, '--data-dir', directory];
      cadre.push({
        '--version': timed(command, [...global, '--version']),
        'sessions list': timed(command, [...global, 'sessions', 'list']),
      });
      const empty = timed(process.execPath, ['-e', '0']);
      bare.push({ '--version': empty, 'sessions list': empty });
      progress(`round ${round} of ${rounds}`);
    }
    await server.end('SIGTERM');
    fs.rmSync(directory, { recursive: true });
    return pair(cadre, bare, { '--version': 'ms', 'sessions list': 'ms' });
  },
};

function timed(command: string, args: string[]): number {
  const times = Array.from({ length: STARTS }, () => {
    const started = performance.now();
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
    return performance.now() - started;
  });
  return quantile(times, 0.5);
}
