import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { scaled } from '../../support/patience.ts';

/** The number of kills: `make faults` has 1,000. */
const kills = Number(process.env.FAULT_KILLS || 0) || 3;
const seed = process.env.SEED ?? String(Date.now() % 2 ** 31);

it(
  'Servers that are killed, stopped and starved while all features run lose and repeat nothing.',
  { timeout: scaled(180_000 + kills * 6000) },
  async () => {
    process.stdout.write(`faults campaign: ${kills} kills, SEED=${seed}\n`);
    const program = path.join(import.meta.dirname, 'faults.main.ts');
    // The campaign needs a mount namespace of its own.
    const { SERVER_NODE_OPTIONS: _, ...env } = process.env;
    const child = spawn(process.execPath, [program, String(kills), seed], { env });
    const [printed, said, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    process.stdout.write(printed);
    expect(said).toBe('');
    expect(code).toBe(0);
    const summary = JSON.parse(printed.trim().split('\n').at(-1) ?? '') as Summary;
    // A campaign that did nothing would find nothing.
    expect(summary.killsInAll).toBeGreaterThanOrEqual(kills);
    expect(summary.acknowledged).toBeGreaterThan(summary.runs);
  },
);

interface Summary {
  runs: number;
  killsInAll: number;
  acknowledged: number;
}
