import type { BodyOf } from '../../../api/endpoint.ts';
import type { MergeResult, mergeWorktree } from '../../../api/worktree-merge.ts';
import { AppError } from '../../../api/errors.ts';
import type { Setting } from '../git/isolated-git-dir.ts';
import type { Repository } from '../git/repository.ts';
import type { GitContext } from '../git/git-context.ts';
import { type Commit, signatureOf, subjectOf, toText, writeCommit } from './commits.ts';
import { mergeCommits, type Merged, openMerging, treesOf } from './merge-commits.ts';
import { differencesOf, type Move } from './moves.ts';
import {
  checkoutProblems,
  committerText,
  committingIn,
  contains,
  messageBytes,
  NO_PERSON,
  notesOf,
  type Plan,
  type MergePlanView,
  uncommittedOf,
} from './plan.ts';
import { commitsBeyond, filesBetween } from './merge-view.ts';
import { lookAt, type MergeSource, targetOf } from './merge-source.ts';

type MergeRequest = BodyOf<typeof mergeWorktree>;

/** Finds out what a merge would do. Objects are written to the repository; no ref, index or file changes. */
export async function planMerge(
  gitContext: GitContext,
  worktree: MergeSource['worktree'],
  repository: Repository,
  { request, now }: { request: MergeRequest; now: number },
): Promise<Plan> {
  const { git } = gitContext;
  const { into = null, squash = false, message = null, commit_message = null } = request;
  const committing = await committingIn(git, repository);
  const { person, settings } = committing;
  const asked = { named: into, field: 'into', settings };
  const target = await targetOf(gitContext, worktree, repository, asked);
  const source = await lookAt(gitContext, worktree, repository, {
    isCommitted: commit_message !== null,
  });
  const line = signatureOf(person ?? { name: 'nobody', email: 'nobody' }, now);
  const from = await committed(gitContext, source, { message: commit_message, line });
  const wish = { isSquash: squash === true, message, isOpen: source.uncommitted.length > 0 };
  const sides = { ours: target.tip, theirs: from };
  const outcome = await outcomeOf(gitContext, repository, { ...sides, wish, settings });
  const { range, merged, how, hasNothing, differences } = outcome;
  const isClean = merged.conflicts.length === 0;
  const { checkout } = target;
  const obstaclesNow = async () =>
    checkout === null
      ? []
      : checkoutProblems(gitContext, repository, checkout, {
          branch: target.branch,
          head: target.tip,
          differences,
        });
  const writes = how === 'squash' || how === 'merge_commit' || from !== source.tip;
  const obstacles = hasNothing ? [] : [...source.obstacles, ...(await obstaclesNow())];
  if (writes && person === null) obstacles.push(NO_PERSON);
  const shown: MergePlanView = {
    outcome: hasNothing ? 'nothing_to_do' : 'planned',
    how,
    source_commit: source.tip,
    target: target.branch,
    target_commit: target.tip,
    result_commit: null,
    result_tree: isClean ? merged.tree : null,
    commits: range.commits,
    commit_count: range.commit_count,
    ...(await filesBetween(git, repository, differences, { from: target.tip, to: merged.tree })),
    conflicts: merged.conflicts,
    conflict_in: null,
    ...uncommittedOf(source),
    committer: committerText(committing),
    checkout: checkout?.files ?? null,
    obstacles,
    notes: notesOf(committing, { commits: writes, signed: [], differences }),
  };
  if (how === 'none' || obstacles.length > 0) return { shown, moves: null, check: nothing };
  const text = message ?? defaultMessage(worktree, target.branch, wish.isSquash, range);
  const to =
    how === 'fast_forward'
      ? from
      : await writeCommit(git, repository, {
          tree: merged.tree,
          parents: how === 'squash' ? [target.tip] : [target.tip, from],
          author: line,
          committer: line,
          message: messageBytes(text),
        });
  const moves: Move[] = [{ branch: target.branch, from: target.tip, to, via: null, checkout }];
  if (from !== source.tip) moves.unshift(commitMove(source, from));
  return {
    shown,
    moves: { log: `merge ${worktree.branch}: ${how.replace('_', ' ')}`, moves },
    check: async () => {
      refuse(await obstaclesNow());
      await assertSame(gitContext, source, { isCommitted: commit_message !== null });
    },
  };
}

/** Merges two commits; says how the branch of the first would get there, and what would differ. */
async function outcomeOf(
  gitContext: GitContext,
  repository: Repository,
  about: {
    ours: string;
    theirs: string;
    wish: { isSquash: boolean; message: string | null; isOpen: boolean };
    settings: readonly Setting[];
  },
) {
  const { git } = gitContext;
  const { ours, theirs, wish, settings } = about;
  const range = await commitsBeyond(git, repository, { from: ours, to: theirs });
  const isForward = await contains(git, repository, { ancestor: ours, commit: theirs });
  const [ourTree, tree] = await treesOf(git, repository, [ours, theirs]);
  const merged = isForward
    ? { tree, conflicts: [] }
    : await mergeIn(gitContext, repository, { ours, theirs, settings });
  const isEmpty = range.commit_count === 0;
  const isSame = merged.tree === ourTree;
  // What is not committed is no reason to say that there is nothing to do.
  const hasNothing = isEmpty ? !wish.isOpen : wish.isSquash && isSame;
  const isClean = merged.conflicts.length === 0;
  const how = howOf({ ...wish, hasNothing: hasNothing || isEmpty, isClean, isForward });
  const differences = isClean ? await differencesOf(git, repository, ours, merged.tree) : [];
  return { range, merged, how, hasNothing, differences };
}

/** Commits what is not committed, if it is to be; returns the commit that the branch has then. */
export async function committed(
  { git }: GitContext,
  source: MergeSource,
  { message, line }: { message: string | null; line: string },
): Promise<string> {
  const { tip, tree, repository } = source;
  if (message === null || tree === null) return tip;
  return writeCommit(git, repository, {
    tree,
    parents: [tip],
    author: line,
    committer: line,
    message: messageBytes(message),
  });
}

/** Throws `conflict` if a worktree has changed since it was looked at. */
export async function assertSame(
  gitContext: GitContext,
  source: MergeSource,
  { isCommitted }: { isCommitted: boolean },
): Promise<void> {
  const now = await lookAt(gitContext, source.worktree, source.repository, { isCommitted });
  refuse(now.obstacles);
  if (now.tip !== source.tip || now.tree !== source.tree)
    throw new AppError('conflict', 'the worktree has changed during the merge: try again', {
      isTemporary: true,
    });
}

/** Throws `conflict` with all reasons why something is refused for now: nothing was changed. */
export function refuse(obstacles: readonly string[]): void {
  if (obstacles.length > 0)
    throw new AppError('conflict', obstacles.join('; '), { isTemporary: true });
}

export async function nothing(): Promise<void> {}

function commitMove({ worktree, tip, checkout }: MergeSource, commit: string): Move {
  return { branch: worktree.branch, from: tip, to: commit, via: commit, checkout };
}

function mergeIn(
  gitContext: GitContext,
  repository: Repository,
  sides: { ours: string; theirs: string; settings: readonly Setting[] },
): Promise<Merged> {
  const { git } = gitContext;
  return gitContext.withScratch({ id: 'merge' }, async (scratch) =>
    mergeCommits(git, await openMerging(git, repository, { ...sides, scratch }), sides),
  );
}

function howOf(about: {
  hasNothing: boolean;
  isClean: boolean;
  isSquash: boolean;
  isForward: boolean;
  message: string | null;
}): MergeResult['how'] {
  if (about.hasNothing || !about.isClean) return 'none';
  if (about.isSquash) return 'squash';
  return about.isForward && about.message === null ? 'fast_forward' : 'merge_commit';
}

/** Returns the message of a merge as git words it, or of one commit that stands for several. */
function defaultMessage(
  { branch, worktree_name }: MergeSource['worktree'],
  into: string,
  isSquash: boolean,
  { read, commit_count }: { read: readonly Commit[]; commit_count: number },
): string {
  if (!isSquash) return `Merge branch '${branch}' into ${into}`;
  const [only] = read;
  if (commit_count === 1 && only) return toText(only.message);
  const subjects = read.toReversed().map((one) => `* ${subjectOf(one)}`);
  const more = commit_count - read.length;
  if (more > 0) subjects.unshift(`* and ${more} earlier commits`);
  return `Squash ${worktree_name}\n\n${subjects.join('\n')}`;
}
