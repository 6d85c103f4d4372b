import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { plain } from '../../../src/core/lib/plain.ts';
import { padded, truncated, widthOf, wrapped } from '../../../src/frontends/terminal/width.ts';
import { colors, columns, text, withoutColors } from './texts.ts';

const line = text.map((given) => plain(given).replaceAll(/\s/g, ' '));

test('A wide character has two columns, and a combining character none.', () => {
  expect(widthOf('漢字')).toBe(4);
  expect(widthOf('e\u0301')).toBe(1);
  expect(widthOf('\u{1f468}\u200d\u{1f469}\u200d\u{1f467}')).toBe(2);
  expect(widthOf(colors.bad('red'))).toBe(3);
});

test('A text that is too wide is cut with an ellipsis, and is never wider than the limit.', () => {
  expect(truncated('a long line', 6)).toBe('a lon…');
  expect(truncated('漢字漢字', 4)).toBe('漢…');
  expect(truncated('short', 5)).toBe('short');
  expect(truncated('any', 0)).toBe('');
  fc.assert(
    fc.property(line, columns, (given, wide) => {
      expect(widthOf(truncated(given, wide))).toBeLessThanOrEqual(wide);
    }),
  );
});

test('A padded text has exactly the given width.', () => {
  expect(padded('漢字', 6)).toBe('漢字  ');
  fc.assert(
    fc.property(line, columns, (given, wide) => {
      expect(widthOf(padded(given, wide))).toBe(wide);
    }),
  );
});

test('A text is wrapped at spaces, long words are broken, and nothing is lost.', () => {
  expect(wrapped('one two three', 8)).toEqual(['one two ', 'three']);
  expect(wrapped('one two three', 8, { trims: true })).toEqual(['one two', 'three']);
  expect(wrapped('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  expect(wrapped('a\n\n  b', 9)).toEqual(['a', '', '  b']);
  fc.assert(
    fc.property(text.map(plain), columns, (given, wide) => {
      const lines = wrapped(given, wide);
      for (const one of lines) expect(widthOf(one)).toBeLessThanOrEqual(wide);
      const kept = (all: string) => all.replaceAll(/\s/g, '').normalize();
      expect(kept(lines.join(''))).toBe(kept(given));
    }),
  );
});

test('A wrapped text keeps its colours on each line.', () => {
  const lines = wrapped(colors.bad('one two\nthree'), 4, { trims: true });
  expect(lines.map(withoutColors)).toEqual(['one', 'two', 'thre', 'e']);
  for (const one of lines) expect(one).toMatch(/^\u001b\[31m.*\u001b\[39m$/);
});
