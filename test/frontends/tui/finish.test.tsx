import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { noticeLines } from '../../../src/frontends/tui/notice.tsx';
import { testScreen } from './test-screen.tsx';
import { commit, git, makeRepository, write } from '../../support/worktrees/work.ts';

test('A refusal takes as many lines as it needs, and of one that no screen has room for the beginning is shown.', () => {
  const lines = (notice: string) => noticeLines({ notice }, { columns: 40, beside: 8 });
  expect(lines('')).toEqual([]);
  expect(lines('the session is busy: wait for it')).toEqual([
    'the session is busy: wait for',
    'it',
  ]);
  expect(lines('word '.repeat(100).trim())).toHaveLength(6);
  expect(lines('word '.repeat(100).trim()).at(-1)).toMatch(/^word .*…$/);
});

test('The worktree of a session is merged with keys, once it was shown what that does.', async () => {
  const { client, directory } = await testDemo();
  const repo = makeRepository(path.join(directory, 'repo'));
  git(repo, 'config', 'user.name', 'Ada');
  git(repo, 'config', 'user.email', 'ada@example.org');
  const body = {
    provider: 'acp' as const,
    cwd: repo,
    title: 'the job',
    worktree: { worktree_name: 'tree' },
  };
  await client.call(endpoints.createSession, { body });
  const [tree] = await client.call(endpoints.listWorktrees, { query: {} });
  write(tree?.path ?? '', { 'new.txt': 'mine\n' });
  const mine = commit(tree?.path ?? '', 'mine');
  const { expectShows, press } = testScreen(client, { page: 'top' });
  await expectShows('the job');
  await press('M').shows('cadre/tree into main: fast-forward');
  await expectShows('A new.txt +1 -0');
  await press('s').shows('one squashed commit');
  await press('b').shows('nothing to do');
  await press('y');
  expect(git(repo, 'rev-parse', 'main')).not.toBe(mine);
  write(repo, { 'a.txt': 'not committed\n' });
  await press('m').shows(/refused: [^│]*commit\s+or\s+stash\s+them\s+first/);
  git(repo, 'checkout', 'a.txt');
  await press('m').shows('y confirm');
  await press('y').shows('Merged cadre/tree into main (1 commit); the worktree is kept');
  await expectEventually(() => git(repo, 'rev-parse', 'main')).toBe(mine);
});

test('Changes of a worktree that are not committed are committed with a message, and merged, once that was shown.', async () => {
  const { client, directory } = await testDemo();
  const repo = makeRepository(path.join(directory, 'repo'));
  git(repo, 'config', 'user.name', 'Ada');
  git(repo, 'config', 'user.email', 'ada@example.org');
  const worktree = { worktree_name: 'tree' };
  const body = { provider: 'acp' as const, cwd: repo, title: 'the job', worktree };
  await client.call(endpoints.createSession, { body });
  const [tree] = await client.call(endpoints.listWorktrees, { query: {} });
  write(tree?.path ?? '', { 'new.txt': 'mine\n' });
  const { expectShows, expectHides, press } = testScreen(client, { page: 'top' });
  await expectShows('the job');
  await press('M').shows(/refused: [^│]*uncommitted\s+changes/);
  await expectShows('c commit all');
  await press('c').shows('Commit message:');
  // The keys of the dialog are letters of the message here.
  await press('my sum');
  await press('\r').shows('A new.txt +1 -0');
  await expectHides('refused');
  await expectShows('y confirm');
  await press('y').shows('Merged cadre/tree into main (1 commit); the worktree is kept');
  await expectEventually(() => git(repo, 'log', '-1', '--format=%s', 'main')).toBe('my sum');
});

test('A merge on the screen is confirmed only after its last file was shown.', async () => {
  const { client, directory } = await testDemo();
  const repo = makeRepository(path.join(directory, 'repo'));
  const worktree = { worktree_name: 'tree' };
  const body = { provider: 'acp' as const, cwd: repo, title: 'the job', worktree };
  await client.call(endpoints.createSession, { body });
  const [tree] = await client.call(endpoints.listWorktrees, { query: {} });
  const names = Array.from({ length: 60 }, (_, at) => [`f${at}.txt`, `${at}\n`]);
  write(tree?.path ?? '', Object.fromEntries(names));
  const mine = commit(tree?.path ?? '', 'mine');
  const { expectShows, expectHides, press } = testScreen(client, { page: 'top' });
  await expectShows('the job');
  await press('M').shows(/space \d+ more lines/);
  await press('y');
  await press('G').shows('f9.txt');
  await expectShows('y confirm');
  // A changed plan has lines that were not shown yet.
  await press('s').shows('one squashed commit');
  await expectHides('y confirm');
  expect(git(repo, 'rev-parse', 'main')).not.toBe(mine);
  await press('m').shows('fast-forward');
  await press('G').shows('y confirm');
  await press('y').shows('Merged cadre/tree into main (1 commit)');
  expect(git(repo, 'rev-parse', 'main')).toBe(mine);
});
