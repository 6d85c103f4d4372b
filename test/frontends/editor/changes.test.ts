import { expect, test } from 'vitest';
import { changesIn } from '../../../src/frontends/editor/tool-call.ts';
import { diffDetail } from '../../support/diff-detail.ts';

function changes(before: string | null, after: string | null) {
  const detail = diffDetail('a.txt', before, after);
  return detail.type === 'diff' ? changesIn(detail.diff) : null;
}

test('A diff becomes the old and new texts of the changed parts of a file.', () => {
  expect(changes('a\nb\nc\n', 'a\nB\nc\n')).toEqual([
    { oldText: 'a\nb\nc\n', newText: 'a\nB\nc\n' },
  ]);
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at}`);
  const after = lines.with(1, '-- one').with(38, '@@ last');
  expect(changes(`${lines.join('\n')}\n`, `${after.join('\n')}\n`)).toHaveLength(2);
});

test('A new file, a deleted file and a missing line break at the end are distinguished.', () => {
  expect(changes(null, 'new\n')).toEqual([{ oldText: null, newText: 'new\n' }]);
  expect(changes('old\n', null)).toEqual([{ oldText: 'old\n', newText: '' }]);
  expect(changes('a\nb', 'a\nc\n')).toEqual([{ oldText: 'a\nb', newText: 'a\nc\n' }]);
  expect(changes('a\n', 'a')).toEqual([{ oldText: 'a\n', newText: 'a' }]);
  expect(changes('--- /dev/null\n', 'x\n')).toEqual([
    { oldText: '--- /dev/null\n', newText: 'x\n' },
  ]);
});
