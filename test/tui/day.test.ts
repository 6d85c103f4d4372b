import { describe, test } from 'vitest';
import { expectADayAsKept } from '../support/tui/day.ts';
import { hasPty } from '../support/tui/pty.ts';

// Other sizes are those of test/campaigns/day.
describe.skipIf(!hasPty)('a day of work', () => {
  test('keeps what is shown on 80 columns of 24 lines.', () =>
    expectADayAsKept({ rows: 24, columns: 80 }));
});
