import { expect, test } from 'vitest';
import { ago, durationText } from '../../../src/frontends/terminal/time.ts';

test('The time since something is one unit, rounded down.', () => {
  const hour = 3_600_000;
  expect([-5, 0, 59_999, 60_000, hour - 1, 25 * hour, 400 * 24 * hour].map(ago)).toEqual([
    '0s',
    '0s',
    '59s',
    '1m',
    '59m',
    '1d',
    '400d',
  ]);
});

test('A length of time is two units, without those that are 0.', () => {
  const hour = 3_600_000;
  expect([0, 250, 1000, 62_000, 120_000, hour + 5000, 26 * hour].map(durationText)).toEqual([
    '0ms',
    '250ms',
    '1s',
    '1m 2s',
    '2m',
    '1h',
    '1d 2h',
  ]);
});
