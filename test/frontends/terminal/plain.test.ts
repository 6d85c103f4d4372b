import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plain, plainAfter, revealed } from '../../../src/core/lib/plain.ts';
import { hasUnsafe, text } from './texts.ts';

/** Returns the plain text of a text that arrives in pieces. */
function inPieces(pieces: readonly string[]): string {
  return pieces.map((piece, at) => plainAfter(pieces.slice(0, at).join(''), piece)).join('');
}

describe('a text for a terminal', () => {
  test('A plain text has no bidi overrides and no zero-width characters.', () => {
    expect(plain('safe \u202e\u2066gnp.exe\u2069 \u200btail\u200d\ufeff\u00ad')).toBe(
      'safe gnp.exe tail',
    );
    expect(plain('tag\u{e0061}\u{e007f} se\ufe0flector \u2028line\u2029')).toBe(
      'tag selector \nline\n',
    );
    expect(plain('half \ud800 a pair')).toBe('half \ufffd a pair');
  });

  test.each([
    ['a family', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'],
    ['a heart that is an emoji', '\u2764\ufe0f'],
    ['a keycap', '1\ufe0f\u20e3'],
    ['a flag of a region', '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
    ['a skin colour', '\u{1f44d}\u{1f3fd}'],
    ['a flag on a pole', '\u{1f3f3}\ufe0f\u200d\u{1f308}'],
  ])('A plain text keeps the invisible characters within an emoji: %s.', (_name, emoji) => {
    expect(plain(`a ${emoji} b`)).toBe(`a ${emoji} b`);
    expect(revealed(emoji)).toBe(emoji);
    expect(plain(`${emoji}\u200d`)).toBe(emoji);
    // The result is the same for a text in pieces.
    expect(inPieces(Array.from(`a ${emoji} b`))).toBe(`a ${emoji} b`);
    for (let at = 0; at <= emoji.length; at++)
      if (emoji.slice(0, at).isWellFormed())
        expect(inPieces([emoji.slice(0, at), emoji.slice(at)])).toBe(emoji);
  });

  test('A plain text never contains a control, bidi or format character outside an emoji.', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(hasUnsafe(plain(given))).toBe(false);
      }),
    );
  });

  test('A text in pieces never contains such a character either.', () => {
    expect(inPieces(['a\u200d', '\u200db', '\ufe0f', '\u{e007f}c'])).toBe('abc');
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (given) => {
        expect(hasUnsafe(inPieces(given))).toBe(false);
      }),
    );
  });

  test('A revealed text has every such character as its code point.', () => {
    expect(revealed('rm \u202efoo\u0007\r\n\u001b[8m\tend')).toBe(
      'rm <U+202E>foo<U+0007><U+000D>\n<U+001B>[8m\tend',
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(hasUnsafe(revealed(given))).toBe(false);
        const back = revealed(given).replaceAll(/<U\+([0-9A-F]{4,6})>/g, (_all, code: string) =>
          String.fromCodePoint(Number.parseInt(code, 16)),
        );
        if (!given.includes('<U+')) expect(back).toBe(given.toWellFormed());
      }),
    );
  });
});
