import { expect, it } from 'vitest';
import { compare } from '../../bench/report/compare.ts';
import { aRatio, aResult, aValue } from './results.ts';

/** The comparison of a ratio that was `stored` and is now `now`. */
function verdict(stored: number[], now: number[], unit = 'ms') {
  const [one] = compare([aResult([aRatio(stored, { unit })])], [aResult([aRatio(now, { unit })])]);
  return one?.verdict;
}

it('A time is worse if its median grew by more than 15 % and each round is slower than each stored round.', () => {
  expect(verdict([1.9, 2, 2.1], [2.3, 2.4, 2.6])).toBe('worse');
});

it('A time is the same if its median changed by at most 15 %.', () => {
  expect(verdict([2], [2.1, 2.29, 2.5])).toBe('same');
  expect(verdict([2], [2, 1.8, 1.75])).toBe('same');
});

it('A time is unsure if its median grew by more than 15 %, but a round is as fast as a stored round.', () => {
  expect(verdict([2], [1.9, 2.5, 3])).toBe('unsure');
  expect(verdict([1.5, 2, 2.6], [2.5, 2.6, 3])).toBe('unsure');
});

it('A time is better if its median fell by more than 15 % and each round is faster than each stored round.', () => {
  expect(verdict([1.9, 2, 2.1], [1.2, 1.3, 1.8])).toBe('better');
  expect(verdict([1.7, 2, 2.1], [1.2, 1.3, 1.8])).toBe('same');
});

it('A rate per second is better if it is higher.', () => {
  expect(verdict([0.6], [0.4, 0.45, 0.5], '/s')).toBe('worse');
  expect(verdict([0.6], [0.8, 0.9, 0.95], 'MB/s')).toBe('better');
  expect(verdict([0.6], [0.4, 0.45, 0.65], '/s')).toBe('unsure');
});

it('Megabytes and factors without a baseline are compared as values, and times without a baseline are not compared.', () => {
  const now = (unit: string) =>
    compare([aResult([aValue([90], unit)])], [aResult([aValue([120], unit)])]);
  expect(now('MB')).toMatchObject([
    { verdict: 'worse', stored: 90, change: expect.closeTo(1 / 3) },
  ]);
  expect(now('x')).toMatchObject([{ verdict: 'worse' }]);
  expect(now('ms')).toEqual([]);
});

it('A figure is left out if no result of the same workload and form is stored.', () => {
  const stored = aResult([aRatio([2])]);
  expect(compare([stored], [aResult([aRatio([9], { what: 'new' })])])).toEqual([]);
  expect(compare([stored], [aResult([aRatio([9])], { workload: 'other' })])).toEqual([]);
  expect(compare([stored], [aResult([aRatio([9])], { form: 'full' })])).toEqual([]);
});
