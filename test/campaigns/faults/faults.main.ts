import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { canMount } from '../../support/small-disk.ts';
import { AppError } from '../../../src/api/errors.ts';
import { Campaign } from './campaign.ts';

/** `make faults N=1000 [SEED=7] [MINUTES=60]`; STEPS=1 prints each step. It runs in a mount namespace of its own, so that its disk can be full. */
const IN_NAMESPACE = 'CAMPAIGN_IN_NAMESPACE';

if (canMount && process.env[IN_NAMESPACE] === undefined) {
  const again = ['-rm', process.execPath, import.meta.filename, ...process.argv.slice(2)];
  const { status } = spawnSync('unshare', again, {
    stdio: 'inherit',
    env: { ...process.env, [IN_NAMESPACE]: 'yes' },
  });
  process.exitCode = status ?? 1;
} else await main();

async function main(): Promise<void> {
  const kills = wholeNumber(process.argv[2] ?? process.env.N, 1000);
  const minutes = wholeNumber(process.env.MINUTES, 1e6);
  const seed = wholeNumber(process.argv[3] ?? process.env.SEED, Date.now() % 2 ** 31);
  const place = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'faults-')));
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  let shown = 0;
  process.stdout.write(`faults campaign: ${kills} kills, seed ${seed}\n`);
  if (!canMount) process.stdout.write('no disk can be mounted: faults of disks are left out\n');
  try {
    const summary = await Campaign.run({
      kills,
      seed,
      endsAt: started + minutes * 60_000,
      place,
      canMount,
      onStep(step) {
        if (process.env.STEPS) process.stdout.write(`${seconds()} s: ${step}\n`);
      },
      onProgress(summary) {
        const { runs, killsInAll } = summary as { runs: number; killsInAll: number };
        if (runs % 10 !== 0 || runs === shown) return;
        shown = runs;
        process.stdout.write(`  ${runs} runs, ${killsInAll} kills in ${seconds()} s\n`);
      },
    });
    process.stdout.write(
      `nothing was lost\n${JSON.stringify({ seed, seconds: seconds(), ...summary })}\n`,
    );
  } catch (error) {
    const kept = path.join(import.meta.dirname, '../../../out', `faults-${seed}`);
    fs.rmSync(kept, { recursive: true, force: true });
    fs.cpSync(place, kept, { recursive: true });
    const { message, cause } = error as Error;
    process.stderr.write(`faults campaign of seed ${seed} failed: ${message}\n`);
    if (cause instanceof AppError) process.stderr.write(`${cause.stack}\n`);
    process.stderr.write(`its files are in ${kept}\n`);
    process.exitCode = 1;
  }
  if (canMount) spawnSync('umount', ['--lazy', path.join(place, 'disk')]);
  fs.rmSync(place, { recursive: true, force: true });
  // An activity may still wait for a server.
  process.exit();
}

function wholeNumber(text: string | undefined, fallback: number): number {
  if (text === undefined || text === '') return fallback;
  if (!/^\d{1,10}$/.test(text))
    throw new Error(`"${text}" is not a whole number: faults.main.ts [N] [SEED]`);
  return Number(text);
}
