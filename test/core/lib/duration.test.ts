import { expect, test } from 'vitest';
import { parseDuration } from '../../../src/core/lib/duration.ts';

test.for<[text: string, ms: number | null]>([
  ['250ms', 250],
  ['10s', 10_000],
  ['5m', 300_000],
  ['2h', 7_200_000],
  ['7d', 604_800_000],
  ['1w', 604_800_000],
  ['1h30m', 5_400_000],
  ['1d12h', 129_600_000],
  ['0s', 0],
  ['10', null],
  ['', null],
  ['1h 30m', null],
  ['30m1h', null],
  ['1h1h', null],
  ['-5m', null],
  ['1.5h', null],
  ['1y', null],
])('The duration "%s" has %s milliseconds.', ([text, ms]) => {
  expect(parseDuration(text)).toBe(ms);
});
