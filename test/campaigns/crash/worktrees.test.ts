import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Worktree } from '../../../src/api/worktrees.ts';
import { testServer, type TestServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';
import {
  branches,
  cleanUp,
  commit,
  create,
  get,
  git,
  known,
  kindsOf,
  makeRepository,
  read,
  release,
  restore,
  write,
} from '../../support/worktrees/work.ts';

interface Life extends TestServer {
  repo: string;
  session: string;
}

/**
 * Runs `before`, then `dying` on a server that dies at a place, and `after` on the next one. Where `before` passes that
 * place, too, it has a server of its own.
 */
async function expectMended<T>(
  point: string,
  {
    before,
    dying,
    after,
    isPassedBefore = false,
  }: {
    before: (serverRun: Life) => Promise<T>;
    dying: (serverRun: Life, left: T) => Promise<unknown>;
    after: (serverRun: Life, left: T) => Promise<void>;
    isPassedBefore?: boolean;
  },
): Promise<void> {
  const place = testDirectory('death');
  const data = path.join(place, 'data');
  fs.mkdirSync(data);
  const repo = makeRepository(path.join(place, 'repo'));
  const deadly = { env: { CADRE_FAILPOINTS: `${point}=kill` } };
  let server = await testServer({ directory: data, ...(isPassedBefore ? {} : deadly) });
  const { id: session } = await openSession(server.client, repo);
  const left = await before({ ...server, repo, session });
  if (isPassedBefore) {
    await server.end('SIGTERM');
    server = await testServer({ directory: data, ...deadly });
  }
  await expectError(dying({ ...server, repo, session }, left), 'unreachable');
  expect((await server.exited).signal).toBe('SIGKILL');
  server = await testServer({ directory: data });
  await after({ ...server, repo, session }, left);
  expect(fs.readdirSync(path.join(data, 'scratch'))).toEqual([]);
  const counts = await server.client.call(endpoints.getWorktreeDiagnostics, {});
  expect(counts.under_way).toBe(0);
  for (const name of fs
    .readdirSync(path.join(data, 'worktrees'))
    .filter((one) => one.startsWith('.')))
    expect(fs.readdirSync(path.join(data, 'worktrees', name))).toEqual([]);
}

/** Work of each kind in a worktree. */
function work({ path: place }: Worktree): void {
  write(place, { 'committed.txt': 'committed\n' });
  commit(place, 'mine');
  write(place, { 'staged.txt': 'staged\n' });
  git(place, 'add', '--all');
  write(place, { 'staged.txt': 'changed\n', 'untracked.txt': 'untracked\n' });
}

function expectWork({ path: place }: Worktree): void {
  expect(git(place, 'symbolic-ref', '--short', 'HEAD')).toBe('cadre/tree');
  expect(git(place, 'show', 'HEAD:committed.txt')).toBe('committed');
  expect(git(place, 'show', ':staged.txt')).toBe('staged');
  expect(read(place, 'staged.txt')).toBe('changed\n');
  expect(read(place, 'untracked.txt')).toBe('untracked\n');
  expect(git(place, 'status', '--porcelain')).toBe('AM staged.txt\n?? untracked.txt');
}

/** The record and the repository say the same. */
function expectTruth({ repo }: Life, tree: Worktree): void {
  const refs = git(repo, 'for-each-ref', '--format=%(refname)', 'refs/cadre');
  expect(refs).toBe(tree.archive_ref ?? '');
  const isThere = tree.status === 'active' || tree.status === 'retained';
  expect(fs.existsSync(tree.path)).toBe(isThere);
  expect(branches(repo)).toEqual(isThere ? ['cadre/tree', 'main'] : ['main']);
  expect(known(repo)).toEqual(isThere ? [tree.path] : []);
}

async function cleaned(serverRun: Life): Promise<Worktree> {
  const tree = await create(serverRun);
  work(tree);
  const { cleanup } = await release(serverRun, tree, serverRun.session);
  expect(cleanup?.status).toBe('cleaned');
  return tree;
}

test.for(['worktree.creating', 'worktree.added', 'worktree.included'])(
  'After a kill at %s, no worktree is left, and its name is free.',
  (point) =>
    expectMended(point, {
      before: async () => undefined,
      dying: (serverRun) => create(serverRun),
      async after(serverRun) {
        expect(await serverRun.client.call(endpoints.listWorktrees, { query: {} })).toEqual([]);
        expect([branches(serverRun.repo), known(serverRun.repo)]).toEqual([['main'], []]);
        const made = await create(serverRun);
        expect(made.created).toBe(true);
        expectTruth(serverRun, made);
      },
    }),
);

test('After a kill during the init script, no worktree and no process of the script is left.', () =>
  expectMended('child.registered', {
    async before({ repo }) {
      write(repo, { '.cadre/worktree-init.sh': 'echo x > made; sleep 300\n' });
      commit(repo, 'with a script');
    },
    dying: (serverRun) => create(serverRun, { run_init_script: true }),
    async after(serverRun) {
      expect([branches(serverRun.repo), known(serverRun.repo)]).toEqual([['main'], []]);
    },
  }));

test.for([
  ['worktree.archived', 'retained'],
  ['worktree.aside', 'cleaned'],
  ['worktree.unbranched', 'cleaned'],
  ['worktree.removed', 'cleaned'],
] as const)(
  'After a kill at %s, the worktree is %s, as in its record, and keeps all its work.',
  ([point, status]) =>
    expectMended(point, {
      async before(serverRun) {
        const tree = await create(serverRun);
        work(tree);
        return tree;
      },
      dying: (serverRun, tree) => release(serverRun, tree, serverRun.session),
      async after(serverRun, tree) {
        const now = await get(serverRun, tree);
        expect(now).toMatchObject({ status, archive_ref: `refs/cadre/archive/${tree.id}` });
        expectTruth(serverRun, now);
        expect(
          (await kindsOf(serverRun)).filter((kind) => kind === 'worktree.cleaned'),
        ).toHaveLength(status === 'cleaned' ? 1 : 0);
        if (status === 'retained') {
          expectWork(now);
          expect((await cleanUp(serverRun, tree)).status).toBe('cleaned');
        }
        expectWork(await restore(serverRun, tree));
      },
    }),
);

test('After a kill in a cleanup, a branch that git cannot delete is left, and the next cleanup deletes it.', () =>
  expectMended('worktree.aside', {
    async before(serverRun) {
      const tree = await create(serverRun);
      work(tree);
      const lock = path.join(serverRun.repo, '.git/refs/heads', `${tree.branch}.lock`);
      fs.writeFileSync(lock, '');
      return { tree, lock };
    },
    dying: (serverRun, { tree }) => release(serverRun, tree, serverRun.session),
    async after(serverRun, { tree, lock }) {
      expect((await get(serverRun, tree)).status).toBe('cleaned');
      expect(branches(serverRun.repo)).toContain(tree.branch);
      fs.rmSync(lock);
      expect((await cleanUp(serverRun, tree)).status).toBe('cleaned');
      expect(branches(serverRun.repo)).toEqual(['main']);
      expectWork(await restore(serverRun, tree));
    },
  }));

test.for(['worktree.restoring', 'worktree.added', 'worktree.restored'])(
  'After a kill at %s, the worktree is still cleaned, and the next restore returns all its work.',
  (point) =>
    expectMended(point, {
      before: cleaned,
      isPassedBefore: point === 'worktree.added',
      dying: restore,
      async after(serverRun, tree) {
        const now = await get(serverRun, tree);
        expect(now.status).toBe('cleaned');
        expectTruth(serverRun, now);
        expectWork(await restore(serverRun, tree));
      },
    }),
);

test('A start reports missing worktrees, and keeps the claims of open sessions.', () =>
  expectMended('worktree.creating', {
    isPassedBefore: true,
    async before(serverRun) {
      const gone = await create(serverRun, { worktree_name: 'gone' });
      const kept = await create(serverRun, { worktree_name: 'kept' });
      return { gone, kept };
    },
    async dying(serverRun, { gone }) {
      fs.rmSync(gone.path, { recursive: true });
      await create(serverRun);
    },
    async after(serverRun, { gone, kept }) {
      expect((await get(serverRun, gone)).status).toBe('missing');
      const there = await get(serverRun, kept);
      expect(there.status).toBe('active');
      expect(there.claims.map(({ released_at }) => released_at)).toEqual([null]);
      const recovery = await serverRun.client.call(endpoints.getRecovery, {});
      expect(recovery).toMatchObject({ worktrees_missing: [gone.id], claims_released: [] });
    },
  }));
