import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrowingMarkdown } from '../../../src/frontends/terminal/growing-markdown.ts';
import { markdownLines } from '../../../src/frontends/terminal/markdown.ts';
import { colorless } from '../../../src/frontends/terminal/palette.ts';
import { widthOf } from '../../../src/frontends/terminal/width.ts';
import { atLength } from '../../support/at-length.ts';
import { colors, columns, hasUnsafe, markdown, withoutColors } from './texts.ts';

const shape = { columns: 50, palette: colorless };

/** Returns the lines of a text that arrives in pieces. */
function grow(text: string, piece: number): string[] {
  const growing = new GrowingMarkdown();
  let lines: string[] = [];
  for (let end = piece; end < text.length + piece; end += piece)
    lines = growing.lines(text.slice(0, end), shape);
  return lines;
}

test.each([
  ['paragraphs', 'some words of a text. '.repeat(20).concat('\n\n').repeat(10)],
  ['a long paragraph', 'words and more words '.repeat(500)],
  ['one long word', 'tick'.repeat(2000)],
  ['code', `before\n\n\`\`\`ts\n${'const a = "line";\n'.repeat(400)}\`\`\`\n\nafter`],
  ['a list', 'first:\n\n'.concat('- an item of some words\n'.repeat(300))],
  ['a numbered list', Array.from({ length: 300 }, (_, i) => `${i + 1}. item ${i}`).join('\n')],
  ['lines', 'a short line\n'.repeat(600)],
])('A streaming text has the same lines as the complete text: %s.', (_name, text) => {
  expect(grow(text, 97)).toEqual(markdownLines(text, shape));
});

test('A streaming text is rendered again if its start or the terminal changes.', () => {
  const growing = new GrowingMarkdown();
  growing.lines('one\n\ntwo\n\nthree', shape);
  expect(growing.lines('other', shape)).toEqual(['other']);
  expect(growing.lines('other\n\nword word', { ...shape, columns: 5 })).toEqual([
    'other',
    '',
    'word',
    'word',
  ]);
});

test('No line of a streaming text is wider than the terminal or contains a control character.', () => {
  fc.assert(
    fc.property(fc.array(markdown), columns, (pieces, wide) => {
      const growing = new GrowingMarkdown();
      let text = '';
      for (const piece of pieces) {
        text += piece;
        const lines = growing.lines(text, { columns: wide, palette: colors });
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(wide);
        expect(hasUnsafe(lines.map(withoutColors).join('\n'))).toBe(false);
      }
    }),
    { numRuns: atLength(25, 100, 100) },
  );
});
