import { expect, it } from 'vitest';
import { tempDirectory } from '../support/temp.ts';
import { orphanCampaign } from './orphans.ts';
import { scaled } from '../support/patience.ts';

/** Four are enough for each kind of kill; `make orphans` kills 1,000 times. */
const kills = Number(process.env.ORPHAN_KILLS || 4);
const seed = Number(process.env.SEED || Date.now() % 2 ** 31);

it.for([0, 300])(
  'All processes of a killed server, with or without its keeper, have ended two seconds after reattach_ms = %s.',
  { timeout: scaled(60_000 + kills * 10_000) },
  async (reattachMs) => {
    process.stdout.write(`orphans: ${kills} kills, reattach_ms ${reattachMs}, SEED=${seed}\n`);
    await using place = tempDirectory('orphans');
    const summary = await orphanCampaign({
      directory: place.path,
      kills,
      seed,
      reattachMs,
      onProgress: (sum, done) => {
        if (done % 50 === 0) process.stdout.write(`orphans: ${done}: ${JSON.stringify(sum)}\n`);
      },
    });
    process.stdout.write(`orphans: ${JSON.stringify(summary)}\n`);
    // A campaign in which nothing ran would find nothing.
    expect(summary.seen).toBeGreaterThan(kills * 10);
  },
);
