import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeBlocks, markdownLines } from '../../../src/frontends/terminal/markdown.ts';
import { colorless } from '../../../src/frontends/terminal/palette.ts';
import { widthOf } from '../../../src/frontends/terminal/width.ts';
import { colors, columns, hasUnsafe, markdown, withoutColors } from './texts.ts';

const shape = { columns: 40, palette: colorless };

test('Markdown has headings, lists, tasks, quotes, code and rules.', () => {
  const text = `# Plan

Do **this** and \`that\`,
then see [the page](http://x.y/z) or http://a.b.

1. first
2. second
   - inner
   - other

- [x] done
- [ ] open

> a quote
> of two lines

\`\`\`ts
const a = 1;
  indented();
\`\`\`

---
end`;
  expect(markdownLines(text, shape)).toEqual([
    'Plan',
    '',
    'Do this and `that`,',
    'then see the page (http://x.y/z) or',
    'http://a.b.',
    '',
    '1. first',
    '2. second',
    '   • inner',
    '   • other',
    '',
    '[x] done',
    '[ ] open',
    '',
    '│ a quote',
    '│ of two lines',
    '',
    '  const a = 1;',
    '    indented();',
    '',
    '─'.repeat(40),
    '',
    'end',
  ]);
});

test('Tables are aligned; wide tables are wrapped, or printed as lists.', () => {
  const table = '| name | what |\n|---|---|\n| 漢字 | two wide letters |\n| b | c |';
  expect(markdownLines(table, shape)).toEqual([
    'name  what',
    '────  ────────────────',
    '漢字  two wide letters',
    'b     c',
  ]);
  expect(markdownLines('| n | mid | x |\n|--:|:-:|---|\n| 100 | a | b |', shape)).toEqual([
    '  n  mid  x',
    '───  ───  ─',
    '100   a   b',
  ]);
  expect(markdownLines(table, { ...shape, columns: 17 })).toEqual([
    'name  what',
    '────  ───────────',
    '漢字  two wide',
    '      letters',
    'b     c',
  ]);
  // The rows of a streaming table come later.
  expect(markdownLines('| name | what |\n|---|---|', { ...shape, columns: 9 })).toEqual([
    'name',
    'what',
  ]);
  expect(markdownLines(table, { ...shape, columns: 9 })).toEqual([
    'name:',
    '漢字',
    'what: two',
    'wide',
    'letters',
    '',
    'name: b',
    'what: c',
  ]);
});

test('Code has colours if its language is known.', () => {
  const [line] = markdownLines('```js\nconst a = "b"; // c\n```', { ...shape, palette: colors });
  expect(line).toContain(colors.keyword('const'));
  expect(withoutColors(line ?? '')).toBe('  const a = "b"; // c');
  const [plainLine] = markdownLines('```nonsense\nconst\n```', { ...shape, palette: colors });
  expect(plainLine).toBe(`  ${colors.code('const')}`);
});

test('The code of a text can be copied, also within lists and quotes.', () => {
  const text = 'here:\n```sh\nnpm test\n```\n- item\n  ```\n  in a list\n  ```\n> ```\n> quoted';
  expect(codeBlocks(text)).toEqual(['npm test', 'in a list', 'quoted']);
});

test('No line of Markdown is wider than the terminal or contains a control character.', () => {
  fc.assert(
    fc.property(markdown, columns, (text, wide) => {
      const lines = markdownLines(text, { columns: wide, palette: colors });
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(wide);
      expect(hasUnsafe(lines.map(withoutColors).join('\n'))).toBe(false);
    }),
  );
});

test('Markdown that takes very long to parse is shown unchanged.', () => {
  const marks = '*a_'.repeat(7000);
  expect(markdownLines(`# Title\n\n${marks}`, shape).slice(2).join('')).toBe(marks);
  const long = `# ${'word '.repeat(50_000)}`;
  expect(markdownLines(long, shape)[0]).toBe('# word word word word word word word');
});

test('Markdown that is nested too deeply is shown unchanged.', () => {
  const lines = markdownLines('>'.repeat(20_000), shape);
  expect(lines.join('').length).toBeGreaterThan(0);
});
