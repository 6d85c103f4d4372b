import { expect, test } from 'vitest';
import { Git } from '../../src/worktrees/git.ts';

test('A git command that prints more than can be read as a whole fails, and says the limit', async () => {
  const { signal } = new AbortController();
  const git = new Git({ marker: '', signal, maxOutputBytes: 10 });
  await expect(git.text({ directory: '/' }, ['--version'])).rejects.toThrow(
    'git --version printed more than 10 bytes, which is the limit',
  );
});
