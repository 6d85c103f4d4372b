import { describe, expect, it } from 'vitest';
import { compare } from '../../bench/report/compare.ts';
import { aRatio, aResult, aValue } from './results.ts';

/** The verdict on a ratio that was `stored` and is now `now`. */
function verdict(stored: number[], now: number[], unit = 'ms') {
  const [one] = compare([aResult([aRatio(stored, { unit })])], [aResult([aRatio(now, { unit })])]);
  return one?.verdict;
}

describe('the comparison with stored results', () => {
  it('finds a time that is worse by more than 15 %, in each round', () => {
    expect(verdict([1.9, 2, 2.1], [2.3, 2.4, 2.6])).toBe('worse');
  });

  it('takes up to 15 % for the same', () => {
    expect(verdict([2], [2.1, 2.29, 2.5])).toBe('same');
    expect(verdict([2], [2, 1.8, 1.75])).toBe('same');
  });

  it('is not sure where a round was as good as one that is stored', () => {
    expect(verdict([2], [1.9, 2.5, 3])).toBe('unsure');
    expect(verdict([1.5, 2, 2.6], [2.5, 2.6, 3])).toBe('unsure');
  });

  it('finds what is better in each round', () => {
    expect(verdict([1.9, 2, 2.1], [1.2, 1.3, 1.8])).toBe('better');
    expect(verdict([1.7, 2, 2.1], [1.2, 1.3, 1.8])).toBe('same');
  });

  it('knows that more is better where something is counted by the second', () => {
    expect(verdict([0.6], [0.4, 0.45, 0.5], '/s')).toBe('worse');
    expect(verdict([0.6], [0.8, 0.9, 0.95], 'MB/s')).toBe('better');
    expect(verdict([0.6], [0.4, 0.45, 0.65], '/s')).toBe('unsure');
  });

  it('compares megabytes and factors without a baseline as they are, and times not at all', () => {
    const now = (unit: string) =>
      compare([aResult([aValue([90], unit)])], [aResult([aValue([120], unit)])]);
    expect(now('MB')).toMatchObject([
      { verdict: 'worse', stored: 90, change: expect.closeTo(1 / 3) },
    ]);
    expect(now('x')).toMatchObject([{ verdict: 'worse' }]);
    expect(now('ms')).toEqual([]);
  });

  it('leaves out what was not measured before, or in another form', () => {
    const stored = aResult([aRatio([2])]);
    expect(compare([stored], [aResult([aRatio([9], { what: 'new' })])])).toEqual([]);
    expect(compare([stored], [aResult([aRatio([9])], { workload: 'other' })])).toEqual([]);
    expect(compare([stored], [aResult([aRatio([9])], { form: 'full' })])).toEqual([]);
  });
});
