import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Worktree } from '../../../src/api/worktrees.ts';
import { AppError } from '../../../src/api/errors.ts';
import { withRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { openSession } from '../../support/turns.ts';
import {
  claim,
  cleanUp,
  close,
  create,
  get,
  git,
  makeRepository,
  release,
  restore,
  type WorktreeHarness,
} from '../../support/worktrees/work.ts';
import { scaled } from '../../support/patience.ts';

const file = fc.constantFrom('a.txt', 'sub/b.txt', 'sub/deep/c', 'new', 'd');
const text = fc.constantFrom('one\n', 'two\n', 'x', '', 'a\r\nb\n', 'long\n'.repeat(100));

/** Actions that people and agents do by hand in a worktree, and requests to the server. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('write'), file, text }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove'), file }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('link'), file }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'harness',
        'commit',
        'commit',
        'amend',
        'reset',
        'detach',
        'switch',
        'branch',
        'lock',
      ),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('create', 'claim', 'release', 'cleanup', 'restore', 'close', 'merge'),
    }),
  },
);
type Step = { do: string; file?: string; text?: string };

/** Everything of a worktree that may not get lost: what its files are now, and what was ever committed in it. */
class Memory {
  readonly commits = new Set<string>();
  files = new Map<string, string>();

  /** Looks at a worktree that is there. */
  note({ path: place }: Worktree): void {
    this.files = contentsOf(place);
    const head = git(place, 'rev-parse', 'HEAD');
    this.commits.add(head);
  }
}

/** The server refuses what does not fit just now: that is an answer, too. */
async function orRefused(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
  });
}

/** By hand: git may refuse. */
function byHand(place: string, ...args: string[]): void {
  try {
    git(place, ...args);
  } catch {
    // Nothing to commit, nothing to reset to.
  }
}

function contentsOf(directory: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const name = path.relative(directory, path.join(entry.parentPath, entry.name));
    if (name.split('/')[0] === '.git' || entry.isDirectory()) continue;
    const place = path.join(directory, name);
    const content = entry.isSymbolicLink()
      ? fs.readlinkSync(place)
      : fs.readFileSync(place, 'latin1');
    found.set(name, content);
  }
  return found;
}

async function take(
  harness: WorktreeHarness,
  state: { tree: Worktree; session: string },
  one: Step,
) {
  const { tree } = state;
  const place = tree.path;
  const target = path.join(place, one.file ?? '');
  const isThere = fs.existsSync(place);
  switch (one.do) {
    case 'create':
      state.session = (await openSession(harness.client, harness.repo)).id;
      await orRefused(
        create({ ...harness, session: state.session }).then((made) => {
          // The name may have been free.
          state.tree = made;
        }),
      );
      return;
    case 'claim':
      await orRefused(claim(harness, tree, state.session));
      return;
    case 'release':
      for (const one of (await get(harness, tree)).claims)
        await orRefused(release(harness, tree, one.session_id));
      return;
    case 'cleanup':
      await orRefused(cleanUp(harness, tree));
      return;
    case 'restore':
      await orRefused(restore(harness, tree));
      return;
    case 'close':
      await close(harness, state.session);
      return;
    case 'merge':
      byHand(harness.repo, 'merge', '--quiet', '--strategy-option=theirs', tree.branch);
      byHand(harness.repo, 'merge', '--abort');
      return;
  }
  if (!isThere) return;
  switch (one.do) {
    case 'write':
      if (fs.lstatSync(target, { throwIfNoEntry: false })?.isDirectory()) return;
      if (!fs.existsSync(path.dirname(target)))
        fs.mkdirSync(path.dirname(target), { recursive: true });
      fs.rmSync(target, { force: true });
      fs.writeFileSync(target, one.text ?? '', 'latin1');
      return;
    case 'remove':
      fs.rmSync(target, { force: true, recursive: true });
      return;
    case 'link':
      if (!fs.existsSync(path.dirname(target))) return;
      fs.rmSync(target, { force: true, recursive: true });
      fs.symlinkSync('somewhere', target);
      return;
    case 'harness':
      byHand(place, 'add', '--all');
      return;
    case 'commit':
      byHand(place, 'add', '--all');
      byHand(place, 'commit', '--quiet', '--message', 'mine');
      return;
    case 'amend':
      byHand(place, 'commit', '--quiet', '--all', '--amend', '--message', 'again');
      return;
    case 'reset':
      byHand(place, 'reset', '--quiet', '--mixed', 'HEAD~1');
      return;
    case 'detach':
      byHand(place, 'checkout', '--quiet', '--detach');
      return;
    case 'switch':
      byHand(place, 'checkout', '--quiet', tree.branch);
      return;
    case 'branch':
      byHand(place, 'branch', '--force', tree.branch);
      return;
    case 'lock': {
      const admin = git(place, 'rev-parse', '--absolute-git-dir');
      const lock = path.join(admin, 'index.lock');
      // Somebody else's git has died, and by the next step it was noticed.
      fs.writeFileSync(lock, '');
      await orRefused(cleanUp(harness, tree));
      fs.rmSync(lock, { force: true });
      return;
    }
  }
}

/** Every blob and commit that a ref of the repository, or the worktree itself, leads to. */
function kept(repo: string): Set<string> {
  const args = ['rev-list', '--objects', '--all', '--reflog', '--no-object-names'];
  return new Set(git(repo, ...args).split('\n'));
}

function blobOf(content: string): string {
  const bytes = Buffer.from(content, 'latin1');
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/** Runs `check` with its own server, repository and session. */
function withHarness(check: (harness: WorktreeHarness) => Promise<void>): Promise<void> {
  return withRuntime(
    async (given) => {
      const repo = makeRepository(path.join(given.directory, 'repo'));
      const { id } = await openSession(given.client, repo);
      await check({ ...given, repo, session: id });
    },
    { providers: [scriptedProvider()] },
  );
}

test(
  'After any steps, all commits and files of a worktree are in its path, a branch or an archive.',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 30 }), (steps) =>
        withHarness(async (harness) => {
          const state = { tree: await create(harness), session: harness.session };
          const memory = new Memory();
          for (const one of steps as Step[]) {
            if (fs.existsSync(state.tree.path)) memory.note(state.tree);
            const before = memory.files;
            await take(harness, state, one);
            const { tree } = state;
            const now = await get(harness, tree);
            const isThere = now.status === 'active' || now.status === 'retained';
            expect([now.status, fs.existsSync(tree.path)]).toEqual([now.status, isThere]);
            if (isThere) memory.note(tree);
            // Objects that only a reflog refers to are removed in time.
            if (now.status === 'cleaned')
              git(harness.repo, 'reflog', 'expire', '--expire=now', '--all');
            const objects = kept(harness.repo);
            if (!isThere)
              for (const [name, content] of before)
                expect([name, objects.has(blobOf(content))]).toEqual([name, true]);
            for (const commit of memory.commits)
              expect([commit, objects.has(commit)]).toEqual([commit, true]);
            if (now.status === 'cleaned') {
              await orRefused(restore(harness, tree));
              const back = await get(harness, tree);
              if (back.status === 'retained' && now.archive_ref !== null)
                expect(contentsOf(tree.path)).toEqual(before);
            }
          }
        }),
      ),
      { numRuns: Number(process.env.WORKTREE_RUNS || 1), seed: seedOf(process.env.WORKTREE_SEED) },
    );
  },
  scaled(Math.max(240_000, Number(process.env.WORKTREE_RUNS || 1) * 60_000)),
);

function seedOf(given: string | undefined): number {
  const seed = given === undefined ? Date.now() % 2 ** 31 : Number(given);
  console.log(`WORKTREE_SEED=${seed}`);
  return seed;
}
