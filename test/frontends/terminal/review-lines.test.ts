import { expect, test } from 'vitest';
import { type Anchor, anchorOf } from '../../../src/core/lib/diff-anchor.ts';
import { readPatches } from '../../../src/core/lib/unified-diff.ts';
import { rowText, reviewLinesOf } from '../../../src/frontends/terminal/review-lines.ts';
import { colorless, paletteFor, withoutColors } from '../../../src/frontends/terminal/palette.ts';
import { widthOf } from '../../../src/frontends/terminal/width.ts';
import { aComment, fileChange, numbered } from '../../support/diffs.ts';

const before = numbered(1, 9);
const hostile = 'f\u001B]0;title\u0007our\t日本語\u202E '.repeat(30);
const changes = [
  fileChange('a.ts', before, before.replace('line 4\n', `${hostile}\n`)),
  { ...fileChange('b.png', '', ''), patch: null, no_patch: 'binary' as const, additions: null },
];
const diff = { files: changes, is_cut: true, left_out_count: 2 };
const files = readPatches(changes);
const anchor = anchorOf(files, {
  path: 'a.ts',
  side: 'new',
  first_line: 4,
  last_line: 4,
}) as Anchor;
const comments = [
  aComment(anchor, 'why\nnot \u001B[2J'),
  aComment({ ...anchor, first_line: 2, last_line: 2, lines: ['+two'] }, 'stale'),
  aComment({ ...anchor, path: 'gone.ts' }, 'lost'),
];
const look = { left: 0, palette: colorless, isCursor: false, isSelected: false };
const shown = (columns: number, more: object = {}) => {
  const sheet = reviewLinesOf(diff, comments, columns);
  return sheet.rows.map((row) => rowText(sheet, row, { ...look, columns, ...more }));
};

test('The rows have the numbers of both sides, comments below their lines, and stale comments below the name of their file.', () => {
  expect(shown(60)).toEqual([
    ' a.ts  modified  +1 -1',
    '   ! stale: on line 2, changed',
    '   ! stale',
    ' @@ -1,7 +1,7 @@',
    ' 1 1  line 1',
    ' 2 2  line 2',
    ' 3 3  line 3',
    ' 4   -line 4',
    '   4 +f<U+001B>]0;title<U+0007>our    日本語<U+202E> f<U+00…',
    '   ┃ why',
    '   ┃ not <U+001B>[2J',
    ' 5 5  line 5',
    ' 6 6  line 6',
    ' 7 7  line 7',
    ' b.png  modified',
    ' not shown: binary file',
    '   ┃ gone.ts is not shown in the diff',
    '   ┃ lost',
    ' diff too long: the end is not shown; 2 files not read',
  ]);
});

test.for([38, 40, 61, 80])(
  'No row is wider than %i columns or contains a control character, at any scroll position.',
  (columns) => {
    const palette = paletteFor({}, { FORCE_COLOR: '1' });
    for (const left of [0, 1, 8, 33, 400, 5000])
      for (const line of shown(columns, { left, palette, isCursor: true })) {
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
        expect(withoutColors(line)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }
  },
);

test('A split diff shows each added line beside the line that it replaces, and comments below both.', () => {
  const patch = fileChange('a.ts', 'one\ntwo\nthree\n', 'one\n2\n2½ 日本\nthree');
  const split = (columns: number) => {
    const changed = readPatches([patch]);
    const old = { path: 'a.ts', side: 'old', first_line: 2, last_line: 2 } as const;
    const removed = aComment(anchorOf(changed, old) as Anchor, 'why');
    const sheet = reviewLinesOf({ ...diff, files: [patch] }, [removed], columns, true);
    return sheet.rows
      .slice(2, -1)
      .map((row) => rowText(sheet, row, { ...look, columns, isSplit: true }).trimEnd());
  };
  expect(split(43)).toEqual([
    ' 1  one                1  one',
    ' 2 -two                2 +2',
    '   ┃ why',
    ' 3 -three              3 +2½ 日本',
    '                       4 +three',
    '                         \\ No newline at e…',
  ]);
  for (const columns of [20, 43, 160])
    for (const line of split(columns)) expect(widthOf(line)).toBeLessThanOrEqual(columns);
});

test('A long line shows its rest when it is scrolled.', () => {
  const long = 'abcdefghij'.repeat(20);
  const sheet = reviewLinesOf({ ...diff, files: [fileChange('a', '', `${long}\n`)] }, [], 40);
  const row = sheet.rows.find(({ kind }) => kind === 'line');
  const at = (left: number) => row && rowText(sheet, row, { ...look, columns: 20, left });
  expect([at(0), at(8), at(192), at(200)]).toEqual([
    '   1 +abcdefghijabc…',
    '   1 +…jabcdefghija…',
    '   1 +…defghij',
    '   1 +',
  ]);
});
