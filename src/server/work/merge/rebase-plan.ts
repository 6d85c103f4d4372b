import type { BodyOf } from '../../../api/endpoint.ts';
import type { rebaseWorktree } from '../../../api/worktree-merge.ts';
import type { Setting } from '../git/isolated-git-dir.ts';
import { refsOf, type Repository } from '../git/repository.ts';
import type { GitContext } from '../git/git-context.ts';
import { type Commit, readCommits, signatureOf, subjectOf } from './commits.ts';
import { openMerging, replayCommits, type Replayed, treeOf } from './merge-commits.ts';
import { assertSame, committed, nothing, refuse } from './merge-plan.ts';
import { differencesOf } from './moves.ts';
import {
  checkoutProblems,
  committerText,
  committingIn,
  contains,
  NO_PERSON,
  notesOf,
  type Plan,
  type MergePlanView,
  uncommittedOf,
} from './plan.ts';
import { commitsBeyond, filesBetween } from './merge-view.ts';
import { lookAt, type MergeSource, targetOf } from './merge-source.ts';

/** How many commits are written again at most. */
const MOST = 1000;

/** Finds out what a rebase would do. Objects are written to the repository; no ref, index or file changes. */
export async function planRebase(
  gitContext: GitContext,
  worktree: MergeSource['worktree'],
  repository: Repository,
  { request, now }: { request: BodyOf<typeof rebaseWorktree>; now: number },
): Promise<Plan> {
  const { git } = gitContext;
  const { onto: named = null, commit_message = null } = request;
  const committing = await committingIn(git, repository);
  const { person, settings } = committing;
  const asked = { named, field: 'onto', settings };
  const onto = await targetOf(gitContext, worktree, repository, asked);
  const isCommitted = commit_message !== null;
  const source = await lookAt(gitContext, worktree, repository, { isCommitted });
  const line = signatureOf(person ?? { name: 'nobody', email: 'nobody' }, now);
  const from = await committed(gitContext, source, { message: commit_message, line });
  const range = await commitsBeyond(git, repository, { from: onto.tip, to: from });
  const hasAll = await contains(git, repository, { ancestor: onto.tip, commit: from });
  const { commits, obstacles: unfit } = await toReplay(gitContext, repository, onto.tip, from);
  const replayed: Replayed =
    hasAll || unfit.length > 0
      ? { tip: from, tree: await treeOf(git, repository, from) }
      : await replayIn(gitContext, repository, { commits, onto: onto.tip, line, settings });
  const isClean = 'tip' in replayed;
  const tree = isClean ? replayed.tree : null;
  const differences = tree === null ? [] : await differencesOf(git, repository, from, tree);
  const { checkout, tip } = source;
  const obstaclesNow = () =>
    checkoutProblems(gitContext, repository, checkout, {
      branch: worktree.branch,
      head: tip,
      differences,
      mayBeDirty: from !== tip,
    });
  const obstacles = hasAll ? [] : [...source.obstacles, ...unfit];
  if (!hasAll && source.obstacles.length === 0) obstacles.push(...(await obstaclesNow()));
  const writes = !hasAll && (commits.length > 0 || from !== tip);
  if (writes && person === null) obstacles.push(NO_PERSON);
  const how = hasAll || !isClean ? 'none' : commits.length === 0 ? 'fast_forward' : 'replay';
  const shown: MergePlanView = {
    outcome: hasAll ? 'nothing_to_do' : 'planned',
    how,
    source_commit: tip,
    target: onto.branch,
    target_commit: onto.tip,
    result_commit: null,
    result_tree: tree,
    commits: range.commits,
    commit_count: range.commit_count,
    ...(await filesBetween(git, repository, differences, { from, to: tree ?? from })),
    conflicts: isClean ? [] : replayed.conflicts,
    conflict_in: isClean ? null : `${replayed.at.id.slice(0, 8)} ${subjectOf(replayed.at)}`,
    ...uncommittedOf(source),
    committer: committerText(committing),
    checkout: checkout.files,
    obstacles,
    notes: notesOf(committing, { commits: writes, signed: commits, differences }),
  };
  if (how === 'none' || obstacles.length > 0 || !isClean)
    return { shown, moves: null, check: nothing };
  const via = from === tip ? null : from;
  const move = { branch: worktree.branch, from: tip, to: replayed.tip, via, checkout };
  return {
    shown,
    moves: { log: `rebase onto ${onto.branch}`, moves: [move] },
    check: async () => {
      refuse(await obstaclesNow());
      await assertSame(gitContext, source, { isCommitted });
    },
  };
}

/** Returns the commits to write again, oldest first, without those that the target has in another form. */
async function toReplay(
  { git }: GitContext,
  repository: Repository,
  onto: string,
  from: string,
): Promise<{ commits: Commit[]; obstacles: string[] }> {
  const location = refsOf(repository);
  const merges = await git.text(location, ['rev-list', '--merges', '-n', '1', from, `^${onto}`]);
  if (merges !== '')
    return {
      commits: [],
      obstacles: ['the worktree has merge commits, which a rebase cannot keep: merge instead'],
    };
  const flags = ['--reverse', '--topo-order', '--cherry-pick', '--right-only'];
  const listed = await git.text(location, ['rev-list', ...flags, `${onto}...${from}`]);
  const ids = listed.split('\n').filter(Boolean);
  if (ids.length > MOST)
    return {
      commits: [],
      obstacles: [
        `cannot rebase the worktree, because it has ${ids.length} commits, and the maximum for a rebase is ${MOST} commits: merge the worktree instead`,
      ],
    };
  return { commits: await readCommits(git, repository, ids), obstacles: [] };
}

function replayIn(
  gitContext: GitContext,
  repository: Repository,
  about: { commits: Commit[]; onto: string; line: string; settings: readonly Setting[] },
): Promise<Replayed> {
  const { git } = gitContext;
  const { commits, onto, line, settings } = about;
  return gitContext.withScratch({ id: 'rebase' }, async (scratch) => {
    const isolated = await openMerging(git, repository, { ours: onto, scratch, settings });
    return replayCommits(git, isolated, {
      repository,
      commits,
      onto: { id: onto, tree: await treeOf(git, repository, onto) },
      committer: line,
      treeOf: (id) => treeOf(git, repository, id),
    });
  });
}
