import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Worktree } from '../../../src/api/worktrees.ts';
import { testServer, type TestServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';
import { scaled } from '../../support/patience.ts';
import {
  commit,
  create,
  git,
  kindsOf,
  makeRepository,
  read,
  write,
} from '../../support/worktrees/work.ts';

interface Life {
  repo: string;
  tree: Worktree;
  before: string;
  server: TestServer;
}

/** Lets a server die while it merges a worktree with changes that are not committed, and looks after the next start. */
async function expectAfterDeath(
  point: string,
  {
    meanwhile,
    after,
  }: { meanwhile?: (serverRun: Life) => unknown; after: (serverRun: Life) => unknown },
): Promise<void> {
  const place = testDirectory('merge');
  const data = path.join(place, 'data');
  fs.mkdirSync(data);
  const repo = makeRepository(path.join(place, 'repo'));
  const person = '[user]\n\tname = Ada\n\temail = ada@example.org\n';
  fs.appendFileSync(path.join(repo, '.git/config'), person);
  write(repo, { 'goes.txt': 'goes\n', 'stays.txt': 'stays\n' });
  const before = commit(repo, 'second');
  let server = await testServer({ directory: data, env: { CADRE_FAILPOINTS: `${point}=kill` } });
  const { id: session } = await openSession(server.client, repo);
  const tree = await create({ ...server, session });
  write(tree.path, { 'a.txt': 'changed\n', 'new/file.txt': 'new\n' });
  fs.rmSync(path.join(tree.path, 'goes.txt'));
  commit(tree.path, 'mine');
  write(tree.path, { 'sub/b.txt': 'not yet committed\n' });
  const params = { worktree_id: tree.id };
  const body = { dry_run: false, commit_message: 'the rest' };
  await expectError(server.client.call(endpoints.mergeWorktree, { params, body }), 'unreachable');
  expect((await server.exited).signal).toBe('SIGKILL');
  expect(() => git(repo, 'add', 'a.txt')).toThrow(/index.lock/);
  await meanwhile?.({ repo, tree, before, server });
  server = await testServer({ directory: data });
  await after({ repo, tree, before, server });
  for (const directory of [repo, tree.path])
    expect(() => git(directory, 'update-index', '--refresh')).not.toThrow(/index.lock/);
  expect(fs.readdirSync(path.join(data, 'scratch'))).toEqual([]);
  const counts = await server.client.call(endpoints.getWorktreeDiagnostics, {});
  expect(counts.under_way).toBe(0);
}

async function expectMerged({ repo, tree, before, server }: Life): Promise<void> {
  expect(git(repo, 'log', '--format=%s', `${before}..main`)).toBe('the rest\nmine');
  expect(git(repo, 'rev-parse', 'main')).toBe(git(repo, 'rev-parse', 'cadre/tree'));
  expect(git(tree.path, 'status', '--porcelain')).toBe('');
  expect(read(repo, 'new/file.txt')).toBe('new\n');
  expect(fs.existsSync(path.join(repo, 'goes.txt'))).toBe(false);
  expect(await kindsOf(server)).toContain('worktree.merged');
}

describe('a server that is killed while it merges', { timeout: scaled(60_000) }, () => {
  test('A kill before the branches move leaves the repository and the worktree unchanged.', () =>
    expectAfterDeath('worktree.moving', {
      async after({ repo, tree, before, server }) {
        expect(git(repo, 'rev-parse', 'main')).toBe(before);
        expect(git(repo, 'status', '--porcelain')).toBe('');
        expect(git(tree.path, 'status', '--porcelain')).toBe(' M sub/b.txt');
        expect(await kindsOf(server)).not.toContain('worktree.merged');
      },
    }));

  test('After a kill once the branches have moved, the next start writes the files.', () =>
    expectAfterDeath('worktree.moved', {
      async after(serverRun) {
        await expectMerged(serverRun);
        expect(git(serverRun.repo, 'status', '--porcelain')).toBe('');
      },
    }));

  test('A start while the repository is not there leaves the merge to the next start.', () =>
    expectAfterDeath('worktree.moved', {
      async meanwhile({ repo, server: { directory } }) {
        fs.renameSync(repo, `${repo}-away`);
        const without = await testServer({ directory });
        await without.end('SIGTERM');
        fs.renameSync(`${repo}-away`, repo);
      },
      after: expectMerged,
    }));

  test('After a kill between two files, the next start writes the others, and keeps later edits of a person.', () =>
    expectAfterDeath('worktree.moved', {
      meanwhile({ repo }) {
        write(repo, {
          'a.txt': 'changed\n',
          'sub/b.txt': 'edited by hand\n',
          'stays.txt': 'edited, too\n',
        });
        fs.rmSync(path.join(repo, 'goes.txt'));
      },
      async after(serverRun) {
        await expectMerged(serverRun);
        expect(read(serverRun.repo, 'sub/b.txt')).toBe('edited by hand\n');
        expect(git(serverRun.repo, 'status', '--porcelain')).toBe(' M stays.txt\n M sub/b.txt');
      },
    }));

  test('After a kill once the files are written, the next start reports the merge.', () =>
    expectAfterDeath('worktree.followed', {
      async after(serverRun) {
        await expectMerged(serverRun);
        expect(git(serverRun.repo, 'status', '--porcelain')).toBe('');
      },
    }));

  test('If a person removes the lock of the killed server, the next start does not change the checkout.', () =>
    expectAfterDeath('worktree.moved', {
      meanwhile({ repo }) {
        fs.rmSync(path.join(repo, '.git/index.lock'));
        git(repo, 'reset', '-q', '--hard', 'HEAD~2');
        write(repo, { 'a.txt': 'by hand\n' });
      },
      after({ repo }) {
        expect(git(repo, 'status', '--porcelain')).toBe(' M a.txt');
      },
    }));
});
