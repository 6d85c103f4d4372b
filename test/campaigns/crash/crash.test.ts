import { expect, it } from 'vitest';
import { crashCampaign } from './crash.ts';
import { scaled } from '../../support/patience.ts';

/** A few for each change; `make crash` has 200. */
const cycles = Number(process.env.CRASH_CYCLES ?? 3);
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

it(
  'A server that is killed many times loses, repeats and changes no event, and leaves no process behind.',
  { timeout: scaled(30_000 + cycles * 6000) },
  async () => {
    process.stdout.write(`crash campaign: ${cycles} cycles, SEED=${seed}\n`);
    const summary = await crashCampaign({ cycles, seed });
    process.stdout.write(`crash campaign: ${JSON.stringify(summary)}\n`);
    expect(summary.cycles).toBe(cycles);
    // A campaign that did nothing would find nothing.
    expect(summary.turns).toBeGreaterThan(0);
    expect(summary.turnsFailed).toBeGreaterThan(0);
    expect(summary.eventsRead).toBeGreaterThan(summary.differentEvents);
  },
);
