import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import type { BodyInputOf } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { FailpointName } from '../../../../src/core/lib/failpoint.ts';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import {
  claim,
  commit,
  create,
  get,
  git,
  makeRepository,
  read,
  type Server,
  sharedWorktreeHarnesses,
  type WorktreeHarness,
  testWorktreeHarness,
  write,
} from '../../../support/worktrees/work.ts';
import { openSession, send } from '../../../support/turns.ts';

const openHarness = sharedWorktreeHarnesses();

type MergeRequest = BodyInputOf<typeof endpoints.mergeWorktree>;
type RebaseRequest = BodyInputOf<typeof endpoints.rebaseWorktree>;

function merge({ client }: Server, { id }: Worktree, request: MergeRequest = {}, key?: string) {
  const params = { worktree_id: id };
  const body = { dry_run: false, ...request };
  return client.call(endpoints.mergeWorktree, { params, body }, undefined, key);
}

function rebase({ client }: Server, { id }: Worktree, request: RebaseRequest = {}) {
  const params = { worktree_id: id };
  return client.call(endpoints.rebaseWorktree, { params, body: { dry_run: false, ...request } });
}

/** A worktree with a commit of its own, in a repository whose person git knows. */
async function working(opening: WorktreeHarness | Promise<WorktreeHarness> = openHarness()) {
  const harness = await opening;
  const person = '[user]\n\tname = Ada\n\temail = ada@example.org\n';
  fs.appendFileSync(path.join(harness.repo, '.git/config'), person);
  const tree = await create(harness);
  write(tree.path, { 'new.txt': 'new\n', 'a.txt': 'changed\n' });
  commit(tree.path, 'mine');
  return { harness, tree };
}

/** All that a person sees of a repository: its branches, what is checked out, the files and what is staged. */
function stateOf(repo: string, tree: Worktree): string {
  const each = [repo, tree.path].map((place) => [
    // The commit and the branch that are checked out, and each entry of the index that differs from that commit.
    git(place, 'status', '--porcelain=v2', '--branch', '--no-renames', '--ignored'),
    fs
      .readdirSync(place, { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.startsWith('.git') && fs.statSync(path.join(place, name)).isFile())
      .toSorted()
      .map((name) => `${name}: ${read(place, name)}`),
  ]);
  return JSON.stringify([git(repo, 'for-each-ref', 'refs/heads'), each], null, 1);
}

test('A merge moves the branch forward if possible, and the files of its clean checkout follow.', async () => {
  const { harness, tree } = await working();
  const before = stateOf(harness.repo, tree);
  const plan = await merge(harness, tree, { dry_run: true });
  expect(plan).toMatchObject({
    outcome: 'planned',
    how: 'fast_forward',
    target: 'main',
    checkout: harness.repo,
    commits: [{ subject: 'mine', author: 'a' }],
    files: [
      { path: 'a.txt', change: 'modified', lines_added: 1, lines_deleted: 1 },
      { path: 'new.txt', change: 'added', lines_added: 1, lines_deleted: 0 },
    ],
    obstacles: [],
    conflicts: [],
  });
  expect(stateOf(harness.repo, tree)).toBe(before);
  const done = await merge(harness, tree, { expected_tree: plan.result_tree });
  expect(done).toMatchObject({ outcome: 'done', result_commit: plan.source_commit });
  expect(git(harness.repo, 'rev-parse', 'main')).toBe(plan.source_commit);
  expect(git(harness.repo, 'status', '--porcelain')).toBe('');
  expect(read(harness.repo, 'new.txt')).toBe('new\n');
  expect(git(harness.repo, 'log', '-g', '--format=%gs', '-1', 'main')).toBe(
    'merge cadre/tree: fast forward',
  );
  expect(await merge(harness, tree)).toMatchObject({ outcome: 'nothing_to_do', how: 'none' });
});

test('A merge of diverged branches makes a merge commit in the name of the committer of git.', async () => {
  const { harness, tree } = await working();
  write(harness.repo, { 'theirs.txt': 'theirs\n' });
  const theirs = commit(harness.repo, 'theirs');
  const { result_commit, how, source_commit } = await merge(harness, tree);
  expect(how).toBe('merge_commit');
  expect(git(harness.repo, 'rev-parse', 'main')).toBe(result_commit);
  expect(git(harness.repo, 'log', '-1', '--format=%an %ce%n%s%n%P')).toBe(
    `Ada ada@example.org\nMerge branch 'cadre/tree' into main\n${theirs} ${source_commit}`,
  );
  expect(git(harness.repo, 'status', '--porcelain')).toBe('');
  expect(git(harness.repo, 'fsck', '--no-dangling')).toBe('');
  expect([read(harness.repo, 'theirs.txt'), read(harness.repo, 'a.txt')]).toEqual([
    'theirs\n',
    'changed\n',
  ]);
});

test('A merge with squash makes one commit, and moves a branch without a checkout.', async () => {
  const { harness, tree } = await working();
  write(tree.path, { 'sub/b.txt': 'more\n' });
  commit(tree.path, 'and more');
  git(harness.repo, 'branch', 'release');
  const { result_commit } = await merge(harness, tree, { into: 'release', squash: true });
  expect(git(harness.repo, 'rev-parse', 'release')).toBe(result_commit);
  expect(git(harness.repo, 'log', '--format=%B', 'main..release')).toBe(
    'Squash tree\n\n* mine\n* and more',
  );
  expect(git(harness.repo, 'diff', 'release', 'cadre/tree')).toBe('');
  expect(git(harness.repo, 'status', '--porcelain')).toBe('');
});

test('A merge commits uncommitted changes only with commit_message, and then all or nothing.', async () => {
  const { harness, tree } = await working();
  write(tree.path, { 'sub/b.txt': 'not yet\n', 'untracked.txt': 'u\n' });
  const before = stateOf(harness.repo, tree);
  await expect(merge(harness, tree)).rejects.toMatchObject({ code: 'conflict' });
  expect(stateOf(harness.repo, tree)).toBe(before);
  const plan = await merge(harness, tree, { dry_run: true, commit_message: 'the rest' });
  expect(plan.uncommitted).toEqual(['sub/b.txt', 'untracked.txt']);
  expect(stateOf(harness.repo, tree)).toBe(before);
  await merge(harness, tree, { commit_message: 'the rest', expected_tree: plan.result_tree });
  expect(git(tree.path, 'status', '--porcelain')).toBe('');
  expect(git(harness.repo, 'status', '--porcelain')).toBe('');
  expect(git(harness.repo, 'log', '--format=%s', '-2')).toBe('the rest\nmine');
  expect(read(harness.repo, 'untracked.txt')).toBe('u\n');
});

test('A merge runs no hook, driver or signing program of the repository, and says so.', async () => {
  const harness = await openHarness();
  const lines = (first: string, last: string) => `${first}\n${'line\n'.repeat(20)}${last}\n`;
  write(harness.repo, { 'long.txt': lines('a', 'b'), '.gitattributes': '* merge=own\n' });
  commit(harness.repo, 'a long file');
  const { tree } = await working(harness);
  write(tree.path, { 'long.txt': lines('a', 'mine') });
  commit(tree.path, 'its end');
  const mark = path.join(harness.directory, 'ran');
  for (const name of ['pre-merge-commit', 'post-merge', 'reference-transaction'])
    fs.writeFileSync(
      path.join(harness.repo, '.git/hooks', name),
      `#!/bin/sh\necho ${name} >> ${mark}\n`,
      { mode: 0o755 },
    );
  git(harness.repo, 'config', 'merge.own.driver', `echo driver >> ${mark}; false`);
  git(harness.repo, 'config', 'commit.gpgSign', 'true');
  git(harness.repo, 'config', 'gpg.program', `${mark}-program`);
  write(harness.repo, { 'long.txt': lines('theirs', 'b') });
  git(harness.repo, 'add', '.');
  git(harness.repo, '-c', 'core.hooksPath=', '-c', 'commit.gpgSign=false', 'commit', '-qm', 'x');
  fs.rmSync(mark, { force: true });
  const plan = await merge(harness, tree, { dry_run: true });
  expect(plan.notes).toEqual([
    'git hooks of the repository do not run: pre-merge-commit, post-merge, reference-transaction',
    expect.stringContaining('not signed'),
    expect.stringContaining('merge drivers'),
  ]);
  await merge(harness, tree);
  expect(read(harness.repo, 'long.txt')).toBe(lines('theirs', 'mine'));
  expect(fs.existsSync(mark)).toBe(false);
});

test.for([
  ['merge', merge, null],
  ['rebase', rebase, expect.stringMatching(/^[0-9a-f]{8} mine$/)],
] as const)(
  'A %s with a conflict names the file, and changes nothing.',
  async ([, run, conflict_in]) => {
    const { harness, tree } = await working();
    write(harness.repo, { 'a.txt': 'other\n' });
    commit(harness.repo, 'theirs');
    const before = stateOf(harness.repo, tree);
    expect(await run(harness, tree, { dry_run: true })).toMatchObject({
      how: 'none',
      result_tree: null,
      conflicts: [{ path: 'a.txt', kind: 'contents' }],
      conflict_in,
    });
    await expect(run(harness, tree)).rejects.toMatchObject(
      anError('conflict', /conflicts in a\.txt.*, so nothing was changed/),
    );
    expect(stateOf(harness.repo, tree)).toBe(before);
  },
);

test('A merge ignores replace refs and grafts.', async () => {
  const { harness, tree } = await working();
  const own = git(tree.path, 'rev-parse', 'HEAD');
  write(harness.repo, { 'theirs.txt': 'theirs\n' });
  const theirs = commit(harness.repo, 'theirs');
  git(harness.repo, 'replace', own, git(harness.repo, 'rev-parse', 'HEAD~1'));
  fs.writeFileSync(path.join(harness.repo, '.git/info/grafts'), `${own} ${theirs}\n`);
  expect(await merge(harness, tree)).toMatchObject({
    how: 'merge_commit',
    commits: [{ subject: 'mine' }],
    files: [{ path: 'a.txt' }, { path: 'new.txt' }],
  });
  expect(read(harness.repo, 'theirs.txt')).toBe('theirs\n');
});

const cases: Record<
  string,
  { make: (harness: WorktreeHarness, tree: Worktree) => unknown; says: RegExp }
> = {
  'where the checkout of the target has changes': {
    make: ({ repo }) => write(repo, { 'sub/b.txt': 'edited\n' }),
    says: /has uncommitted changes \(sub\/b\.txt\): commit or stash them/,
  },
  'where a file that git does not track is in the way': {
    make: ({ repo }) => write(repo, { 'new.txt': 'precious\n' }),
    says: /would be overwritten .*\(new\.txt\)/,
  },
  'where an ignored file is in the way': {
    make({ repo }) {
      fs.appendFileSync(path.join(repo, '.git/info/exclude'), 'new.txt\n');
      write(repo, { 'new.txt': 'precious\n' });
    },
    says: /would be overwritten/,
  },
  'where a git command holds the index of the target': {
    make: ({ repo }) => write(repo, { '.git/index.lock': '' }),
    says: /another git command is running in/,
  },
  'where the worktree has a detached HEAD': {
    make: (_harness, tree) => git(tree.path, 'checkout', '-q', '--detach'),
    says: /the worktree has a detached HEAD checked out instead of cadre\/tree/,
  },
  'where a merge is under way in the target': {
    make: ({ repo }) => write(repo, { '.git/MERGE_HEAD': `${git(repo, 'rev-parse', 'HEAD')}\n` }),
    says: /a merge is in progress/,
  },
  'where the repository has filters that nobody has allowed': {
    make: ({ repo }) => git(repo, 'config', 'filter.f.smudge', 'touch /tmp/never'),
    says: /has filters that you have not allowed/,
  },
  'where git does not know who commits': {
    make({ repo }) {
      git(repo, 'config', 'user.name', '');
      write(repo, { 'theirs.txt': 'x\n' });
      commit(repo, 'theirs');
    },
    says: /git has no committer/,
  },
  'where a turn runs at the target': {
    make: ({ client, session }) => send(client, session, 'never ends'),
    says: /a turn of session sess_\w+ is running there: wait for it/,
  },
  'where the target is no branch': {
    make: ({ repo }, tree) => {
      git(repo, 'checkout', '-q', '-b', 'other');
      git(repo, 'branch', '-D', tree.base_ref);
    },
    says: /which is not a branch of the repository/,
  },
};
test.for(Object.entries(cases))(
  'A merge is refused, and nothing changes, %s.',
  async ([, { make, says }]) => {
    const { harness, tree } = await working();
    await make(harness, tree);
    const before = stateOf(harness.repo, tree);
    await expect(merge(harness, tree)).rejects.toMatchObject({
      message: expect.stringMatching(says),
    });
    expect(stateOf(harness.repo, tree)).toBe(before);
  },
);

test('A merge is refused, and nothing changes, if its result differs from the preview.', async () => {
  const { harness, tree } = await working();
  const { result_tree } = await merge(harness, tree, { dry_run: true });
  write(tree.path, { 'more.txt': 'm\n' });
  commit(tree.path, 'more');
  const before = stateOf(harness.repo, tree);
  await expect(merge(harness, tree, { expected_tree: result_tree })).rejects.toMatchObject({
    message: expect.stringContaining('request the preview again'),
  });
  expect(stateOf(harness.repo, tree)).toBe(before);
});

test('A merge that another git command overtakes at the last moment changes nothing.', async () => {
  let overtake = () => {};
  const failpoint = (name: FailpointName) => {
    if (name === 'worktree.moving') overtake();
  };
  const { harness, tree } = await working(testWorktreeHarness({ failpoint }));
  git(harness.repo, 'branch', 'release');
  const theirs = git(harness.repo, 'commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'theirs');
  write(tree.path, { 'open.txt': 'not committed\n' });
  overtake = () => void git(harness.repo, 'update-ref', 'refs/heads/release', theirs);
  const request = { into: 'release', commit_message: 'the rest' };
  await expect(merge(harness, tree, request)).rejects.toMatchObject(
    anError('conflict', 'nothing was changed'),
  );
  expect(git(harness.repo, 'rev-parse', 'release')).toBe(theirs);
  expect(git(tree.path, 'log', '-1', '--format=%s')).toBe('mine');
  expect(git(tree.path, 'status', '--porcelain')).toBe('?? open.txt');
  overtake = () => {};
  expect(await merge(harness, tree, request)).toMatchObject({ outcome: 'done' });
  expect(git(tree.path, 'status', '--porcelain')).toBe('');
});

/** Opens a harness with a worktree, and calls `happens` once a merge has moved its branches. */
async function workingUntilMoved(
  happens: (harness: WorktreeHarness) => void,
): Promise<[WorktreeHarness, Worktree]> {
  let moved = () => {};
  const failpoint = (name: FailpointName) => {
    if (name === 'worktree.moved') moved();
  };
  const { harness, tree } = await working(testWorktreeHarness({ failpoint }));
  moved = () => {
    moved = () => {};
    happens(harness);
  };
  return [harness, tree];
}

test('A merge whose files cannot be written moves branch and files back, and succeeds later.', async () => {
  const [harness, tree] = await workingUntilMoved(({ repo }) =>
    write(repo, { 'new.txt/precious': 'precious\n' }),
  );
  const before = git(harness.repo, 'rev-parse', 'main');
  await expect(merge(harness, tree)).rejects.toMatchObject(
    anError('conflict', /^the operation failed, and nothing was changed: .*new\.txt/),
  );
  expect(git(harness.repo, 'rev-parse', 'main')).toBe(before);
  expect(git(harness.repo, 'status', '--porcelain')).toBe('?? new.txt/');
  expect([read(harness.repo, 'a.txt'), read(harness.repo, 'new.txt/precious')]).toEqual([
    'one\n',
    'precious\n',
  ]);
  fs.rmSync(path.join(harness.repo, 'new.txt'), { recursive: true });
  expect(await merge(harness, tree)).toMatchObject({ outcome: 'done' });
  expect(git(harness.repo, 'status', '--porcelain')).toBe('');
});

test('A merge that cannot move back says so, and the next merge finishes it.', async () => {
  const [harness, tree] = await workingUntilMoved(({ repo }) => {
    fs.renameSync(path.join(repo, '.git/index'), path.join(repo, '.git/index.away'));
    fs.mkdirSync(path.join(repo, '.git/index'));
  });
  const { repo } = harness;
  await expect(merge(harness, tree, {}, 'the-key')).rejects.toMatchObject(
    anError('conflict', 'until you merge or rebase the worktree again'),
  );
  fs.rmdirSync(path.join(repo, '.git/index'));
  fs.renameSync(path.join(repo, '.git/index.away'), path.join(repo, '.git/index'));
  expect(() => git(repo, 'add', 'a.txt')).toThrow(/index.lock/);
  // The refusal is not stored for its key: the same request finds what was finished.
  expect(await merge(harness, tree, {}, 'the-key')).toMatchObject({ outcome: 'nothing_to_do' });
  expect(git(repo, 'status', '--porcelain')).toBe('');
  expect(read(repo, 'a.txt')).toBe('changed\n');
});

test('A merge moves the commit of a submodule without its files, and says so.', async () => {
  const harness = await openHarness();
  const { repo } = harness;
  const one = commit(makeRepository(path.join(harness.directory, 'module')), 'one');
  const two = commit(path.join(harness.directory, 'module'), 'two');
  const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add'];
  git(repo, ...add, path.join(harness.directory, 'module'), 'module');
  git(path.join(repo, 'module'), 'checkout', '-q', one);
  commit(repo, 'with a submodule');
  const { tree } = await working(harness);
  git(tree.path, 'update-index', '--cacheinfo', `160000,${two},module`);
  git(tree.path, 'commit', '-qm', 'the submodule moves');
  const done = await merge(harness, tree);
  expect(done).toMatchObject({ outcome: 'done' });
  expect(done.notes).toEqual([expect.stringMatching(/git submodule update \(module\)/)]);
  expect(git(repo, 'rev-parse', 'main:module')).toBe(two);
  expect(git(path.join(repo, 'module'), 'rev-parse', 'HEAD')).toBe(one);
  expect(read(repo, 'module/a.txt')).toBe('one\n');
  expect(git(repo, 'status', '--porcelain')).toBe('M module'.padStart(9));
  git(repo, 'submodule', '--quiet', 'update');
  expect(git(repo, 'status', '--porcelain')).toBe('');
});

test('A rebase writes the commits again on top, with their authors, and moves the base.', async () => {
  const { harness, tree } = await working();
  write(tree.path, { 'more.txt': 'm\n' });
  commit(tree.path, 'more');
  write(harness.repo, { 'theirs.txt': 'theirs\n' });
  const onto = commit(harness.repo, 'theirs');
  const done = await rebase(harness, tree);
  expect(done).toMatchObject({ outcome: 'done', how: 'replay', target: 'main' });
  expect(git(tree.path, 'status', '--porcelain')).toBe('');
  expect(git(tree.path, 'log', '--format=%an %cn %s', `${onto}..HEAD`)).toBe(
    'a Ada more\na Ada mine',
  );
  expect(git(tree.path, 'merge-base', 'HEAD', 'main')).toBe(onto);
  expect(read(tree.path, 'theirs.txt')).toBe('theirs\n');
  expect(git(harness.repo, 'fsck', '--no-dangling')).toBe('');
  expect((await get(harness, tree)).base_commit).toBe(onto);
  expect(git(harness.repo, 'rev-parse', 'cadre/tree@{1}')).toBe(done.source_commit);
  expect(await rebase(harness, tree)).toMatchObject({ outcome: 'nothing_to_do' });
});

test('A rebase commits uncommitted changes with commit_message.', async () => {
  const { harness, tree } = await working();
  write(harness.repo, { 'theirs.txt': 'theirs\n' });
  commit(harness.repo, 'theirs');
  write(tree.path, { 'sub/b.txt': 'not yet\n', 'untracked.txt': 'u\n' });
  await expect(rebase(harness, tree)).rejects.toMatchObject({ code: 'conflict' });
  await rebase(harness, tree, { commit_message: 'the rest' });
  expect(git(tree.path, 'status', '--porcelain')).toBe('');
  expect(git(tree.path, 'log', '--format=%s', '-3')).toBe('the rest\nmine\ntheirs');
  expect(read(tree.path, 'untracked.txt')).toBe('u\n');
  expect(read(tree.path, 'theirs.txt')).toBe('theirs\n');
});

test('A merge plan names other sessions that claim the worktree.', async () => {
  const { harness, tree } = await working();
  const { id } = await openSession(harness.client, harness.repo);
  await claim(harness, tree, id);
  const { notes } = await merge(harness, tree, { dry_run: true });
  expect(notes).toContain(`session ${id} also claims the worktree`);
});

test('The last value of core.worktree names the checkout of the target, as for git.', async () => {
  const { harness, tree } = await working();
  const values = ['/nonexistent', harness.repo].map((value) => `\tworktree = ${value}\n`);
  fs.appendFileSync(path.join(harness.repo, '.git/config'), `[core]\n${values.join('')}`);
  expect((await merge(harness, tree)).outcome).toBe('done');
  expect(read(harness.repo, 'new.txt')).toBe('new\n');
});
