import * as fc from 'fast-check';
import { it } from 'vitest';
import { atLength } from '../../../../support/at-length.ts';
import { Model } from './model.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { withHarness } from '../../../../support/sessions/harness.ts';

/** The evening before the clocks of Berlin go forward. */
const START = Date.UTC(2026, 2, 28, 18);

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('turn'), of: fc.nat(2), number: fc.nat(90) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('amend'), of: fc.nat(2), number: fc.nat(90) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('accept'), of: fc.nat(2), number: fc.nat(0) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('decline'), of: fc.nat(2), number: fc.nat(0) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('set'),
      of: fc.nat(2),
      number: fc.integer({ min: 1, max: 300 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      of: fc.nat(0),
      number: fc.integer({ min: 1, max: 20 }),
    }),
  },
);

it('Budgets count the usage of each turn once, and no turn begins while a budget is used up.', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 24 }), (steps) =>
      withHarness(
        async (harness) => {
          const model = await Model.on(harness);
          for (const one of steps) {
            await model.take(one);
            await model.check();
          }
        },
        { clock: new ManualClock(START) },
      ),
    ),
    { numRuns: atLength(4, 80) },
  ));
