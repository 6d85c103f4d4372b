import { expect, test } from 'vitest';
import { scaled } from '../../support/patience.ts';
import { type Figures, fuzz, LIMITS } from './runner.ts';
import { targets } from './targets.ts';

/** The inputs of each target: a hundredth of the campaign, unless `make fuzz` says how many. */
const whole = process.env.FUZZ_INPUTS;
const seed = Number(process.env.SEED || Date.now() % 2 ** 31);
const from = Number(process.env.FUZZ_FROM || 0);
const only = process.env.FUZZ_TARGET || null;

const tried = Object.entries(targets).filter(([name]) => only === null || only === name);

test('The campaign has the target that was asked for.', () => {
  process.stdout.write(`fuzz campaign: SEED=${seed}\n`);
  expect(tried).not.toEqual([]);
});

test.for(tried)(
  'The target %s reads or refuses each mutated input, and fails at none.',
  { timeout: scaled(3_600_000) },
  async ([name, { part, load }]) => {
    const inputs = Number(whole || part);
    const { figures, findings } = await fuzz(name, await load(), { seed, inputs, from });
    process.stdout.write(`fuzz ${name}: ${JSON.stringify(figures)}\n`);
    expect(findings.join('\n\n')).toBe('');
    if (whole) expectWithinLimits(figures);
  },
);

function expectWithinLimits({ slowest_ms, largest_growth_mb }: Figures): void {
  expect(slowest_ms).toBeLessThan(scaled(LIMITS.ms));
  expect(largest_growth_mb).toBeLessThan(LIMITS.mb);
}
