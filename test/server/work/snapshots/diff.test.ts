import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import type { SessionDiff } from '../../../../src/api/diffs.ts';
import type { QueryInputOf } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { runHere } from '../../../support/cli/cadre.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { openedFifo, stateOf } from './state.ts';
import { openSession } from '../../../support/turns.ts';
import {
  commit,
  git,
  makeRepository,
  read,
  type Server,
  sharedWorktreeHarnesses,
  write,
  testWorktreeHarness,
} from '../../../support/worktrees/work.ts';

const onShared = sharedWorktreeHarnesses();

function diff(
  { client }: Server,
  session_id: string,
  query: QueryInputOf<typeof endpoints.getSessionDiff> = {},
): Promise<SessionDiff> {
  return client.call(endpoints.getSessionDiff, { params: { session_id }, query });
}

/** Each file as `status path`, and its patch from the first hunk on. */
function summaryOf({ files }: SessionDiff): [string, string | null][] {
  return files.map(({ status, path: name, patch }) => [
    `${status} ${name}`,
    patch?.slice(patch.indexOf('@@')) ?? null,
  ]);
}

/** Commits all there is; git's log of HEAD, which counts seconds, has it after everything that is there. */
function commitLater(repo: string): void {
  commit(repo, 'of the agent');
  const log = path.join(repo, '.git/logs/HEAD');
  const lines = fs.readFileSync(log, 'utf8');
  fs.writeFileSync(
    log,
    lines.replace(/(\d+)( \S+\t.*\n)$/, (_, at, rest) => `${Number(at) + 5}${rest}`),
  );
}

/** Has the time of some work pass once git waits for a FIFO. */
async function isLate(work: Promise<unknown>, pipe: string, clock: ManualClock): Promise<unknown> {
  work.catch(() => undefined);
  const fd = await openedFifo(pipe);
  clock.advance(20_001);
  return work.finally(() => fs.closeSync(fd));
}

test('A diff shows committed, staged, changed, deleted and untracked files, and leaves the repository as it is.', async () => {
  const { harness, repo, session } = await onShared();
  write(repo, { 'a.txt': 'one\ntwo\n', '.gitignore': 'build\n' });
  commitLater(repo);
  write(repo, { 'staged.txt': 'staged\n', 'build/out': 'ignored\n', 'new dir/ü.txt': 'new\n' });
  git(repo, 'add', 'staged.txt');
  fs.rmSync(path.join(repo, 'sub/b.txt'));
  const before = stateOf(repo);
  const found = await diff(harness, session);
  expect(summaryOf(found)).toEqual([
    ['added .gitignore', '@@ -0,0 +1 @@\n+build\n'],
    ['modified a.txt', '@@ -1 +1,2 @@\n one\n+two\n'],
    ['added new dir/ü.txt', '@@ -0,0 +1 @@\n+new\n'],
    ['added staged.txt', '@@ -0,0 +1 @@\n+staged\n'],
    ['deleted sub/b.txt', '@@ -1 +0,0 @@\n-two\n'],
  ]);
  expect(found).toMatchObject({
    root: repo,
    base: { kind: 'session', turn_id: null },
    files_changed: 5,
    additions: 4,
    deletions: 1,
    is_cut: false,
    left_out_count: 0,
  });
  expect(stateOf(repo)).toBe(before);
  const uncommitted = await diff(harness, session, { against: 'head', stat: true });
  expect(uncommitted.base).toMatchObject({ kind: 'head', commit: found.head_commit });
  expect(summaryOf(uncommitted)).toEqual([
    ['added new dir/ü.txt', null],
    ['added staged.txt', null],
    ['deleted sub/b.txt', null],
  ]);
  const below = await diff(harness, session, { path: ['sub', 'a.txt'] });
  expect(below.files.map((file) => file.path)).toEqual(['a.txt', 'sub/b.txt']);
});

test('A diff compares a worktree with its base commit.', async () => {
  const { harness, client, repo } = await onShared();
  const { id, cwd } = await openSession(client, repo, { worktree: true });
  write(cwd, { 'a.txt': 'agent\n' });
  commit(cwd, 'in the worktree');
  write(cwd, { 'more.txt': 'more\n' });
  // The main worktree is somebody else's.
  write(repo, { 'a.txt': 'person\n' });
  const found = await diff(harness, id);
  expect(found.base).toEqual({
    kind: 'worktree',
    commit: git(repo, 'rev-parse', 'HEAD'),
    turn_id: null,
  });
  expect(found.root).toBe(cwd);
  expect(summaryOf(found)).toEqual([
    ['modified a.txt', '@@ -1 +1 @@\n-one\n+agent\n'],
    ['added more.txt', '@@ -0,0 +1 @@\n+more\n'],
  ]);
});

test('A diff of a worktree leaves out changes that came from its base branch or were merged into it.', async () => {
  const { harness, client, repo } = await onShared();
  write(repo, { 'before.txt': 'person\n' });
  const base = commit(repo, 'before');
  const { id, cwd } = await openSession(client, repo, { worktree: true });
  const names = async () => (await diff(harness, id, { stat: true })).files.map((one) => one.path);
  write(cwd, { 'mine.txt': 'agent\n' });
  commit(cwd, 'in the worktree');
  const theirs = () => commit(repo, 'of somebody else');
  write(repo, { 'theirs.txt': 'person\n' });
  const shared = theirs();
  git(cwd, 'merge', '-q', '-m', 'both', shared);
  expect(await names()).toEqual(['mine.txt']);
  expect((await diff(harness, id)).base).toMatchObject({ kind: 'worktree', commit: shared });
  write(repo, { 'later.txt': 'person\n' });
  git(cwd, 'rebase', '-q', theirs());
  expect(await names()).toEqual(['mine.txt']);
  git(repo, 'merge', '-q', '--ff-only', git(cwd, 'rev-parse', 'HEAD'));
  write(cwd, { 'next.txt': 'agent\n' });
  expect(await names()).toEqual(['next.txt']);
  // A reset of the branch does not attribute the work of others to the session.
  git(repo, 'reset', '-q', '--hard', `${base}~`);
  expect((await diff(harness, id)).base.commit).toBe(base);
  git(repo, 'branch', '-m', 'main', 'another');
  expect((await diff(harness, id)).base.commit).toBe(base);
});

test('A diff runs no program of the repository, and no attribute hides a change.', async () => {
  const { harness, repo, session, directory } = await onShared();
  const trip = path.join(directory, 'trip');
  fs.writeFileSync(trip, `#!/bin/sh\ntouch '${directory}/ran'\ncat\n`, { mode: 0o755 });
  const names = ['core.fsmonitor', 'diff.external', 'diff.t.command', 'diff.t.textconv'];
  for (const name of [...names, 'filter.t.clean', 'filter.t.smudge', 'filter.t.process'])
    git(repo, 'config', name, trip);
  git(repo, 'config', 'core.hooksPath', directory);
  for (const hook of ['post-index-change', 'reference-transaction'])
    fs.copyFileSync(trip, path.join(directory, hook));
  write(repo, {
    '.gitattributes': '* diff=t filter=t ident text working-tree-encoding=UTF-16\n*.txt binary\n',
    'a.txt': 'one\n$Id: mine $\r\n',
  });
  write(path.join(repo, '.git/info'), { attributes: '*.txt -diff\n' });
  const found = await diff(harness, session, { path: ['a.txt'] });
  expect(summaryOf(found)).toEqual([['modified a.txt', '@@ -1 +1,2 @@\n one\n+$Id: mine $\r\n']]);
  expect(fs.existsSync(path.join(directory, 'ran'))).toBe(false);
});

test('A diff ends at its time limit and names the special file that git waits for.', async () => {
  const clock = new ManualClock();
  const harness = await testWorktreeHarness({ clock });
  const { repo, session } = harness;
  const pipe = path.join(harness.directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const config = path.join(repo, '.git/config');
  const settings = read(repo, '.git/config');
  git(repo, 'config', 'include.path', pipe);
  await expect(isLate(diff(harness, session), pipe, clock)).rejects.toMatchObject({
    message: 'reading the files of the session took longer than 20 s',
  });
  fs.writeFileSync(config, settings);
  makeRepository(path.join(repo, 'inner'));
  const head = path.join(repo, 'inner/.git/HEAD');
  fs.rmSync(head);
  execFileSync('mkfifo', [head]);
  await expect(isLate(diff(harness, session), head, clock)).rejects.toMatchObject({
    message: expect.stringContaining('inner/.git/HEAD is not a regular file'),
  });
});

test('A diff in a pipe is a patch that git applies; a file that it cannot contain is a comment and a line on stderr.', async () => {
  const { harness, repo, session, directory } = await onShared();
  const line = `${'x'.repeat(99)}\n`;
  const binary = (seed: number) =>
    Buffer.from(Array.from({ length: 300 }, (_, at) => (at * seed) % 256));
  write(repo, { 'old.bin': binary(7), 'gone.bin': binary(11), 'latin.txt': 'one\n' });
  commitLater(repo);
  write(repo, {
    'a.txt': 'eins\nzwei',
    'old.bin': binary(13),
    'new.bin': binary(17),
    'latin.txt': Buffer.from('caf\xe9\n', 'latin1'),
    'long.txt': line.repeat(6000),
  });
  fs.rmSync(path.join(repo, 'gone.bin'));
  const env = { CADRE_URL: harness.url, CADRE_TOKEN: harness.token };
  const run = await runHere(directory, ['diff', session, '--head'], { env });
  expect(run.code).toBe(0);
  const clone = path.join(directory, 'clone');
  git(repo, 'clone', '--quiet', repo, clone);
  execFileSync('git', ['apply', '-'], { cwd: clone, input: run.stdout });
  for (const name of ['a.txt', 'old.bin', 'new.bin'])
    expect(read(clone, name)).toBe(read(repo, name));
  expect(fs.existsSync(path.join(clone, 'gone.bin'))).toBe(false);
  expect(read(clone, 'latin.txt')).toBe('one\n');
  const notes = [
    'latin.txt is left out of the patch: its patch is not UTF-8',
    'long.txt is left out of the patch: it is too large',
  ];
  expect(run.stdout.split('\n').slice(0, 2)).toEqual(notes.map((note) => `# ${note}`));
  for (const note of notes) expect(run.stderr).toContain(`cadre: ${note}\n`);
});

test('A diff names what it leaves out: binary files, large files, nested repositories, and files beyond the limit.', async () => {
  const { harness, repo, session } = await onShared();
  makeRepository(path.join(repo, 'inner'));
  const line = `${'x'.repeat(99)}\n`;
  write(repo, {
    'binary.dat': Buffer.from([0, 1, 2]),
    'long.txt': line.repeat(6000),
    'longer.txt': line.repeat(30_000),
  });
  fs.truncateSync(path.join(repo, 'a.txt'), 33 * 1024 * 1024);
  for (let at = 0; at < 9; at += 1) write(repo, { [`many/${at}.txt`]: line.repeat(5100) });
  const found = await diff(harness, session);
  const reasons = found.files.map((file) => [file.path, file.no_patch, file.new_bytes]);
  expect(reasons).toEqual([
    ['binary.dat', 'binary', 3],
    ['long.txt', 'large', null],
    ['longer.txt', 'large', 3_000_000],
    ...Array.from({ length: 8 }, (_, at) => [`many/${at}.txt`, null, null]),
    ['many/8.txt', 'limit', null],
  ]);
  expect(found).toMatchObject({ is_cut: true, left_out_count: 2 });
  expect(found.left_out).toEqual([
    { path: 'inner', reason: 'repository', bytes: null },
    { path: 'a.txt', reason: 'large', bytes: 33 * 1024 * 1024 },
  ]);
  const one = await diff(harness, session, { path: ['many/8.txt'] });
  expect(one.files.map((file) => file.no_patch)).toEqual([null]);
});

test('A diff is refused outside of a repository and for a removed worktree.', async () => {
  const { harness, client, repo, directory } = await onShared();
  const outside = await openSession(client, directory);
  await expectError(diff(harness, outside.id), 'conflict', 'is not in a usable git repository');
  const { id, cwd } = await openSession(client, repo, { worktree: true });
  fs.rmSync(cwd, { recursive: true });
  git(repo, 'worktree', 'prune');
  await expectError(diff(harness, id), 'conflict', 'no longer exists');
});
