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
    before: (life: Life) => Promise<T>;
    dying: (life: Life, left: T) => Promise<unknown>;
    after: (life: Life, left: T) => Promise<void>;
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

async function cleaned(life: Life): Promise<Worktree> {
  const tree = await create(life);
  work(tree);
  const { cleanup } = await release(life, tree, life.session);
  expect(cleanup?.status).toBe('cleaned');
  return tree;
}

test.for(['worktree.creating', 'worktree.added', 'worktree.included'])(
  'After a kill at %s, no worktree is left, and its name is free.',
  (point) =>
    expectMended(point, {
      before: async () => undefined,
      dying: (life) => create(life),
      async after(life) {
        expect(await life.client.call(endpoints.listWorktrees, { query: {} })).toEqual([]);
        expect([branches(life.repo), known(life.repo)]).toEqual([['main'], []]);
        const made = await create(life);
        expect(made.created).toBe(true);
        expectTruth(life, made);
      },
    }),
);

test('After a kill during the init script, no worktree and no process of the script is left.', () =>
  expectMended('child.registered', {
    async before({ repo }) {
      write(repo, { '.cadre/worktree-init.sh': 'echo x > made; sleep 300\n' });
      commit(repo, 'with a script');
    },
    dying: (life) => create(life, { run_init_script: true }),
    async after(life) {
      expect([branches(life.repo), known(life.repo)]).toEqual([['main'], []]);
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
      async before(life) {
        const tree = await create(life);
        work(tree);
        return tree;
      },
      dying: (life, tree) => release(life, tree, life.session),
      async after(life, tree) {
        const now = await get(life, tree);
        expect(now).toMatchObject({ status, archive_ref: `refs/cadre/archive/${tree.id}` });
        expectTruth(life, now);
        expect((await kindsOf(life)).filter((kind) => kind === 'worktree.cleaned')).toHaveLength(
          status === 'cleaned' ? 1 : 0,
        );
        if (status === 'retained') {
          expectWork(now);
          expect((await cleanUp(life, tree)).status).toBe('cleaned');
        }
        expectWork(await restore(life, tree));
      },
    }),
);

test('After a kill in a cleanup, a branch that git cannot delete is left, and the next cleanup deletes it.', () =>
  expectMended('worktree.aside', {
    async before(life) {
      const tree = await create(life);
      work(tree);
      const lock = path.join(life.repo, '.git/refs/heads', `${tree.branch}.lock`);
      fs.writeFileSync(lock, '');
      return { tree, lock };
    },
    dying: (life, { tree }) => release(life, tree, life.session),
    async after(life, { tree, lock }) {
      expect((await get(life, tree)).status).toBe('cleaned');
      expect(branches(life.repo)).toContain(tree.branch);
      fs.rmSync(lock);
      expect((await cleanUp(life, tree)).status).toBe('cleaned');
      expect(branches(life.repo)).toEqual(['main']);
      expectWork(await restore(life, tree));
    },
  }));

test.for(['worktree.restoring', 'worktree.added', 'worktree.restored'])(
  'After a kill at %s, the worktree is still cleaned, and the next restore returns all its work.',
  (point) =>
    expectMended(point, {
      before: cleaned,
      isPassedBefore: point === 'worktree.added',
      dying: restore,
      async after(life, tree) {
        const now = await get(life, tree);
        expect(now.status).toBe('cleaned');
        expectTruth(life, now);
        expectWork(await restore(life, tree));
      },
    }),
);

test('A start reports missing worktrees, and keeps the claims of open sessions.', () =>
  expectMended('worktree.creating', {
    isPassedBefore: true,
    async before(life) {
      const gone = await create(life, { worktree_name: 'gone' });
      const kept = await create(life, { worktree_name: 'kept' });
      return { gone, kept };
    },
    async dying(life, { gone }) {
      fs.rmSync(gone.path, { recursive: true });
      await create(life);
    },
    async after(life, { gone, kept }) {
      expect((await get(life, gone)).status).toBe('missing');
      const there = await get(life, kept);
      expect(there.status).toBe('active');
      expect(there.claims.map(({ released_at }) => released_at)).toEqual([null]);
      const recovery = await life.client.call(endpoints.getRecovery, {});
      expect(recovery).toMatchObject({ worktrees_missing: [gone.id], claims_released: [] });
    },
  }));
