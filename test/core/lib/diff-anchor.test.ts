import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Anchor,
  anchorIn,
  anchorOf,
  locateAnchor,
  anchorStateOf,
} from '../../../src/core/lib/diff-anchor.ts';
import { type DiffFile, readPatches } from '../../../src/core/lib/unified-diff.ts';
import { fileChange, numbered } from '../../support/diffs.ts';

const filesOf = (before: string, after: string) => readPatches([fileChange('a.ts', before, after)]);
const before = numbered(1, 30);
const after = before.replace('line 10\n', 'ten\nand more\n').replace('line 25\n', '');
const at = (first_line: number, last_line = first_line, side: 'new' | 'old' = 'new') =>
  anchorOf(filesOf(before, after), { path: 'a.ts', side, first_line, last_line });

test('Each line of a patch has its mark and its numbers before and after the change.', () => {
  const [file] = filesOf(before, after);
  const [first, second] = file?.hunks ?? [];
  expect(first?.lines.slice(2, 7)).toEqual([
    { mark: ' ', old: 9, new: 9, text: 'line 9' },
    { mark: '-', old: 10, new: null, text: 'line 10' },
    { mark: '+', old: null, new: 10, text: 'ten' },
    { mark: '+', old: null, new: 11, text: 'and more' },
    { mark: ' ', old: 11, new: 12, text: 'line 11' },
  ]);
  expect(second?.lines[3]).toEqual({ mark: '-', old: 25, new: null, text: 'line 25' });
});

test('A patch is read by the counts of its hunks, so that a line like a heading is a line.', () => {
  const [file] = filesOf('-- a/x\n@@ -1 +1 @@\nend', '++ b/x\n@@ -1 +1 @@\nend\n');
  expect(file?.hunks.map(({ lines }) => lines.map(({ mark, text }) => mark + text))).toEqual([
    ['--- a/x', '+++ b/x', ' @@ -1 +1 @@', '-end', '\\ No newline at end of file', '+end'],
  ]);
});

test('A patch that is cut has the lines that exist, and a text that is not a patch has none.', () => {
  const patches = ['', 'Binary files differ\n', '@@ -1,9 +1,9 @@\n one\n-two'];
  const read = readPatches(patches.map((patch) => ({ path: 'a', old_path: null, patch })));
  expect(read.map(({ hunks }) => hunks.map(({ lines }) => lines.length))).toEqual([[], [], [2]]);
});

test('The lines of a patch are the numbered lines of its two texts.', () => {
  const line = fc.constantFrom('', 'a', '-b', '+c', ' d', '@@ -1 +1 @@', '\\ e', '--- f');
  const text = fc
    .array(line, { maxLength: 12 })
    .map((lines) => lines.map((one) => `${one}\n`).join(''));
  fc.assert(
    fc.property(text, text, (one, other) => {
      const [file] = filesOf(one, other);
      const [left, right] = [one.split('\n'), other.split('\n')];
      for (const shown of (file?.hunks ?? []).flatMap(({ lines }) => lines)) {
        if (shown.old !== null) expect(shown.text).toBe(left[shown.old - 1]);
        if (shown.new !== null) expect(shown.text).toBe(right[shown.new - 1]);
      }
    }),
  );
});

test('An anchor has its lines with their marks, including the lines of the other side.', () => {
  expect(at(9, 12)).toEqual({
    path: 'a.ts',
    side: 'new',
    first_line: 9,
    last_line: 12,
    lines: [' line 9', '-line 10', '+ten', '+and more', ' line 11'],
  });
  expect(at(25, 25, 'old')?.lines).toEqual(['-line 25']);
});

test('There is no anchor for lines that the diff does not show in one hunk.', () => {
  expect([at(1), at(12, 24), at(12, 11), at(10, 10, 'old')?.lines]).toEqual([
    null,
    null,
    null,
    ['-line 10'],
  ]);
  expect(anchorOf([], { path: 'a.ts', side: 'new', first_line: 1, last_line: 1 })).toBeNull();
});

test('An anchor is current, moved, changed or gone, and only a current one has a location.', () => {
  const anchor = at(10, 11) as Anchor;
  const states = [
    after,
    `zero\n${after}`,
    after.replace('and more', 'and less'),
    `${after}ten\nand more\n`.replace('ten\n', 'TEN\n'),
    before.replace('line 1\n', ''),
  ].map((text) => {
    const files = filesOf(before, text);
    return [anchorStateOf(anchor, files), locateAnchor(anchor, files) !== null];
  });
  expect(states).toEqual([
    [{ state: 'current', found_at: null }, true],
    [{ state: 'moved', found_at: 11 }, false],
    [{ state: 'changed', found_at: null }, false],
    [{ state: 'moved', found_at: 31 }, false],
    [{ state: 'changed', found_at: null }, false],
  ]);
  expect(anchorStateOf(anchor, [])).toEqual({ state: 'gone', found_at: null });
});

test('An anchor is unknown if the diff does not show its file, or not all files.', () => {
  const anchor = at(10) as Anchor;
  const unknown = { state: 'unknown', found_at: null };
  expect(anchorStateOf(anchor, [], { isCut: true })).toEqual(unknown);
  expect(
    anchorStateOf(anchor, readPatches([{ path: 'a.ts', old_path: null, patch: null }])),
  ).toEqual(unknown);
});

test('An anchor whose lines occur in several other places counts as changed.', () => {
  const text = '{\n}\n';
  const files = filesOf('', text.repeat(3));
  const anchor: Anchor = {
    path: 'a.ts',
    side: 'new',
    first_line: 9,
    last_line: 9,
    lines: ['+}'],
  };
  expect(anchorStateOf(anchor, files)).toEqual({ state: 'changed', found_at: null });
});

test('An anchor of a removed line in a renamed file is found by either name.', () => {
  const [file] = filesOf(before, after) as [DiffFile];
  const renamed = [{ ...file, path: 'b.ts', old_path: 'a.ts' }];
  const removed = { side: 'old' as const, first_line: 25, last_line: 25 };
  expect(anchorOf(renamed, { path: 'a.ts', ...removed })?.path).toBe('b.ts');
  expect(anchorStateOf({ path: 'a.ts', ...removed, lines: ['-line 25'] }, renamed).state).toBe(
    'current',
  );
});

test('The anchor of any lines of a hunk is located at these lines.', () => {
  const files = filesOf(before, after);
  const [file] = files as [DiffFile];
  for (const hunk of file.hunks)
    for (const from of hunk.lines.keys())
      for (let to = from; to < hunk.lines.length; to += 1) {
        const anchor = anchorIn(file, hunk, from, to) as Anchor;
        expect(locateAnchor(anchor, files)).toEqual({ file, hunk, from, to });
      }
});

test('An anchor of a very long line has the beginning of the line, and is found by it.', () => {
  const long = `${'x'.repeat(5000)}\n`;
  const files = filesOf('', long);
  const anchor = anchorOf(files, { path: 'a.ts', side: 'new', first_line: 1, last_line: 1 });
  expect(anchor?.lines[0]).toHaveLength(1000);
  expect(anchorStateOf(anchor as Anchor, files).state).toBe('current');
});
