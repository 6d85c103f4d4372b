import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import {
  branches,
  cleanUp,
  commit,
  create,
  git,
  letGo,
  makeRepository,
  read,
  restore,
  sharedWorktreeHarnesses,
  write,
  withTree,
} from '../../../support/worktrees/work.ts';
import { scaled } from '../../../support/patience.ts';

const onShared = sharedWorktreeHarnesses();

/** Each test runs git some hundred times: a busy machine takes its time. */
const LIMIT_MS = 180_000;

describe('a cleanup', { timeout: scaled(LIMIT_MS) }, () => {
  test('A cleanup fails if a removed submodule has commits that no remote has.', async () => {
    const harness = await onShared();
    const library = makeRepository(path.join(harness.directory, 'library'));
    const allow = ['-c', 'protocol.file.allow=always'];
    git(harness.repo, ...allow, 'submodule', '--quiet', 'add', library, 'lib');
    commit(harness.repo, 'with a submodule');
    const tree = await create(harness);
    git(tree.path, ...allow, 'submodule', '--quiet', 'update', '--init');
    const mine = commit(path.join(tree.path, 'lib'), 'mine alone');
    git(tree.path, 'submodule', '--quiet', 'deinit', '--force', 'lib');
    expect(await letGo(harness, tree)).toMatchObject({
      status: 'failed',
      diagnostics: [expect.stringContaining('(lib)')],
    });
    git(tree.path, ...allow, 'submodule', '--quiet', 'update', '--init');
    git(path.join(tree.path, 'lib'), 'push', '--quiet', 'origin', `${mine}:refs/heads/kept`);
    git(path.join(tree.path, 'lib'), 'fetch', '--quiet');
    expect((await cleanUp(harness, tree)).status).toBe('cleaned');
  });

  test('A cleanup deletes a branch whose name is not ASCII.', async () => {
    const { harness, tree } = await withTree(onShared(), { branch_prefix: 'größe' });
    expect(git(harness.repo, 'rev-parse', 'größe/tree')).toBe(tree.base_commit);
    expect(await letGo(harness, tree)).toMatchObject({ status: 'cleaned', deleted_branch: true });
    expect(branches(harness.repo)).toEqual(['main']);
  });

  test(
    'A cleanup that finds locked refs names the remaining branch, and frees the name after the lock.',
    async () => {
      const { harness, tree } = await withTree(onShared());
      const lock = path.join(harness.repo, '.git/packed-refs.lock');
      git(harness.repo, 'pack-refs', '--all');
      fs.writeFileSync(lock, '');
      expect(await letGo(harness, tree)).toMatchObject({
        status: 'cleaned',
        deleted_branch: false,
        diagnostics: [expect.stringContaining('packed-refs.lock')],
      });
      await expect(create(harness)).rejects.toMatchObject(anError('conflict', 'packed-refs.lock'));
      fs.rmSync(lock);
      expect((await create(harness)).created).toBe(true);
      expect(branches(harness.repo)).toEqual(['cadre/tree', 'main']);
    },
    scaled(60_000),
  );
});

describe(
  'a worktree of a repository whose path has a line break',
  { timeout: scaled(LIMIT_MS) },
  () => {
    test('Such a worktree is created, cleaned up and restored like any other.', async () => {
      const harness = await onShared();
      const repo = makeRepository(path.join(harness.directory, 'two\nlines'));
      const tree = await create(harness, { repo_root: repo });
      expect(tree.repo_root).toBe(repo);
      write(tree.path, { mine: 'mine\n' });
      const inner = await create(harness, { repo_root: tree.path, worktree_name: 'inner' });
      expect(inner.repo_root).toBe(repo);
      expect((await letGo(harness, tree)).status).toBe('cleaned');
      expect(read((await restore(harness, tree)).path, 'mine')).toBe('mine\n');
    });
  },
);

describe('a restore', { timeout: scaled(LIMIT_MS) }, () => {
  test('A restore writes the archived bytes and runs no filter.', async () => {
    const harness = await onShared();
    const mark = path.join(harness.directory, 'smudged');
    write(harness.repo, {
      '.gitattributes': '*.up filter=upper\n*.txt text eol=crlf\n',
      'kept.up': 'KEPT\n',
    });
    commit(harness.repo, 'with attributes');
    const tree = await create(harness);
    git(harness.repo, 'config', 'filter.upper.clean', 'tr a-z A-Z');
    git(harness.repo, 'config', 'filter.upper.smudge', `sh -c "touch ${mark}; tr A-Z a-z"`);
    fs.rmSync(path.join(tree.path, 'kept.up'));
    git(tree.path, 'checkout', '--quiet', '--', 'kept.up');
    fs.rmSync(mark);
    // Git calls both files unchanged, though no checkout would write the second one so.
    write(tree.path, { 'a.txt': 'one\n', mine: 'mine\n' });
    expect((await letGo(harness, tree)).status).toBe('cleaned');
    await restore(harness, tree);
    expect(read(tree.path, 'kept.up')).toBe('kept\n');
    expect(read(tree.path, 'a.txt')).toBe('one\n');
    expect(fs.existsSync(mark)).toBe(false);
    expect(git(tree.path, 'status', '--porcelain')).toBe('?? mine');
  });

  test('The restore of a sparse checkout is a sparse checkout.', async () => {
    const harness = await onShared();
    write(harness.repo, { 'in/x': 'x\n', 'out/y': 'y\n' });
    commit(harness.repo, 'more directories');
    const tree = await create(harness);
    git(tree.path, 'sparse-checkout', 'set', 'in');
    write(tree.path, { 'in/new': 'new\n' });
    expect(fs.existsSync(path.join(tree.path, 'out'))).toBe(false);
    expect((await letGo(harness, tree)).status).toBe('cleaned');
    await restore(harness, tree);
    expect(fs.readdirSync(tree.path).toSorted()).toEqual(['.git', 'a.txt', 'in']);
    expect(git(tree.path, 'sparse-checkout', 'list')).toBe('in');
    expect(git(tree.path, 'status', '--porcelain')).toBe('?? in/new');
    git(tree.path, 'sparse-checkout', 'disable');
    expect(read(tree.path, 'out/y')).toBe('y\n');
  });
});
