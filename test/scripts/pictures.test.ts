import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { partsOf, terminalSvg } from '../../scripts/pictures/svg.ts';

const size = { columns: 10, rows: 2, title: 'a <title>' };

test('A picture keeps the styles of a line until a sequence changes them.', () => {
  const parts = partsOf('a\u001b[1;31mb\u001b[22mc\u001b[0md\u001b[38;5;196me\u001b[48;2;1;2;3mf');
  expect(parts.map(({ text, color, isBold }) => [text, color, isBold])).toEqual([
    ['a', null, false],
    ['b', '#e06c75', true],
    ['c', '#e06c75', false],
    ['d', null, false],
    ['e', '#ff0000', false],
    ['f', '#ff0000', false],
  ]);
  expect(parts.at(-1)?.background).toBe('#010203');
});

test('A picture escapes text, and shows it at its column of the terminal.', () => {
  const svg = terminalSvg([{ lines: ['ab\u001b[32m<c>'], shownMs: 1 }], size);
  expect(svg).toContain('aria-label="a &#60;title&#62;"');
  expect(svg).toMatch(/<text x="16.8" [^>]*>&#60;c&#62;<\/text>/);
  expect(svg).not.toContain('@keyframes');
});

test('A picture shows several frames one after the other, each for its time.', () => {
  const frames = ['a', 'b', 'c'].map((line) => ({ lines: [line], shownMs: 1000 }));
  const svg = terminalSvg(frames, size);
  expect(svg).toContain('.f1{animation:f1 3000ms step-end infinite}');
  expect(svg).toMatch(/@keyframes f1\{0%\{opacity:0\}33\.333%\{opacity:1\}66\.667%\{opacity:0\}/);
});

test('Each picture that a page shows exists, and contains no directory of a machine.', () => {
  for (const page of ['README.md', ...globSync('docs/*.md')])
    for (const [, file = ''] of readFileSync(page, 'utf8').matchAll(
      /!\[[^\]]*\]\(([^)]+\.svg)\)/g,
    )) {
      const svg = readFileSync(path.join(path.dirname(page), file), 'utf8');
      expect(svg).toMatch(/^<svg /);
      expect(svg).not.toMatch(/\/(?:tmp|root)\/|\/home\/(?!you\b)/);
    }
});
