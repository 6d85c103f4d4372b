import { expect, test } from 'vitest';
import { shownValue } from '../../../src/core/lib/shown-value.ts';

test('A foreign value is shown without a call of its methods.', () => {
  const odd = { toString: 1, valueOf: 'x' };
  expect([shownValue('a "text"'), shownValue(7), shownValue(odd), shownValue(undefined)]).toEqual([
    'a "text"',
    '7',
    '{"toString":1,"valueOf":"x"}',
    'undefined',
  ]);
});
