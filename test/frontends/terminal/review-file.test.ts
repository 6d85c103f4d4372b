import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ReviewComment } from '../../../src/api/reviews.ts';
import { type Anchor, anchorOf } from '../../../src/core/lib/diff-anchor.ts';
import { readPatches } from '../../../src/core/lib/unified-diff.ts';
import { reviewFile } from '../../../src/frontends/terminal/review-file.ts';
import { aComment, fileChange, numbered } from '../../support/diffs.ts';

const before = numbered(1, 12);
const after = before
  .replace('line 3\n', 'three\n')
  .replace('line 8\n', 'e\u001B[31might \u202Ex\n');
const changes = [fileChange('a.ts', before, after), fileChange('b.ts', 'x\n\ny\n', 'x\n\nz\n')];
const files = readPatches(changes);
const at = (first_line: number, last_line = first_line, path = 'a.ts') =>
  anchorOf(files, { path, side: 'new', first_line, last_line }) as Anchor;
const known = [
  aComment(at(3), 'one'),
  aComment(at(3), 'two\n\nlines'),
  aComment(at(4, 6), '[2] of three'),
];

/** Returns the text with more lines inserted below the first line that equals `line`. */
function below(text: string, line: string, ...added: string[]): string {
  const lines = text.split('\n');
  const i = lines.indexOf(line);
  if (i < 0) throw new Error(`no line ${line} in\n${text}`);
  return lines.toSpliced(i + 1, 0, ...added).join('\n');
}

const open = (comments: readonly ReviewComment[] = []) => reviewFile(changes, comments);

test('The file has the diff with each comment below its last line, and no control characters.', () => {
  const { text } = open(known);
  expect(text).toContain(
    '\n+three\n# one\n#[1] two\n#\n# lines\n line 4\n line 5\n line 6\n#[3] [2] of three\n',
  );
  expect(text).toContain('+e<U+001B>[31might <U+202E>x\n');
  expect(text).not.toMatch(/[\u001B\u202E]/);
});

test('A file that was not changed, or only in blank lines, changes no comment.', () => {
  const { text, read } = open(known);
  const nothing = { add: [], drop: [] };
  expect(read(text)).toEqual(nothing);
  expect(read(text.replaceAll(/[ \t]+$/gm, '').replaceAll('\n', '\r\n'))).toEqual(nothing);
  expect(read(below(text, ' line 9', '', ''))).toEqual(nothing);
});

test('A text below one or several lines becomes a comment on these lines.', () => {
  const { text, read } = open();
  const written = below(
    below(text, '+z', '#[2] both', '#   indented', '# more'),
    '+three',
    '# why?',
    '#[1] and this',
  );
  expect(read(written)).toEqual({
    add: [
      { ...at(3), text: 'why?' },
      { ...at(3), text: 'and this' },
      {
        path: 'b.ts',
        side: 'new',
        first_line: 3,
        last_line: 3,
        lines: ['-y', '+z'],
        text: 'both\n  indented\nmore',
      },
    ],
    drop: [],
  });
});

test('A removed comment is dropped, and a changed comment is replaced.', () => {
  const { text, read } = open(known);
  const changed = text.replace('# one\n', '').replace('# lines', '# LINES');
  expect(read(changed)).toEqual({
    add: [{ ...at(3), text: 'two\n\nLINES' }],
    drop: ['cmt_one', 'cmt_two\n\nlines'],
  });
});

test('A stale comment stays unchanged, and is marked as stale.', () => {
  const stale = aComment({ ...at(3), lines: ['+tree'] }, 'stale');
  const { text, read } = open([stale]);
  expect(text).toContain('# 1 comment is stale');
  expect(text).not.toContain('# stale');
  expect(read(text)).toEqual({ add: [], drop: [] });
});

test.for([
  [
    'a line of the diff that was changed',
    (text: string) => text.replace('+three', '+tree'),
    /^line 12: "\+tree" is not a line of the diff/,
  ],
  [
    'a comment without its mark',
    (text: string) => below(text, '+three', 'why?'),
    /^line 13: "why\?" is not a line/,
  ],
  [
    'a line that is gone',
    (text: string) => text.replace('+z\n', ''),
    /the line "\+z" of the diff is missing/,
  ],
  [
    'a comment on a heading',
    (text: string) => below(text, '+++ b/b.ts', '# why'),
    /this comment is not below a line of a file/,
  ],
  [
    'more lines than there are',
    (text: string) => below(text, ' line 1', '#[2] why'),
    /fewer than 2 lines/,
  ],
  ['no lines', (text: string) => below(text, ' line 1', '#[0] why'), /1 to 200 lines/],
  ['an empty file', () => ' \n', /the review file is empty, so nothing was changed/],
] as const)('The file is refused with the number of the line for %s.', ([, edit, message]) => {
  const { text, read } = open();
  expect(() => read(edit(text))).toThrow(message);
});

test('The file keeps any comments on any lines.', () => {
  const lines = files.flatMap((file) =>
    file.hunks.flatMap((hunk) => hunk.lines.map((_, i) => ({ file, hunk, i }))),
  );
  const word = fc.constantFrom('why', '#', '[3] x', '-a', '', ' b', '\u001B[0m', 'line 4');
  const comment = fc.record({
    line: fc.constantFrom(...lines),
    text: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('\n').trim()),
  });
  fc.assert(
    fc.property(fc.array(comment, { maxLength: 6 }), (wanted) => {
      const comments = wanted.flatMap(({ line: { file, hunk, i }, text }, n) => {
        const number = hunk.lines[i]?.new;
        const anchor =
          typeof number === 'number' && text !== ''
            ? anchorOf(files, {
                path: file.path,
                side: 'new',
                first_line: number,
                last_line: number,
              })
            : null;
        return anchor ? [aComment(anchor, text, { id: `cmt_${n}` })] : [];
      });
      const { text, read } = open(comments);
      expect(read(text)).toEqual({ add: [], drop: [] });
    }),
  );
});
