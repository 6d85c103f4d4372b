import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { plain, plainAfter, revealed } from '../../../src/core/lib/plain.ts';
import { hasUnsafe, text } from './texts.ts';

/** Returns the plain text of a text that arrives in pieces. */
function inPieces(pieces: readonly string[]): string {
  return pieces.map((piece, at) => plainAfter(pieces.slice(0, at).join(''), piece)).join('');
}

test.each([
  ['a colour (CSI)', 'a\u001b[31mred\u001b[0mb', 'aredb'],
  ['moves and clears (CSI)', 'a\u001b[2J\u001b[1;1H\u001b[?1049hb', 'ab'],
  ['an 8-bit CSI', 'a\u009b31mb', 'ab'],
  ['a title (OSC 0)', 'a\u001b]0;title\u0007b', 'ab'],
  ['a link (OSC 8)', '\u001b]8;;http://x\u0007text\u001b]8;;\u0007', 'text'],
  ['the clipboard (OSC 52)', 'a\u001b]52;c;aGVsbG8=\u001b\\b', 'ab'],
  ['a character set and a reset', '\u001b(Btext\u001bc', 'text'],
  ['an image (DCS)', '\u001bPq#0;2\u001b\\text', 'text'],
  ['the escape of a sequence without an end', '\u001b]0;a\u001b]0;b\u0007c', '0;ac'],
  ['carriage return and backspace', 'good\rbad\b\b', 'goodbad'],
  ['NUL, BEL, DEL', 'a\u0000b\u0007c\u007fd', 'abcd'],
  ['single C1 characters', 'a\u0085b\u0090c\u009fd', 'abcd'],
])('A plain text has no %s.', (_name, given, clean) => {
  expect(plain(given)).toBe(clean);
});

test('A plain text keeps words, tabs and line breaks.', () => {
  const kept = 'Zoë’s\tlist\n- 💥 “ü” – 漢字 [31m is text\n';
  expect(plain(kept)).toBe(kept);
});

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

test('A plain text is stable, and never contains a control, bidi or format character outside an emoji.', () => {
  fc.assert(
    fc.property(text, (given) => {
      const clean = plain(given);
      expect(hasUnsafe(clean)).toBe(false);
      expect(plain(clean)).toBe(clean);
      expect(clean.length).toBeLessThanOrEqual(given.length);
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
