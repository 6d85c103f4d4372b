import { expect, it } from 'vitest';
import { median, quantile, ratios, spread } from '../../bench/report/statistics.ts';

it('The median is the middle value, or the mean of the two middle values.', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(median([7])).toBe(7);
});

it('A quantile is interpolated between two neighbouring values.', () => {
  const values = Array.from({ length: 101 }, (_, n) => n);
  expect(quantile(values, 0.99)).toBe(99);
  expect(quantile([10, 20], 0.25)).toBe(12.5);
  expect(quantile([3, 1, 2], 0)).toBe(1);
  expect(quantile([3, 1, 2], 1)).toBe(3);
});

it('The median of an empty list is not a number.', () => {
  expect(median([])).toBeNaN();
});

it('The spread does not change the order of its values.', () => {
  const values = [3, 1, 2];
  expect(spread(values)).toEqual({ median: 2, low: 1, high: 3 });
  expect(values).toEqual([3, 1, 2]);
});

it('Ratios are taken per round, so that one slow round does not change them.', () => {
  // In the second round the machine was three times as slow for both.
  expect(ratios([10, 30, 12], [5, 15, 6])).toEqual({ median: 2, low: 2, high: 2 });
});

it('A ratio is null if the baseline is missing, incomplete or zero.', () => {
  expect(ratios([1, 2], [])).toBeNull();
  expect(ratios([1, 2], [1])).toBeNull();
  expect(ratios([1], [0])).toBeNull();
  expect(ratios([], [])).toBeNull();
});
