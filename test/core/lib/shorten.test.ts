import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { shorten } from '../../../src/core/lib/shorten.ts';

test('A text is cut between two characters, and then ends with an ellipsis.', () => {
  expect(shorten('abc', 3)).toBe('abc');
  expect(shorten('abcd', 3)).toBe('ab…');
  expect(shorten('ab😀d', 4)).toBe('ab…');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, most) => {
      const cut = shorten(text, most);
      expect(cut.length).toBeLessThanOrEqual(most);
      expect(cut.isWellFormed()).toBe(true);
      if (text.length <= most) expect(cut).toBe(text);
    }),
  );
});
