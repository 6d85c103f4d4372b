import { expect, test } from 'vitest';
import { valueText } from '../../../src/core/lib/value-text.ts';

test('A foreign value is shown without a call of its methods.', () => {
  const odd = { toString: 1, valueOf: 'x' };
  expect([valueText('a "text"'), valueText(7), valueText(odd), valueText(undefined)]).toEqual([
    'a "text"',
    '7',
    '{"toString":1,"valueOf":"x"}',
    'undefined',
  ]);
});
