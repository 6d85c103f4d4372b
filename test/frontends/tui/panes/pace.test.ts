import { expect, test } from 'vitest';
import { RenderThrottle } from '../../../../src/frontends/tui/panes/render-throttle.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

test('A text is shown each time it grows, and now and then where it grows faster than anybody reads.', () => {
  const clock = new ManualClock();
  let shown = 0;
  const pace = new RenderThrottle(clock, () => shown++);
  for (let second = 0; second < 5; second++) {
    pace.grew(500);
    clock.advance(1000);
  }
  expect(shown).toBe(5);
  for (let step = 0; step < 60; step++) {
    pace.grew(5000);
    clock.advance(50);
  }
  expect(shown).toBe(7);
  pace.grew(1);
  pace.now();
  expect(shown).toBe(8);
  clock.advance(5000);
  expect(shown).toBe(8);
});
