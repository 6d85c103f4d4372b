import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { openSession } from '../../../support/turns.ts';
import { Gate, kill, run } from '../../../support/processes/work.ts';
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
  read,
  release,
  sharedWorktreeHarnesses,
  write,
  testWorktreeHarness,
  withTree,
} from '../../../support/worktrees/work.ts';

const onShared = sharedWorktreeHarnesses();

test('A session has one claim on a worktree: the same role returns it, another role is a conflict.', async () => {
  const { harness, tree } = await withTree(testWorktreeHarness());
  const { id } = await openSession(harness.client, harness.repo);
  const first = await claim(harness, tree, id);
  expect(first).toMatchObject({ worktree_id: tree.id, session_id: id, claim_role: 'consumer' });
  expect(await claim(harness, tree, id, 'consumer')).toEqual(first);
  await expectError(claim(harness, tree, id, 'owner'), 'claim_conflict');
  const third = await openSession(harness.client, harness.repo);
  expect((await claim(harness, tree, third.id, 'owner')).claim_role).toBe('owner');
  expect(await kindsOf(harness)).toEqual([
    'worktree.created',
    ...Array.from({ length: 3 }, () => 'worktree.claimed'),
  ]);
});

test('A claim by an unknown or closed session, or of an unknown or cleaned worktree, is refused.', async () => {
  const { harness, tree } = await withTree(onShared());
  const { id } = await openSession(harness.client, harness.repo);
  await expectError(claim(harness, tree, 'sess_x'), 'not_found');
  await expectError(claim(harness, { id: 'wt_x' }, id), 'not_found');
  await expectError(release(harness, tree, id), 'not_found');
  await letGo(harness, tree);
  await expectError(claim(harness, tree, id), 'conflict');
  await expectError(release(harness, tree, harness.session), 'not_found');
  await close(harness, id);
  await expectError(claim(harness, tree, id), 'session_closed');
});

test('A claim of a worktree whose path is missing is refused, and an event reports the missing path.', async () => {
  const { harness, tree } = await withTree(onShared());
  fs.rmSync(tree.path, { recursive: true });
  const { id } = await openSession(harness.client, harness.repo);
  await expectError(claim(harness, tree, id), 'conflict');
  expect((await get(harness, tree)).status).toBe('missing');
});

test('The worktree_id of a session is the worktree of its newest claim.', async () => {
  const { harness, tree: one } = await withTree(onShared(), { worktree_name: 'one' });
  const two = await create(harness, { worktree_name: 'two' });
  const params = { session_id: harness.session };
  const worktreeOf = async (): Promise<string | null> => {
    const { worktree_id } = await harness.client.call(endpoints.getSession, { params });
    return worktree_id;
  };
  expect(await worktreeOf()).toBe(two.id);
  await release(harness, two, harness.session);
  expect(await worktreeOf()).toBe(one.id);
  await release(harness, one, harness.session);
  expect(await worktreeOf()).toBeNull();
});

test('The last release removes path and branch of a worktree without work, and archives nothing.', async () => {
  const { harness, tree } = await withTree(testWorktreeHarness());
  const { id } = await openSession(harness.client, harness.repo);
  await claim(harness, tree, id);
  const first = await release(harness, tree, id);
  expect(first).toMatchObject({
    claim: { session_id: id, released_at: expect.any(Number) },
    active_claims: 1,
    cleanup: null,
    worktree: { status: 'active' },
  });
  const last = await release(harness, tree, harness.session);
  expect(last).toMatchObject({
    active_claims: 0,
    worktree: { status: 'cleaned' },
    cleanup: {
      status: 'cleaned',
      deleted_path: true,
      deleted_branch: true,
      archive_ref: null,
      active_claims: 0,
      diagnostics: [],
    },
  });
  expect(fs.existsSync(tree.path)).toBe(false);
  expect(branches(harness.repo)).toEqual(['main']);
  expect(known(harness.repo)).toEqual([]);
  expect(git(harness.repo, 'for-each-ref', 'refs/cadre')).toBe('');
  expect((await kindsOf(harness)).slice(3)).toEqual([
    'worktree.released',
    'worktree.released',
    'worktree.cleaned',
  ]);
});

test('The last release removes a worktree with merged commits without an archive.', async () => {
  const { harness, tree } = await withTree(onShared());
  write(tree.path, { 'c.txt': 'c\n' });
  commit(tree.path, 'mine');
  git(harness.repo, 'merge', '--quiet', 'cadre/tree');
  expect(await letGo(harness, tree)).toMatchObject({ status: 'cleaned', archive_ref: null });
  expect(read(harness.repo, 'c.txt')).toBe('c\n');
});

test('A last release without cleanup_if_last_claim retains the worktree.', async () => {
  const { harness, tree } = await withTree(testWorktreeHarness());
  const last = await release(harness, tree, harness.session, false);
  expect(last).toMatchObject({ cleanup: null, worktree: { status: 'retained' } });
  expect(fs.existsSync(tree.path)).toBe(true);
  expect((await kindsOf(harness)).slice(2)).toEqual(['worktree.released', 'worktree.retained']);
  expect(await cleanUp(harness, tree, 'enough')).toMatchObject({ status: 'cleaned' });
  const cleaned = (await events(harness)).at(-1);
  expect(cleaned?.payload).toMatchObject({ reason: 'enough', worktree: { status: 'cleaned' } });
});

test('The last release retains a worktree with the policy retain_on_last_claim.', async () => {
  const { harness, tree } = await withTree(testWorktreeHarness(), {
    deletion_policy: 'retain_on_last_claim',
  });
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'retained_by_policy',
    deleted_path: false,
    worktree: { status: 'retained' },
  });
  expect((await cleanUp(harness, tree)).status).toBe('retained_by_policy');
  expect((await kindsOf(harness)).slice(2)).toEqual(['worktree.released', 'worktree.retained']);
});

test('The last release removes a clean worktree with the policy delete_if_clean.', async () => {
  const { harness, tree: clean } = await withTree(onShared(), {
    deletion_policy: 'delete_if_clean',
  });
  expect((await letGo(harness, clean)).status).toBe('cleaned');
});

const works: [string, (place: string) => void][] = [
  ['an untracked file', (place) => write(place, { new: 'x' })],
  ['a changed file', (place) => write(place, { 'a.txt': 'x' })],
  ['a commit', (place) => void commit(place, 'empty')],
  ['a file that was removed', (place) => fs.rmSync(path.join(place, 'a.txt'))],
];
test.for(works)(
  'The last release retains a worktree that has %s with the policy delete_if_clean.',
  async ([, work]) => {
    const { harness, tree } = await withTree(onShared(), { deletion_policy: 'delete_if_clean' });
    work(tree.path);
    expect(await letGo(harness, tree)).toMatchObject({
      status: 'retained_by_policy',
      archive_ref: null,
    });
    expect(fs.existsSync(tree.path)).toBe(true);
  },
);

test('A worktree without a requested policy has the configured one.', async () => {
  const { tree } = await withTree(
    testWorktreeHarness({
      config: { worktrees: { deletion_policy_default: 'retain_on_last_claim' } },
    }),
  );
  expect(tree.deletion_policy).toBe('retain_on_last_claim');
});

test('A cleanup is skipped while a session claims the worktree, and names the session.', async () => {
  const { harness, tree } = await withTree(onShared());
  expect(await cleanUp(harness, tree)).toMatchObject({
    status: 'skipped_active_claims',
    active_claims: 1,
    diagnostics: [`session ${harness.session} claims the worktree`],
  });
  await expectError(cleanUp(harness, { id: 'wt_x' }), 'not_found');
});

test('A cleanup is skipped while an open session works in the worktree or below it.', async () => {
  const { harness, tree } = await withTree(onShared());
  const { id } = await openSession(harness.client, path.join(tree.path, 'sub'));
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'skipped_active_claims',
    active_claims: 0,
    diagnostics: [`session ${id} works in the worktree`],
  });
  await close(harness, id);
  expect((await cleanUp(harness, tree)).status).toBe('cleaned');
});

test('A cleanup is skipped while a process runs in the worktree; a process beside it does not matter.', async () => {
  const { harness, tree } = await withTree(onShared());
  using gate = new Gate(harness.directory);
  const beside = await create(harness, { worktree_name: 'tree2' });
  const other = await run(harness, gate.wait, { cwd: beside.path });
  const inside = await run(harness, gate.wait, { cwd: tree.path });
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'skipped_active_claims',
    diagnostics: [`process ${inside.process_id} runs in the worktree`],
  });
  await kill(harness, inside);
  await harness.client.call(endpoints.waitForProcess, {
    params: { process_id: inside.process_id },
    query: {},
  });
  expect((await cleanUp(harness, tree)).status).toBe('cleaned');
  await kill(harness, other);
});

test('The cleanup of a cleaned worktree changes nothing.', async () => {
  const { harness, tree } = await withTree(testWorktreeHarness());
  await letGo(harness, tree);
  const before = (await events(harness)).length;
  expect(await cleanUp(harness, tree)).toMatchObject({
    status: 'cleaned',
    deleted_path: false,
    deleted_branch: false,
  });
  expect(await events(harness)).toHaveLength(before);
});

test('The cleanup of a missing worktree archives the commits of its branch and removes the branch.', async () => {
  const { harness, tree } = await withTree(onShared());
  const tip = commit(tree.path, 'mine');
  fs.rmSync(tree.path, { recursive: true });
  await release(harness, tree, harness.session, false);
  const cleaned = await cleanUp(harness, tree);
  expect(cleaned).toMatchObject({
    status: 'cleaned',
    deleted_path: false,
    deleted_branch: true,
  });
  expect(git(harness.repo, 'merge-base', tip, cleaned.archive_ref ?? '')).toBe(tip);
  expect(known(harness.repo)).toEqual([]);
});

test('The cleanup of a locked worktree fails with the reason and keeps the path.', async () => {
  const { harness, tree } = await withTree(testWorktreeHarness());
  git(harness.repo, 'worktree', 'lock', '--reason', 'on a stick', tree.path);
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'failed',
    diagnostics: [expect.stringContaining('locked (on a stick)')],
    worktree: { status: 'retained' },
  });
  expect((await kindsOf(harness)).at(-1)).toBe('worktree.cleanup_failed');
  git(harness.repo, 'worktree', 'unlock', tree.path);
  expect((await cleanUp(harness, tree)).status).toBe('cleaned');
});

test('The cleanup of a worktree without its repository fails and keeps the files.', async () => {
  const { harness, tree } = await withTree(onShared());
  fs.renameSync(harness.repo, `${harness.repo}.away`);
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'failed',
    diagnostics: [expect.stringContaining('no longer exists')],
  });
  expect(read(tree.path, 'a.txt')).toBe('one\n');
});

test('A cleanup fails if another repository is inside the worktree or in its place.', async () => {
  const { harness, tree } = await withTree(onShared());
  const inner = path.join(tree.path, 'vendor/inner');
  fs.mkdirSync(inner, { recursive: true });
  git(inner, 'init', '--quiet');
  write(inner, { x: 'x' });
  commit(inner, 'mine');
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'failed',
    diagnostics: [expect.stringContaining('vendor/inner')],
  });
  fs.rmSync(path.join(tree.path, 'vendor'), { recursive: true });
  fs.rmSync(path.join(tree.path, '.git'));
  git(tree.path, 'init', '--quiet');
  expect(await cleanUp(harness, tree)).toMatchObject({
    status: 'failed',
    diagnostics: [expect.stringContaining('another repository')],
  });
  expect(read(tree.path, 'a.txt')).toBe('one\n');
});

test('A cleanup fails if a submodule has commits or changes that no remote has, and succeeds otherwise.', async () => {
  const harness = await onShared();
  const library = path.join(harness.directory, 'library');
  git(harness.directory, 'clone', '--quiet', harness.repo, library);
  const allow = ['-c', 'protocol.file.allow=always'];
  git(harness.repo, ...allow, 'submodule', '--quiet', 'add', library, 'lib');
  commit(harness.repo, 'with a submodule');
  const tree = await create(harness);
  git(tree.path, ...allow, 'submodule', '--quiet', 'update', '--init');
  write(path.join(tree.path, 'lib'), { mine: 'mine' });
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'failed',
    diagnostics: [expect.stringContaining('(lib)')],
  });
  fs.rmSync(path.join(tree.path, 'lib/mine'));
  expect(await cleanUp(harness, tree)).toMatchObject({ status: 'cleaned', diagnostics: [] });
});

test('A cleanup keeps a branch that is checked out in another place.', async () => {
  const { harness, tree } = await withTree(onShared());
  git(tree.path, 'checkout', '--quiet', '--detach');
  git(harness.repo, 'checkout', '--quiet', 'cadre/tree');
  expect(await letGo(harness, tree)).toMatchObject({
    status: 'cleaned',
    deleted_branch: false,
    diagnostics: [expect.stringContaining('checked out in')],
  });
  expect(branches(harness.repo)).toContain('cadre/tree');
});

test('A stale lock of git or a read-only directory does not prevent a cleanup.', async () => {
  const { harness, tree } = await withTree(onShared());
  const admin = git(tree.path, 'rev-parse', '--absolute-git-dir');
  write(tree.path, { 'closed/x': 'x', new: 'new' });
  fs.chmodSync(path.join(tree.path, 'closed'), 0o500);
  fs.writeFileSync(path.join(admin, 'index.lock'), '');
  const cleaned = await letGo(harness, tree);
  expect(cleaned).toMatchObject({ status: 'cleaned', diagnostics: [] });
  expect(git(harness.repo, 'show', `${cleaned.archive_ref}:closed/x`)).toBe('x');
});

test('The close of a session releases its claims in the same transaction and cleans up nothing.', async () => {
  const { harness, tree: one } = await withTree(testWorktreeHarness(), { worktree_name: 'one' });
  const two = await create(harness, { worktree_name: 'two' });
  const { id } = await openSession(harness.client, harness.repo);
  await claim(harness, two, id);
  const before = (await events(harness)).at(-1)?.seq ?? 0;
  const closed = await close(harness, harness.session);
  expect(closed.worktree_id).toBeNull();
  const found = (await events(harness)).filter(({ seq }) => seq > before);
  expect(found.map(({ kind, worktree_id }) => [kind, worktree_id])).toEqual([
    ['worktree.released', one.id],
    ['worktree.retained', one.id],
    ['worktree.released', two.id],
    ['session.closed', null],
  ]);
  expect(found.map(({ seq }) => seq - before)).toEqual([1, 2, 3, 4]);
  expect(await get(harness, one)).toMatchObject({ status: 'retained' });
  expect(await get(harness, two)).toMatchObject({ status: 'active' });
  expect(fs.existsSync(one.path)).toBe(true);
});

test('A gc lists worktrees without claims with their sizes, and removes them without dry_run.', async () => {
  const { harness, tree: claimed } = await withTree(testWorktreeHarness(), {
    worktree_name: 'claimed',
  });
  const { id: session } = await openSession(harness.client, harness.repo);
  const mine = { ...harness, session };
  const loose = await create(mine, { worktree_name: 'loose' });
  const kept = await create(mine, {
    worktree_name: 'kept',
    deletion_policy: 'retain_on_last_claim',
  });
  write(loose.path, { big: Buffer.alloc(5000) });
  await close(harness, session);
  const collect = (body: { dry_run?: boolean }) =>
    harness.client.call(endpoints.collectWorktrees, { body });
  const found = await collect({});
  expect(found.worktrees.map(({ id }) => id)).toEqual([loose.id, kept.id]);
  expect(found.worktrees[0]).toMatchObject({
    status: 'retained',
    reason: 'not claimed: would be archived and removed',
  });
  expect(found.worktrees[0]?.bytes).toBeGreaterThan(5000);
  expect(fs.existsSync(loose.path)).toBe(true);
  const done = await collect({ dry_run: false });
  expect(done.worktrees.map(({ status }) => status)).toEqual(['cleaned', 'retained']);
  expect([loose, kept, claimed].map(({ path: place }) => fs.existsSync(place))).toEqual([
    false,
    true,
    true,
  ]);
  const { archive_ref } = await get(harness, loose);
  expect(git(harness.repo, 'cat-file', '-s', `${archive_ref}:big`)).toBe('5000');
  const counts = await harness.client.call(endpoints.getWorktreeDiagnostics, {});
  expect(counts).toEqual({
    active: 1,
    retained: 1,
    cleaned: 1,
    missing: 0,
    active_claims: 1,
    under_way: 0,
  });
});
