import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';
import {
  branches,
  claim,
  cleanUp,
  close,
  commit,
  create,
  events,
  get,
  git,
  kindsOf,
  known,
  letGo,
  makeRepository,
  read,
  restore,
  sharedWorktreeHarnesses,
  write,
  testWorktreeHarness,
  withTree,
} from '../../../support/worktrees/work.ts';

const onShared = sharedWorktreeHarnesses();

test('A new worktree is in the data directory, on its own branch at the checked-out commit, and owned by its session.', async () => {
  const harness = await testWorktreeHarness();
  const { repo, session, directory, client } = harness;
  const made = await create(harness, { team_id: 'team_1', operation_id: 'op_1' });
  expect(made).toMatchObject({
    id: expect.stringMatching(/^wt_[0-9a-f]{32}$/),
    worktree_name: 'tree',
    repo_root: repo,
    branch: 'cadre/tree',
    base_ref: 'main',
    base_commit: git(repo, 'rev-parse', 'HEAD'),
    deletion_policy: 'delete_on_last_claim',
    status: 'active',
    source_session_id: session,
    team_id: 'team_1',
    operation_id: 'op_1',
    init_script: { status: 'not_found', exit_code: null, output_tail: '' },
    archive_ref: null,
    created: true,
    claim: { session_id: session, claim_role: 'owner', released_at: null },
  });
  const root = fs.realpathSync(path.join(directory, 'worktrees'));
  expect(path.relative(root, made.path)).toMatch(/^repo-[0-9a-f]{8}\/tree$/);
  expect(read(made.path, 'a.txt')).toBe('one\n');
  expect(git(made.path, 'symbolic-ref', 'HEAD')).toBe('refs/heads/cadre/tree');
  const { created: _created, claim: owned, ...record } = made;
  expect(await get(harness, made)).toEqual({ ...record, claims: [owned] });
  expect(await client.call(endpoints.listWorktrees, { query: {} })).toEqual([record]);
  const { worktree_id } = await client.call(endpoints.getSession, {
    params: { session_id: session },
  });
  expect(worktree_id).toBe(made.id);
});

test('Events report a new worktree and its claim in the scopes of its session and of the worktree.', async () => {
  const { harness, tree: made } = await withTree(testWorktreeHarness(), { team_id: 'team_1' });
  const creationEvents = (await events(harness)).slice(1);
  expect(creationEvents.map(({ kind }) => kind)).toEqual([
    'worktree.created',
    'worktree.claimed',
    'session.updated',
  ]);
  for (const event of creationEvents.slice(0, 2))
    expect(event).toMatchObject({
      scope: 'worktree',
      worktree_id: made.id,
      session_id: harness.session,
      team_id: 'team_1',
    });
});

test('A new worktree has the requested branch prefix, base and policy.', async () => {
  const harness = await onShared();
  const first = git(harness.repo, 'rev-parse', 'HEAD');
  write(harness.repo, { 'a.txt': 'later\n' });
  commit(harness.repo, 'second');
  const made = await create(harness, {
    branch_prefix: 'team/x',
    base_ref: 'HEAD~1',
    deletion_policy: 'retain_on_last_claim',
  });
  expect(made).toMatchObject({
    branch: 'team/x/tree',
    base_ref: 'HEAD~1',
    base_commit: first,
    deletion_policy: 'retain_on_last_claim',
  });
  expect(read(made.path, 'a.txt')).toBe('one\n');
});

test('A worktree created from a worktree belongs to the main repository and begins at the commit of that worktree.', async () => {
  const { harness, tree: first } = await withTree(onShared());
  write(first.path, { 'c.txt': 'c\n' });
  const tip = commit(first.path, 'in the first');
  const { id } = await openSession(harness.client, path.join(first.path, 'sub'));
  const second = await create({ ...harness, session: id }, { worktree_name: 'second' });
  expect(second).toMatchObject({
    repo_root: harness.repo,
    base_ref: 'cadre/tree',
    base_commit: tip,
  });
});

test('A new worktree begins at the checked-out branch, even if a tag has the same name, or at a detached commit.', async () => {
  const harness = await onShared();
  const head = commit(harness.repo, 'second');
  git(harness.repo, 'tag', 'main', 'HEAD~1');
  expect(await create(harness)).toMatchObject({ base_ref: 'main', base_commit: head });
  git(harness.repo, 'checkout', '--quiet', '--detach');
  const other = await create(harness, { worktree_name: 'other' });
  expect(other).toMatchObject({ base_ref: head, base_commit: head });
});

test('A worktree can belong to a bare repository, also if repo_root is a link.', async () => {
  const harness = await testWorktreeHarness();
  const bare = path.join(harness.directory, 'bare one.git');
  git(harness.directory, 'clone', '--quiet', '--bare', harness.repo, bare);
  const link = path.join(harness.directory, 'link');
  fs.symlinkSync(bare, link);
  const made = await create(harness, { repo_root: link });
  expect(made.repo_root).toBe(bare);
  expect(made.path).toContain('/bare-one-');
  expect(read(made.path, 'a.txt')).toBe('one\n');
  const { query } = { query: { repo_root: link } };
  expect(await harness.client.call(endpoints.listWorktrees, { query })).toHaveLength(1);
});

test('The creation of a worktree runs no hook of its repository.', async () => {
  const harness = await onShared();
  const hook = path.join(harness.repo, '.git/hooks/post-checkout');
  fs.writeFileSync(hook, '#!/bin/sh\ntouch hooked; exit 1\n', { mode: 0o755 });
  const { path: place } = await create(harness);
  expect(fs.existsSync(path.join(place, 'hooked'))).toBe(false);
});

test('A create request with an existing name claims that worktree.', async () => {
  const { harness, tree: made } = await withTree(onShared());
  const { id } = await openSession(harness.client, harness.repo);
  const again = await create({ ...harness, session: id });
  expect(again).toMatchObject({ id: made.id, created: false, claim: { session_id: id } });
  expect(again.claim.claim_role).toBe('owner');
  const same = await create(harness);
  expect(same).toMatchObject({ id: made.id, created: false, claim: made.claim });
});

test('A consumer who creates an existing name gets its claim as consumer.', async () => {
  const { harness, tree: made } = await withTree(onShared());
  const { id } = await openSession(harness.client, harness.repo);
  const held = await claim(harness, made, id);
  expect((await create({ ...harness, session: id })).claim).toEqual(held);
});

test('A create request with the name of a retained worktree makes it active.', async () => {
  const { harness, tree: made } = await withTree(onShared());
  await close(harness, harness.session);
  expect((await get(harness, made)).status).toBe('retained');
  const { id } = await openSession(harness.client, harness.repo);
  const again = await create({ ...harness, session: id });
  expect(again).toMatchObject({ id: made.id, created: false, status: 'active' });
});

test.for([
  { base_ref: 'HEAD' },
  { branch_prefix: 'other' },
  { deletion_policy: 'delete_if_clean' as const },
])('A taken name with %j is refused, because the existing worktree differs.', async (request) => {
  const harness = await onShared();
  await create(harness);
  await expectError(create(harness, request), 'conflict');
  const same = { base_ref: 'main', branch_prefix: 'cadre' };
  const asked = create(harness, { ...same, deletion_policy: 'delete_on_last_claim' });
  expect((await asked).created).toBe(false);
});

test('Twenty simultaneous create requests with one name make one worktree with twenty claims.', async () => {
  const harness = await onShared();
  const sessions = await Promise.all(
    Array.from({ length: 20 }, () => openSession(harness.client, harness.repo)),
  );
  const all = await Promise.all(
    sessions.map(({ id }) => create({ client: harness.client, session: id })),
  );
  expect(all.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  const { claims } = await get(harness, { id: all[0]?.id ?? '' });
  expect(claims.map(({ session_id }) => session_id).toSorted()).toEqual(
    sessions.map(({ id }) => id).toSorted(),
  );
  expect(known(harness.repo)).toHaveLength(1);
});

test('A name can be used in another repository, and twenty names are created at once.', async () => {
  const harness = await onShared();
  const other = makeRepository(path.join(harness.directory, 'elsewhere/repo'));
  const one = await create(harness);
  const two = await create(harness, { repo_root: other });
  expect(two.created).toBe(true);
  expect(path.dirname(two.path)).not.toBe(path.dirname(one.path));
  const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
  const all = await Promise.all(names.map((name) => create(harness, { worktree_name: name })));
  expect(all.every(({ created }) => created)).toBe(true);
  expect(known(harness.repo)).toHaveLength(21);
});

test('A name is free after the cleanup of its worktree.', async () => {
  const { harness, tree: first } = await withTree(onShared());
  await close(harness, harness.session);
  await cleanUp(harness, first);
  const { id } = await openSession(harness.client, harness.repo);
  const second = await create({ ...harness, session: id });
  expect(second.created).toBe(true);
  expect(second.id).not.toBe(first.id);
});

test('A create request finds the restored worktree of its name, even if a later worktree has had the name.', async () => {
  const { harness, tree: first } = await withTree(onShared());
  write(first.path, { mine: 'mine' });
  await letGo(harness, first);
  const { id } = await openSession(harness.client, harness.repo);
  const later = { ...harness, session: id };
  await letGo(later, await create(later));
  await restore(harness, first);
  const { id: last } = await openSession(harness.client, harness.repo);
  const found = await create({ ...harness, session: last });
  expect(found).toMatchObject({ id: first.id, created: false });
});

test('A name is free after somebody removed the path; the commits of its branch are archived first.', async () => {
  const { harness, tree: first } = await withTree(testWorktreeHarness());
  write(first.path, { 'c.txt': 'c\n' });
  const tip = commit(first.path, 'mine');
  write(first.path, { 'staged.txt': 'staged\n' });
  git(first.path, 'add', '--all');
  fs.rmSync(first.path, { recursive: true });
  const second = await create(harness);
  expect(second.created).toBe(true);
  const left = await get(harness, first);
  expect(left.status).toBe('cleaned');
  expect(git(harness.repo, 'merge-base', tip, left.archive_ref ?? '')).toBe(tip);
  expect(git(harness.repo, 'show', `${left.archive_ref}:staged.txt`)).toBe('staged');
  expect(await kindsOf(harness)).toContain('worktree.missing');
});

test.for([
  ['-x', 'base_ref'],
  ['--upload-pack=x', 'base_ref'],
  ['-x', 'branch_prefix'],
  ['-x', 'worktree_name'],
  ['a/b', 'worktree_name'],
  ['..', 'worktree_name'],
  ['a b', 'worktree_name'],
  ['x'.repeat(65), 'worktree_name'],
  ['no-such-ref', 'base_ref'],
  ['a..b', 'worktree_name'],
  ['x.lock', 'worktree_name'],
  ['a..b', 'branch_prefix'],
  ['a b', 'branch_prefix'],
  ['/tmp', 'branch_prefix'],
  ['nowhere', 'repo_root'],
  ['/', 'repo_root'],
  ['a\0b', 'repo_root'],
] as const)(
  'A worktree with %j as %s is refused with 400, and nothing is left.',
  async ([value, field]) => {
    const harness = await onShared();
    const refused = create(harness, { [field]: value });
    await expectError(refused, 'invalid');
    expect(branches(harness.repo)).toEqual(['main']);
    expect(known(harness.repo)).toEqual([]);
  },
);

test('A worktree of a repository without commits is refused with a next step.', async () => {
  const harness = await onShared();
  const empty = path.join(harness.directory, 'empty');
  fs.mkdirSync(empty);
  git(empty, 'init', '--quiet');
  await expectError(create(harness, { repo_root: empty }), 'invalid', 'has no commits yet');
});

test('A create request for an existing branch leaves the branch as it was.', async () => {
  const harness = await onShared();
  git(harness.repo, 'branch', 'cadre/tree');
  await expectError(create(harness), 'conflict');
  expect(branches(harness.repo)).toEqual(['cadre/tree', 'main']);
  git(harness.repo, 'branch', '--quiet', '-D', 'cadre/tree');
  git(harness.repo, 'branch', 'cadre');
  await expectError(create(harness), 'conflict');
  expect(branches(harness.repo)).toEqual(['cadre', 'main']);
});

test('A create request for an existing path leaves the path as it was.', async () => {
  const harness = await onShared();
  const { path: place } = await create(harness, { worktree_name: 'other' });
  const taken = path.join(path.dirname(place), 'tree');
  write(taken, { 'mine.txt': 'mine' });
  await expectError(create(harness), 'conflict');
  expect(read(taken, 'mine.txt')).toBe('mine');
  expect(branches(harness.repo)).not.toContain('cadre/tree');
});

test('A create request whose path leads out of the root leaves nothing there.', async () => {
  const harness = await onShared();
  using outside = tempDirectory('outside');
  const { path: place } = await create(harness, { worktree_name: 'other' });
  const parent = path.dirname(place);
  fs.renameSync(parent, `${parent}.away`);
  fs.symlinkSync(outside.path, parent);
  await expectError(create(harness), 'conflict');
  expect(fs.readdirSync(outside.path)).toEqual([]);
  expect(branches(harness.repo)).not.toContain('cadre/tree');
});

test('A create request for a branch with a damaged commit is refused for that reason.', async () => {
  const harness = await onShared();
  write(harness.repo, { 'a.txt': 'lost' });
  git(harness.repo, 'switch', '--quiet', '--create', 'damaged/tree');
  const lost = commit(harness.repo, 'lost');
  git(harness.repo, 'switch', '--quiet', 'main');
  const file = path.join(harness.repo, '.git/objects', lost.slice(0, 2), lost.slice(2));
  fs.chmodSync(file, 0o600);
  fs.writeFileSync(file, 'damaged');
  await expectError(
    create(harness, { branch_prefix: 'damaged' }),
    'conflict',
    /damaged\/tree.*already exists/,
  );
});

test('A create request of an unknown or closed session is refused.', async () => {
  const harness = await onShared();
  const unknown = create({ ...harness, session: 'sess_none' });
  await expectError(unknown, 'not_found');
  await close(harness, harness.session);
  await expectError(create(harness), 'session_closed');
});

test('A worktree of a repository whose .git is a link starts from it, not from the repository around it.', async () => {
  const harness = await onShared();
  const linked = makeRepository(path.join(harness.directory, 'linked'));
  write(linked, { 'a.txt': 'linked\n' });
  const head = commit(linked, 'of the linked one');
  const inner = path.join(harness.repo, 'inner');
  fs.mkdirSync(inner);
  fs.symlinkSync(path.join(linked, '.git'), path.join(inner, '.git'));
  const made = await create(harness, { repo_root: inner });
  expect(made).toMatchObject({ repo_root: linked, base_commit: head });
  expect(read(made.path, 'a.txt')).toBe('linked\n');
});

test('A second server on the same repository leaves the worktree of the first one alone.', async () => {
  const one = await testWorktreeHarness();
  const two = await testWorktreeHarness();
  const made = await create(one);
  const request = { repo_root: one.repo };
  await expectError(create(two, request), 'conflict');
  expect(read(made.path, 'a.txt')).toBe('one\n');
  const other = await create(two, { ...request, worktree_name: 'two' });
  expect(known(one.repo).toSorted()).toEqual([made.path, other.path].toSorted());
  expect((await get(one, made)).status).toBe('active');
});
