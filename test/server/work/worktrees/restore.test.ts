import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import { openSession } from '../../../support/turns.ts';
import {
  branches,
  cleanUp,
  close,
  commit,
  create,
  get,
  git,
  headOf,
  kindsOf,
  letGo,
  read,
  release,
  restore,
  sharedWorktreeHarnesses,
  type WorktreeHarness,
  trustAll,
  write,
  testWorktreeHarness,
  withTree,
} from '../../../support/worktrees/work.ts';

const onShared = sharedWorktreeHarnesses();

/** Returns the git status and the content of all files. */
function stateOf(directory: string): Record<string, string> {
  const files = git(directory, 'ls-files', '--cached', '--others', '--exclude-standard', '-z');
  const contents = [...new Set(files.split('\0').filter(Boolean))].map((name) => {
    const stat = fs.lstatSync(path.join(directory, name), { throwIfNoEntry: false });
    const content = stat?.isSymbolicLink()
      ? `-> ${fs.readlinkSync(path.join(directory, name))}`
      : stat?.isFile()
        ? `${(stat.mode & 0o111) !== 0 ? 'x' : '-'} ${read(directory, name)}`
        : 'none';
    return [name, content] as const;
  });
  return {
    ...Object.fromEntries(contents),
    ' status': git(directory, 'status', '--porcelain=v2', '--untracked-files=all'),
    ' head': headOf(directory),
  };
}

/** Does some work in a worktree; it is cleaned up, restored, and is as it was. */
async function expectBack(
  harness: WorktreeHarness,
  work: (place: string) => void,
): Promise<string> {
  const tree = await create(harness);
  work(tree.path);
  const before = stateOf(tree.path);
  const cleaned = await letGo(harness, tree);
  expect(cleaned).toMatchObject({ status: 'cleaned', deleted_path: true, deleted_branch: true });
  expect(cleaned.archive_ref).toBe(`refs/cadre/archive/${tree.id}`);
  expect([fs.existsSync(tree.path), branches(harness.repo)]).toEqual([false, ['main']]);
  const back = await restore(harness, tree);
  expect(back).toMatchObject({ id: tree.id, path: tree.path, status: 'retained' });
  expect(stateOf(tree.path)).toEqual(before);
  return tree.path;
}

/** Work of which nothing may be lost, as people and agents leave it. */
const works: Record<string, (place: string) => void> = {
  'commits on the branch': (place) => {
    write(place, { 'c.txt': 'c\n' });
    commit(place, 'one');
    write(place, { 'd.txt': 'd\n' });
    commit(place, 'two');
  },
  'a changed, a removed, a moved and an untracked file': (place) => {
    write(place, { 'a.txt': 'changed\n', 'new/deep/c.txt': 'c\n' });
    fs.renameSync(path.join(place, 'sub/b.txt'), path.join(place, 'b.txt'));
  },
  'what is staged, and something else beneath it': (place) => {
    write(place, { 'a.txt': 'staged\n', 'c.txt': 'staged too\n' });
    git(place, 'add', '--all');
    git(place, 'rm', '--quiet', '--cached', 'sub/b.txt');
    write(place, { 'a.txt': 'not staged\n' });
    fs.rmSync(path.join(place, 'c.txt'));
  },
  'modes and links': (place) => {
    fs.chmodSync(path.join(place, 'a.txt'), 0o755);
    fs.symlinkSync('a.txt', path.join(place, 'link'));
    fs.symlinkSync('/nowhere at all', path.join(place, 'broken'));
    fs.symlinkSync('sub', path.join(place, 'to-directory'));
    write(place, { tool: '#!/bin/sh\n' });
    fs.chmodSync(path.join(place, 'tool'), 0o755);
  },
  'a directory where a file was, and a link where a directory was': (place) => {
    fs.rmSync(path.join(place, 'a.txt'));
    write(place, { 'a.txt/inside': 'x' });
    fs.renameSync(path.join(place, 'sub'), path.join(place, 'moved'));
    fs.symlinkSync('moved', path.join(place, 'sub'));
  },
  'names of odd characters': (place) => {
    const names = ['with space', 'new\nline', '"quoted"', 'back\\slash', '-dash', 'ünï', ':(top)x'];
    write(place, Object.fromEntries(names.map((name) => [name, name])));
    write(place, { ' lead': 'x', 'tab\there': 'y', 'star*': 'z', '#hash': 'h', '!bang': 'b' });
  },
  'no file at all': (place) => {
    for (const name of ['a.txt', 'sub']) fs.rmSync(path.join(place, name), { recursive: true });
  },
  'empty and binary files': (place) => {
    write(place, {
      empty: '',
      binary: Buffer.from(Array.from({ length: 999 }, (_, n) => n % 256)),
    });
  },
  'a detached HEAD with a commit that no branch has': (place) => {
    git(place, 'checkout', '--quiet', '--detach');
    write(place, { 'c.txt': 'c\n' });
    commit(place, 'detached');
  },
  'a merge with conflicts': (place) => {
    write(place, { 'a.txt': 'ours\n', 'c.txt': 'ours\n' });
    commit(place, 'ours');
    git(place, 'checkout', '--quiet', '-b', 'theirs', 'HEAD~1');
    write(place, { 'a.txt': 'theirs\n', 'c.txt': 'theirs\n' });
    fs.rmSync(path.join(place, 'sub/b.txt'));
    commit(place, 'theirs');
    git(place, 'checkout', '--quiet', 'cadre/tree');
    write(place, { 'sub/b.txt': 'changed\n' });
    commit(place, 'changed');
    expect(() => git(place, 'merge', 'theirs')).toThrow('failed');
    git(place, 'branch', '--quiet', '-D', 'theirs');
    write(place, { 'a.txt': 'half resolved\n' });
  },
};

/** Groups of changes that touch different files, each tested in one worktree. */
const together = [
  ['commits on the branch', 'names of odd characters', 'modes and links'],
  ['a changed, a removed, a moved and an untracked file', 'empty and binary files'],
  ['what is staged, and something else beneath it'],
  ['a directory where a file was, and a link where a directory was'],
  ['no file at all'],
  ['a detached HEAD with a commit that no branch has'],
  ['a merge with conflicts'],
];

test.for(together.map((names) => ({ names, title: names.join('; ') })))(
  'A restored worktree is as it was ($title).',
  async ({ names }) => {
    const harness = await onShared();
    await expectBack(harness, (place) => {
      for (const name of names) works[name]?.(place);
    });
  },
);

test('A restored worktree has all kinds of work together.', () => {
  expect(together.flat().toSorted()).toEqual(Object.keys(works).toSorted());
});

test('A restored worktree has files whose names are not UTF-8.', async () => {
  const harness = await onShared();
  const odd = (place: string) =>
    Buffer.concat([Buffer.from(`${place}/`), Buffer.from([0x66, 0xff, 0xfe])]);
  const tree = await create(harness);
  fs.writeFileSync(odd(tree.path), 'odd');
  await letGo(harness, tree);
  await restore(harness, tree);
  expect(fs.readFileSync(odd(tree.path), 'utf8')).toBe('odd');
});

test('A restored worktree has the same bytes despite line endings and filters.', async () => {
  const harness = await onShared();
  write(harness.repo, {
    '.gitattributes': '*.txt text=auto eol=crlf\n*.up -text filter=upper\n*.id ident\n',
    'kept.up': 'KEPT\n',
  });
  git(harness.repo, 'config', 'filter.upper.clean', 'tr a-z A-Z');
  git(harness.repo, 'config', 'filter.upper.smudge', 'tr A-Z a-z');
  git(harness.repo, 'config', 'core.autocrlf', 'true');
  commit(harness.repo, 'with attributes');
  const bytes = {
    'mixed.txt': 'a\r\nb\nc\r\n',
    'lone.txt': 'a\rb\r\n',
    'a.txt': 'lf only\n',
    'new.up': 'MiXeD\n',
    'x.id': '$Id$ $Id: mine $\n',
  };
  await trustAll(harness, harness.repo);
  const tree = await create(harness);
  expect(read(tree.path, 'kept.up')).toBe('kept\n');
  write(tree.path, bytes);
  await letGo(harness, tree);
  await restore(harness, tree);
  for (const [name, content] of Object.entries(bytes))
    expect([name, read(tree.path, name)]).toEqual([name, content]);
  expect(read(tree.path, 'kept.up')).toBe('kept\n');
});

const hidden: Record<string, (place: string, repo: string) => void> = {
  'that a required filter refuses': (place, repo) => {
    git(repo, 'config', 'filter.gone.clean', 'exit 1');
    git(repo, 'config', 'filter.gone.required', 'true');
    write(place, { '.gitattributes': '*.txt filter=gone\n', 'a.txt': 'two\n' });
  },
  'with the flag assume-unchanged': (place) => {
    git(place, 'update-index', '--assume-unchanged', 'a.txt');
    write(place, { 'a.txt': 'two\n' });
  },
  'with the flag skip-worktree': (place) => {
    git(place, 'update-index', '--skip-worktree', 'a.txt');
    write(place, { 'a.txt': 'two\n' });
  },
  'that kept the size and time': (place) => {
    const file = path.join(place, 'a.txt');
    const { atime, mtime } = fs.statSync(file);
    fs.writeFileSync(file, 'two\n');
    fs.utimesSync(file, atime, mtime);
  },
};
test.for(Object.entries(hidden))(
  'A restored worktree has a changed file %s.',
  async ([, change]) => {
    const { harness, tree } = await withTree(onShared());
    change(tree.path, harness.repo);
    expect((await letGo(harness, tree)).status).toBe('cleaned');
    await restore(harness, tree);
    expect(read(tree.path, 'a.txt')).toBe('two\n');
  },
);

test('A restored worktree has files that are larger than one batch.', async () => {
  const harness = await onShared();
  const big = Buffer.alloc(33 * 1024 * 1024, 'big');
  const tree = await create(harness);
  write(tree.path, { big, small: 'small' });
  fs.chmodSync(path.join(tree.path, 'big'), 0o755);
  await letGo(harness, tree);
  await restore(harness, tree);
  expect(fs.readFileSync(path.join(tree.path, 'big')).equals(big)).toBe(true);
  expect(fs.statSync(path.join(tree.path, 'big')).mode & 0o777).toBe(0o755);
  expect(read(tree.path, 'small')).toBe('small');
});

const isIn = (repo: string, sha: string, ref: string | null) =>
  git(repo, 'rev-list', '--objects', ref ?? '').includes(sha);

test('An archive has commits that were amended, reset or left behind.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { 'c.txt': 'first try\n' });
  const amended = commit(tree.path, 'mine');
  write(tree.path, { 'c.txt': 'second try\n' });
  git(tree.path, 'commit', '--quiet', '--all', '--amend', '--message', 'mine');
  write(tree.path, { 'd.txt': 'd\n' });
  const reset = commit(tree.path, 'to be reset');
  git(tree.path, 'reset', '--quiet', '--hard', 'HEAD~2');
  const { archive_ref } = await letGo(harness, tree);
  for (const sha of [amended, reset]) expect(isIn(harness.repo, sha, archive_ref)).toBe(true);
});

test('An archive has the commits of an unfinished rebase, and its restore returns to the same place.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { 'a.txt': 'mine\n' });
  const mine = commit(tree.path, 'mine');
  write(tree.path, { 'c.txt': 'later\n' });
  const later = commit(tree.path, 'later');
  write(harness.repo, { 'a.txt': 'theirs\n' });
  const main = commit(harness.repo, 'theirs');
  expect(() => git(tree.path, 'rebase', 'main')).toThrow('failed');
  const { archive_ref } = await letGo(harness, tree);
  for (const sha of [mine, later]) expect(isIn(harness.repo, sha, archive_ref)).toBe(true);
  await restore(harness, tree);
  expect(git(tree.path, 'rev-parse', 'HEAD')).toBe(main);
  expect(git(harness.repo, 'rev-parse', 'cadre/tree')).toBe(later);
  expect(read(tree.path, 'a.txt')).toContain('<<<<<<<');
  expect(git(tree.path, 'ls-files', '-u').split('\n')).toHaveLength(3);
});

test('An archive survives a garbage collection, and a clone can fetch it.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { 'c.txt': 'staged\n' });
  git(tree.path, 'add', 'c.txt');
  write(tree.path, { 'c.txt': 'not staged\n' });
  await letGo(harness, tree);
  git(harness.repo, 'reflog', 'expire', '--expire=now', '--all');
  git(harness.repo, 'gc', '--quiet', '--prune=now');
  await restore(harness, tree);
  expect(read(tree.path, 'c.txt')).toBe('not staged\n');
  expect(git(tree.path, 'show', ':c.txt')).toBe('staged');
});

test('An archive leaves out ignored files, and the cleanup names them.', async () => {
  const harness = await onShared();
  write(harness.repo, { '.gitignore': 'build/\n*.log\n' });
  commit(harness.repo, 'ignoring');
  const tree = await create(harness);
  const exclude = path.join(harness.repo, '.git/info/exclude');
  fs.writeFileSync(exclude, 'private\n');
  write(tree.path, { 'build/x/y': 'y', 'z.log': 'z', private: 'p', new: 'n' });
  const { diagnostics, archive_ref } = await letGo(harness, tree);
  expect(diagnostics).toEqual(['ignored files are not archived: build/, private, z.log']);
  expect(git(harness.repo, 'ls-tree', '--name-only', archive_ref ?? '')).not.toContain('build');
  expect(git(harness.repo, 'show', `${archive_ref}:new`)).toBe('n');
});

test('An earlier archive of a worktree is kept by a later cleanup.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { first: 'first' });
  await letGo(harness, tree);
  await restore(harness, tree);
  fs.rmSync(path.join(tree.path, 'first'));
  write(tree.path, { second: 'second' });
  const { archive_ref } = await cleanUp(harness, tree);
  const blob = (text: string) =>
    execFileSync('git', ['hash-object', '--stdin'], { input: text, encoding: 'utf8' }).trim();
  for (const text of ['first', 'second'])
    expect(isIn(harness.repo, blob(text), archive_ref)).toBe(true);
});

test('A worktree that was archived once is restored as it was at its last removal, even if that was clean.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { mine: 'first' });
  await letGo(harness, tree);
  await restore(harness, tree);
  write(tree.path, { mine: 'second' });
  commit(tree.path, 'mine');
  git(harness.repo, 'merge', '--quiet', '--ff-only', tree.branch);
  const before = stateOf(tree.path);
  await cleanUp(harness, tree);
  await restore(harness, tree);
  expect(stateOf(tree.path)).toEqual(before);
});

test('A worktree without its .git file, or unknown to git, is archived.', async () => {
  const { harness, tree: one } = await withTree(onShared(), { worktree_name: 'one' });
  const two = await create(harness, { worktree_name: 'two' });
  for (const { path: place } of [one, two]) {
    write(place, { 'mine.txt': 'mine\n' });
    fs.rmSync(path.join(place, '.git'));
  }
  git(harness.repo, 'worktree', 'prune', '--expire', 'now');
  for (const tree of [one, two]) {
    const { status, archive_ref } = await letGo(harness, tree);
    expect(status).toBe('cleaned');
    expect(git(harness.repo, 'show', `${archive_ref}:mine.txt`)).toBe('mine');
    expect(git(harness.repo, 'show', `${archive_ref}:a.txt`)).toBe('one');
  }
});

test('A worktree restored under another name has the path and branch of that name, and can be claimed.', async () => {
  const { harness, tree: first } = await withTree(testWorktreeHarness());
  write(first.path, { mine: 'mine' });
  await letGo(harness, first);
  const second = await create(harness);
  await expect(restore(harness, first)).rejects.toMatchObject({ code: 'conflict' });
  const back = await restore(harness, first, 'tree-2');
  expect(back).toMatchObject({
    id: first.id,
    worktree_name: 'tree-2',
    branch: 'cadre/tree-2',
    status: 'retained',
  });
  expect(read(back.path, 'mine')).toBe('mine');
  expect(git(back.path, 'symbolic-ref', 'HEAD')).toBe('refs/heads/cadre/tree-2');
  expect((await get(harness, second)).status).toBe('active');
  const again = await create(harness, { worktree_name: 'tree-2' });
  expect(again).toMatchObject({ id: first.id, created: false, status: 'active' });
  expect(await kindsOf(harness)).toContain('worktree.restored');
});

test('Two restores that swap names at the same time both end.', async () => {
  const { harness, tree: one } = await withTree(onShared(), { worktree_name: 'one' });
  const two = await create(harness, { worktree_name: 'two' });
  for (const tree of [one, two]) {
    write(tree.path, { mine: tree.worktree_name });
    await letGo(harness, tree);
  }
  const back = await Promise.all([restore(harness, one, 'two'), restore(harness, two, 'one')]);
  expect(back.map(({ path: place }) => read(place, 'mine'))).toEqual(['one', 'two']);
});

test('The restore of a missing worktree has the files of its branch and index.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { 'c.txt': 'c\n' });
  const tip = commit(tree.path, 'mine');
  write(tree.path, { 'd.txt': 'd\n' });
  git(tree.path, 'add', '--all');
  fs.rmSync(tree.path, { recursive: true });
  const back = await restore(harness, tree);
  expect(back.status).toBe('retained');
  expect(git(tree.path, 'rev-parse', 'HEAD')).toBe(tip);
  expect(git(tree.path, 'status', '--porcelain')).toBe('A  d.txt');
});

test('The restore of an existing worktree, or of one without archive, is a conflict.', async () => {
  const { harness, tree } = await withTree(onShared());
  await expect(restore(harness, tree)).rejects.toMatchObject({ code: 'conflict' });
  await release(harness, tree, harness.session);
  await expect(restore(harness, tree)).rejects.toMatchObject(anError('conflict', 'has no archive'));
  await expect(restore(harness, { id: 'wt_x' })).rejects.toMatchObject({ code: 'not_found' });
});

test('A restore of a missing worktree reports why its work cannot be archived.', async () => {
  const { harness, tree } = await withTree(testWorktreeHarness());
  fs.rmSync(tree.path, { recursive: true });
  fs.renameSync(harness.repo, `${harness.repo}-moved`);
  await expect(restore(harness, tree)).rejects.toMatchObject(
    anError('conflict', 'no longer exists'),
  );
});

test('A restore that fails leaves nothing, and can be repeated.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { mine: 'mine' });
  await letGo(harness, tree);
  write(path.dirname(tree.path), { tree: 'in the way' });
  await expect(restore(harness, tree)).rejects.toMatchObject({ code: 'conflict' });
  expect(branches(harness.repo)).toEqual(['main']);
  fs.rmSync(tree.path);
  expect((await restore(harness, tree)).status).toBe('retained');
  const { id } = await openSession(harness.client, harness.repo);
  await close(harness, id);
  expect(read(tree.path, 'mine')).toBe('mine');
});
