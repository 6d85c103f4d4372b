import { describe, test } from 'vitest';
import { expectADayAsKept } from './day/screen.ts';
import { hasPty } from '../support/tui/pty.ts';

const sizes = [
  { rows: 12, columns: 40 },
  { rows: 24, columns: 80 },
  { rows: 60, columns: 200 },
];

describe.skipIf(!hasPty)('a day of work on the screen', () => {
  test.each(sizes)(
    'A screen of $columns x $rows characters shows the stored pictures during a day of work.',
    (size) => expectADayAsKept(size),
  );
});
