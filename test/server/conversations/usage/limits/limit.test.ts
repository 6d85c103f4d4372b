import { expect, it } from 'vitest';
import {
  limitEndOf,
  waitAfter,
} from '../../../../../src/server/conversations/usage/limits/limit.ts';

const NOW = 1_750_000_000_000;
const MINUTE = 60_000;
const reached = { resetsAt: NOW + 5000, resumes: true, fruitless: 0 };

it('A session resumes when the limit resets.', () => {
  expect(waitAfter(reached, NOW)).toEqual({ resumes_at: NOW + 5000, waits_because: null });
});

it('A limit that is reported again at once, or with a time that has passed, waits for a minute at least.', () => {
  expect(limitEndOf({ ...reached, fruitless: 1 }, NOW)).toBe(NOW + MINUTE);
  expect(limitEndOf({ resetsAt: NOW - 1, fruitless: 0 }, NOW)).toBe(NOW + MINUTE);
  expect(limitEndOf({ resetsAt: NOW + 2 * MINUTE, fruitless: 2 }, NOW)).toBe(NOW + 2 * MINUTE);
});

it.for([
  ['it is switched off', { resumes: false }, 'chosen'],
  ['nobody knows when it resets', { resetsAt: null }, 'unknown_reset'],
  ['three turns in a row have met it again at once', { fruitless: 3 }, 'repeated'],
] as const)('A session waits for a person where %s.', ([, more, waits_because]) => {
  expect(waitAfter({ ...reached, ...more }, NOW)).toEqual({ resumes_at: null, waits_because });
});
