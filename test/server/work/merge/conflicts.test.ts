import { expect, test } from 'vitest';
import type { Git } from '../../../../src/server/work/git/git.ts';
import { GitFailure } from '../../../../src/server/work/git/git-failure.ts';
import { mergeCommits } from '../../../../src/server/work/merge/commits.ts';

/** Git that reports conflicts in this output. */
function gitWithConflicts(fields: readonly string[]): Git {
  const failure = new GitFailure(1, 'conflicts');
  failure.output = fields.join('\0');
  return { bytes: () => Promise.reject(failure) } as unknown as Git;
}

const conflict = ['1', 'a', 'CONFLICT (contents)', 'CONFLICT (contents): in a\n'];

test('The messages of git name the kind of each conflict.', async () => {
  const git = gitWithConflicts(['tree', 'a', 'b', '', ...conflict, '']);
  const { conflicts } = await mergeCommits(git, { ours: 'x', theirs: 'y' });
  expect(conflicts.map(({ path, kind }) => [path, kind])).toEqual([
    ['a', 'contents'],
    ['b', 'contents'],
  ]);
});

test.for(['-3', 'NaN', ''])(
  'The count %o of paths ends the reading of the messages, and the conflicts stay.',
  async (count) => {
    const git = gitWithConflicts(['tree', 'a', '', count, 'a', 'CONFLICT (binary)', 'text', '']);
    const { conflicts } = await mergeCommits(git, { ours: 'x', theirs: 'y' });
    expect(conflicts.map(({ path }) => path)).toEqual(['a']);
  },
);
