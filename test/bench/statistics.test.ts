import { describe, expect, it } from 'vitest';
import { median, quantile, ratios, spread } from '../../bench/report/statistics.ts';

describe('the statistics of the bench', () => {
  it('take the value in the middle, or half way between the two in the middle', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([7])).toBe(7);
  });

  it('find a quantile between two neighbours', () => {
    const values = Array.from({ length: 101 }, (_, n) => n);
    expect(quantile(values, 0.99)).toBe(99);
    expect(quantile([10, 20], 0.25)).toBe(12.5);
    expect(quantile([3, 1, 2], 0)).toBe(1);
    expect(quantile([3, 1, 2], 1)).toBe(3);
  });

  it('say that no values have no median', () => {
    expect(median([])).toBeNaN();
  });

  it('leave the order of what they are given alone', () => {
    const values = [3, 1, 2];
    expect(spread(values)).toEqual({ median: 2, low: 1, high: 3 });
    expect(values).toEqual([3, 1, 2]);
  });

  it('take the ratio in each round, so that a slow moment of the machine does not count', () => {
    // In the second round the machine was three times as slow for both.
    expect(ratios([10, 30, 12], [5, 15, 6])).toEqual({ median: 2, low: 2, high: 2 });
  });

  it('have no ratio to a baseline that is missing or nothing', () => {
    expect(ratios([1, 2], [])).toBeNull();
    expect(ratios([1, 2], [1])).toBeNull();
    expect(ratios([1], [0])).toBeNull();
    expect(ratios([], [])).toBeNull();
  });
});
