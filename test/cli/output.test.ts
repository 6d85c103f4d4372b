import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ago, details, plain, shortId, table } from '../../src/cli/output.ts';

describe('plain', () => {
  test.for([
    ['a colour (CSI)', 'a\u001b[31mred\u001b[0mb', 'aredb'],
    ['moves and clears (CSI)', 'a\u001b[2J\u001b[1;1H\u001b[?1049hb', 'ab'],
    ['an 8-bit CSI', 'a\u009b31mb', 'ab'],
    ['a title (OSC 0)', 'a\u001b]0;title\u0007b', 'ab'],
    ['a link (OSC 8)', '\u001b]8;;http://x\u0007text\u001b]8;;\u0007', 'text'],
    ['the clipboard (OSC 52)', 'a\u001b]52;c;aGVsbG8=\u0007b', 'ab'],
    ['carriage return and backspace', 'good\rbad\b\b', 'goodbad'],
    ['NUL, BEL, DEL', 'a\u0000b\u0007c\u007fd', 'abcd'],
    ['single C1 characters', 'a\u0085b\u0090c\u009fd', 'abcd'],
  ] as const)('takes out %s.', ([, text, clean]) => {
    expect(plain(text)).toBe(clean);
  });

  test('leaves no control character of any terminated or unterminated sequence.', () => {
    for (const text of [
      '\u001b]52;c;aGk=',
      '\u001bP1$r\u001b\\',
      '\u001b',
      '\u001b[',
      '\u009d52;c;x\u009c',
      '\u001b\u001b[31m',
      '\u001b[3\u001b[31m1m',
    ]) {
      expect(plain(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }
  });

  test('keeps text, tabs and line ends as they are.', () => {
    const text = 'Zoë’s\tlist\n- 💥 “ü” – [31m is text\n';
    expect(plain(text)).toBe(text);
  });

  test('is idempotent, adds nothing, and leaves nothing that a terminal obeys.', () => {
    const part = fc.constantFrom(
      '\u001b',
      '\u009b',
      '\u001b[',
      '[',
      ']52;c;',
      '\u0007',
      '\u001b\\',
      ';',
      '31',
      'm',
      '\u009d',
      '\u0090',
      'x',
      '\n',
      '\t',
      '💥',
    );
    const text = fc.oneof(
      fc.array(part, { maxLength: 30 }).map((parts) => parts.join('')),
      fc.string({ unit: 'binary', maxLength: 50 }),
    );
    fc.assert(
      fc.property(text, (given) => {
        const clean = plain(given);
        expect(plain(clean)).toBe(clean);
        expect(clean.length).toBeLessThanOrEqual(given.length);
        expect(clean).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a table', () => {
  test('has its columns two spaces apart, and nothing at the end of a line.', () => {
    expect(
      table(
        ['ID', 'STATUS', 'TITLE'],
        [
          ['a', 'ready', ''],
          ['long-id', 'x', 'last one'],
        ],
      ),
    ).toBe('ID       STATUS  TITLE\na        ready\nlong-id  x       last one\n');
  });

  test('keeps a cell on its line, and takes out what a terminal would obey.', () => {
    expect(table(['A', 'B'], [['one\ntwo', '\u001b[31mred']])).toBe('A        B\none two  red\n');
  });

  test('without rows is its heading.', () => {
    expect(table(['A', 'B'], [])).toBe('A  B\n');
  });
});

test('Details are aligned lines: null is a dash, objects are JSON.', () => {
  expect(details({ id: 'x', title: null, usage: { a: 1 }, n: 2, said: '\u001b[31mred' })).toBe(
    'id     x\ntitle  -\nusage  {"a":1}\nn      2\nsaid   red\n',
  );
});

test('A short id is its last 8 characters.', () => {
  expect(shortId('sess_0123456789abcdef')).toBe('89abcdef');
});

test.for([
  [0, '0s'],
  [59_000, '59s'],
  [60_000, '1m'],
  [3_599_000, '59m'],
  [3_600_000, '1h'],
  [86_399_000, '23h'],
  [86_400_000, '1d'],
  [-5000, '0s'],
] as const)('%i ms ago is %s.', ([ms, text]) => {
  expect(ago(1_000_000_000, 1_000_000_000 + ms)).toBe(text);
});
