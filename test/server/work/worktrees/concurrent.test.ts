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
  testStage,
  withTree,
} from '../../../support/worktrees/work.ts';
import { scaled } from '../../../support/patience.ts';

describe('concurrent worktrees', { timeout: scaled(180_000) }, () => {
  test.for(['at once', 'one after the other'])(
    'Two worktrees at one commit that are released %s both keep the commit and can be restored.',
    async (order) => {
      const { stage, tree: one } = await withTree(testStage(), { worktree_name: 'one' });
      write(one.path, { 'c.txt': 'c\n' });
      const tip = commit(one.path, 'mine');
      const { id } = await openSession(stage.client, stage.repo);
      const two = await create(
        { ...stage, session: id },
        { worktree_name: 'two', base_ref: 'cadre/one' },
      );
      const first = release(stage, one, stage.session);
      if (order !== 'at once') await first;
      await Promise.all([first, release(stage, two, id)]);
      git(stage.repo, 'reflog', 'expire', '--expire=now', '--all');
      git(stage.repo, 'gc', '--quiet', '--prune=now');
      for (const tree of [one, two]) {
        const back = await restore(stage, tree);
        expect(git(back.path, 'rev-parse', 'HEAD')).toBe(tip);
        expect(read(back.path, 'c.txt')).toBe('c\n');
      }
    },
  );

  test('A worktree that is renamed by a restore during its cleanup is cleaned up under the new name.', async () => {
    const { stage, tree: one } = await withTree(testStage(), { worktree_name: 'one' });
    write(one.path, { 'c.txt': 'c\n' });
    await release(stage, one, stage.session);
    const [back, cleanup] = await Promise.all([restore(stage, one, 'other'), cleanUp(stage, one)]);
    expect(back.worktree_name).toBe('other');
    expect(cleanup.worktree.worktree_name).toBe('other');
    expect(cleanup.status).toBe('cleaned');
  });

  test('A worktree with delete_if_clean is removed if another worktree has its commit.', async () => {
    const { stage, tree: one } = await withTree(testStage(), { worktree_name: 'one' });
    const tip = commit(one.path, 'mine');
    const request = { worktree_name: 'two', base_ref: 'cadre/one' };
    const two = await create(stage, { ...request, deletion_policy: 'delete_if_clean' });
    const { cleanup } = await release(stage, two, stage.session);
    expect(cleanup?.status).toBe('cleaned');
    expect(git((await restore(stage, two)).path, 'rev-parse', 'HEAD')).toBe(tip);
  });

  test('Two worktrees with delete_if_clean at one commit that are released at once keep the commit.', async () => {
    const stage = await testStage();
    const deletion_policy = 'delete_if_clean';
    const one = await create(stage, { worktree_name: 'one', deletion_policy });
    const tip = commit(one.path, 'mine');
    const request = { worktree_name: 'two', base_ref: 'cadre/one', deletion_policy };
    const two = await create(stage, request as never);
    const ends = await Promise.all([one, two].map((tree) => release(stage, tree, stage.session)));
    expect(ends.map(({ cleanup }) => cleanup?.status)).toContain('retained_by_policy');
    git(stage.repo, 'reflog', 'expire', '--expire=now', '--all');
    git(stage.repo, 'gc', '--quiet', '--prune=now');
    expect(git(stage.repo, 'cat-file', '-t', tip)).toBe('commit');
  });
});
