import { describe, expect, test } from 'vitest';
import { openSession } from '../../../support/turns.ts';
import {
  cleanUp,
  commit,
  create,
  git,
  read,
  release,
  restore,
  write,
  testWorktreeHarness,
  withTree,
} from '../../../support/worktrees/work.ts';
import { scaled } from '../../../support/patience.ts';

describe('concurrent worktrees', { timeout: scaled(180_000) }, () => {
  test.for(['at once', 'one after the other'])(
    'Two worktrees at one commit that are released %s both keep the commit and can be restored.',
    async (order) => {
      const { harness, tree: one } = await withTree(testWorktreeHarness(), {
        worktree_name: 'one',
      });
      write(one.path, { 'c.txt': 'c\n' });
      const tip = commit(one.path, 'mine');
      const { id } = await openSession(harness.client, harness.repo);
      const two = await create(
        { ...harness, session: id },
        { worktree_name: 'two', base_ref: 'cadre/one' },
      );
      const first = release(harness, one, harness.session);
      if (order !== 'at once') await first;
      await Promise.all([first, release(harness, two, id)]);
      git(harness.repo, 'reflog', 'expire', '--expire=now', '--all');
      git(harness.repo, 'gc', '--quiet', '--prune=now');
      for (const tree of [one, two]) {
        const back = await restore(harness, tree);
        expect(git(back.path, 'rev-parse', 'HEAD')).toBe(tip);
        expect(read(back.path, 'c.txt')).toBe('c\n');
      }
    },
  );

  test('A worktree that is renamed by a restore during its cleanup is cleaned up under the new name.', async () => {
    const { harness, tree: one } = await withTree(testWorktreeHarness(), { worktree_name: 'one' });
    write(one.path, { 'c.txt': 'c\n' });
    await release(harness, one, harness.session);
    const [back, cleanup] = await Promise.all([
      restore(harness, one, 'other'),
      cleanUp(harness, one),
    ]);
    expect(back.worktree_name).toBe('other');
    expect(cleanup.worktree.worktree_name).toBe('other');
    expect(cleanup.status).toBe('cleaned');
  });

  test('A worktree with delete_if_clean is removed if another worktree has its commit.', async () => {
    const { harness, tree: one } = await withTree(testWorktreeHarness(), { worktree_name: 'one' });
    const tip = commit(one.path, 'mine');
    const request = { worktree_name: 'two', base_ref: 'cadre/one' };
    const two = await create(harness, { ...request, deletion_policy: 'delete_if_clean' });
    const { cleanup } = await release(harness, two, harness.session);
    expect(cleanup?.status).toBe('cleaned');
    expect(git((await restore(harness, two)).path, 'rev-parse', 'HEAD')).toBe(tip);
  });

  test('Two worktrees with delete_if_clean at one commit that are released at once keep the commit.', async () => {
    const harness = await testWorktreeHarness();
    const deletion_policy = 'delete_if_clean';
    const one = await create(harness, { worktree_name: 'one', deletion_policy });
    const tip = commit(one.path, 'mine');
    const request = { worktree_name: 'two', base_ref: 'cadre/one', deletion_policy };
    const two = await create(harness, request as never);
    const ends = await Promise.all(
      [one, two].map((tree) => release(harness, tree, harness.session)),
    );
    expect(ends.map(({ cleanup }) => cleanup?.status)).toContain('retained_by_policy');
    git(harness.repo, 'reflog', 'expire', '--expire=now', '--all');
    git(harness.repo, 'gc', '--quiet', '--prune=now');
    expect(git(harness.repo, 'cat-file', '-t', tip)).toBe('commit');
  });
});
