import type { BodyOf } from '../../../api/endpoint.ts';
import type { MergeResult, mergeWorktree, rebaseWorktree } from '../../../api/worktree-merge.ts';
import { shortNameList } from '../../../core/lib/short-name-list.ts';
import { changesBetween, type CheckoutLocation, type TreeChange } from '../git/changes.ts';
import { type Git, toText } from '../git/git.ts';
import { isOn, settingsAt } from '../git/isolated-git-dir.ts';
import { contains, type Repository } from '../git/repository.ts';
import type { GitContext } from '../git/git-context.ts';
import {
  type Commit,
  type CommitRange,
  commitsBeyond,
  mergeCommits,
  messageBytes,
  openMergeDirectory,
  personOf,
  readCommits,
  replayCommits,
  signatureOf,
  subjectOf,
  treesOf,
  writeCommit,
} from './commits.ts';
import type { Moves } from './moves.ts';
import {
  assertSame,
  reasonsNotToMove,
  hooksOf,
  readMergeSource,
  type MergeSource,
  refuse,
  targetOf,
} from './source.ts';

/** How many changed and uncommitted files an answer names, and how many commits a rebase writes again. */
const FILES = 500;
const NAMES = 100;
const COMMITS = 1000;

/** An answer without the record of the worktree. */
export type Without<T, Key> = {
  [K in keyof T as string extends K ? never : K extends Key ? never : K]: T[K];
};
export type MergePlanView = Without<MergeResult, 'worktree'>;

/** The effect of a merge or rebase, and the moves that produce it. */
export interface Plan {
  shown: MergePlanView;
  /** Null if nothing is to move, or nothing can. */
  moves: Omit<Moves, 'id'> | null;
  /** Throws `conflict` if a change since then prevents the moves. */
  check: () => Promise<void>;
}

/** Plans a merge. Objects are written to the repository; no ref, index or file changes. */
export async function planMerge(
  gitContext: GitContext,
  worktree: MergeSource['worktree'],
  repository: Repository,
  { request, now }: { request: BodyOf<typeof mergeWorktree>; now: number },
): Promise<Plan> {
  const { into = null, message = null, commit_message: commitMessage = null } = request;
  const isSquash = request.squash === true;
  const asked = { named: into, field: 'into', commitMessage, now };
  const start = await startPlan(gitContext, worktree, repository, asked);
  const { source, target, signature, from, range, isForward } = start;
  const [ours, theirs = ''] = await treesOf(repository, [target.tip, from]);
  const merged = isForward
    ? { tree: theirs, conflicts: [] }
    : await merging(start, (git) => mergeCommits(git, { ours: target.tip, theirs: from }));
  const isClean = merged.conflicts.length === 0;
  const isEmpty = range.commit_count === 0;
  // Uncommitted changes are work that is left to do.
  const hasNothing = isEmpty ? source.uncommitted.length === 0 : isSquash && merged.tree === ours;
  const forward = isForward && message === null ? 'fast_forward' : 'merge_commit';
  const how = hasNothing || isEmpty || !isClean ? 'none' : isSquash ? 'squash' : forward;
  return finishPlan(start, {
    how,
    hasNothing,
    changes: isClean ? await filesOf(repository, target.tip, merged.tree) : [],
    tree: isClean ? merged.tree : null,
    conflicts: merged.conflicts,
    writes: how === 'squash' || how === 'merge_commit' || from !== source.tip,
    moved: { branch: target.branch, head: target.tip, checkout: target.checkout },
    obstacles: [],
    async moves() {
      const { tip, checkout } = source;
      const text = message ?? defaultMessage(worktree, target.branch, isSquash, range);
      const parents = isSquash ? [target.tip] : [target.tip, from];
      const commit = { tree: merged.tree, parents, message: messageBytes(text) };
      const by = { author: signature, committer: signature };
      const to =
        how === 'fast_forward' ? from : await writeCommit(repository, { ...commit, ...by });
      const own = { branch: worktree.branch, from: tip, to: from, via: from, checkout };
      const move = { branch: target.branch, from: target.tip, to, via: null };
      return {
        log: `merge ${worktree.branch}: ${how.replace('_', ' ')}`,
        moves: [...(from === tip ? [] : [own]), { ...move, checkout: target.checkout }],
      };
    },
  });
}

/** Plans a rebase. Objects are written to the repository; no ref, index or file changes. */
export async function planRebase(
  gitContext: GitContext,
  worktree: MergeSource['worktree'],
  repository: Repository,
  { request, now }: { request: BodyOf<typeof rebaseWorktree>; now: number },
): Promise<Plan> {
  const { onto = null, commit_message: commitMessage = null } = request;
  const asked = { named: onto, field: 'onto', commitMessage, now };
  const start = await startPlan(gitContext, worktree, repository, asked);
  const { source, target, signature, from, isForward: hasAll } = start;
  const { tip, checkout } = source;
  const { commits, obstacles } = await toReplay(repository, target.tip, from);
  const replay = { commits, onto: target.tip, committer: signature };
  const replayed =
    hasAll || obstacles.length > 0
      ? { tip: from, tree: (await treesOf(repository, [from]))[0] ?? '' }
      : await merging(start, (git) => replayCommits(repository, git, replay));
  const isClean = 'tip' in replayed;
  const moved = commits.length === 0 ? 'fast_forward' : 'replay';
  return finishPlan(start, {
    how: hasAll || !isClean ? 'none' : moved,
    hasNothing: hasAll,
    changes: isClean ? await filesOf(repository, from, replayed.tree) : [],
    tree: isClean ? replayed.tree : null,
    conflicts: isClean ? [] : replayed.conflicts,
    conflictIn: isClean ? null : `${replayed.at.id.slice(0, 8)} ${subjectOf(replayed.at)}`,
    writes: !hasAll && (commits.length > 0 || from !== tip),
    rewritten: commits,
    moved: { branch: worktree.branch, head: tip, checkout },
    obstacles,
    async moves() {
      const to = isClean ? replayed.tip : from;
      const via = from === tip ? null : from;
      const move = { branch: worktree.branch, from: tip, to, via, checkout };
      return { log: `rebase onto ${target.branch}`, moves: [move] };
    },
  });
}

type Start = Awaited<ReturnType<typeof startPlan>>;

/** Runs `work` with git that merges into the target. */
function merging<T>(
  { gitContext, repository, target, settings }: Start,
  work: (git: Git) => Promise<T>,
): Promise<T> {
  return gitContext.withScratch({ id: 'merge' }, async (scratch) =>
    work(await openMergeDirectory(repository, { ours: target.tip, scratch, settings })),
  );
}

/** Reads everything that both kinds of plans begin with; commits uncommitted changes, as an object, if asked. */
async function startPlan(
  gitContext: GitContext,
  worktree: MergeSource['worktree'],
  repository: Repository,
  about: { named: string | null; field: string; commitMessage: string | null; now: number },
) {
  const { commitMessage, now } = about;
  const { own: settings, all } = await settingsAt(repository);
  const person = personOf(all);
  const target = await targetOf(worktree, repository, { ...about, settings });
  const isCommitted = commitMessage !== null;
  const source = await readMergeSource(gitContext, worktree, repository, { isCommitted });
  const { tip, tree } = source;
  const signature = signatureOf(person ?? { name: 'nobody', email: 'nobody' }, now);
  const from =
    commitMessage === null || tree === null
      ? tip
      : await writeCommit(repository, {
          tree,
          parents: [tip],
          author: signature,
          committer: signature,
          message: messageBytes(commitMessage),
        });
  return {
    gitContext,
    repository,
    settings,
    person,
    isSigning: isOn(all, 'commit.gpgsign'),
    target,
    source,
    isCommitted,
    signature,
    from,
    range: await commitsBeyond(repository, { from: target.tip, to: from }),
    isForward: await contains(repository, from, target.tip),
  };
}

/** The effect of a merge or rebase on branches and files. */
interface Effect {
  how: MergeResult['how'];
  hasNothing: boolean;
  /** The files that change in the checkout. */
  changes: TreeChange[];
  /** The tree of the result; null if there are conflicts. */
  tree: string | null;
  conflicts: MergeResult['conflicts'];
  conflictIn?: string | null;
  /** Whether new commits are written, and which ones are written again. */
  writes: boolean;
  rewritten?: readonly Commit[];
  /** The branch that moves, and its checkout, whose files follow. */
  moved: { branch: string; head: string; checkout: CheckoutLocation | null };
  obstacles: readonly string[];
  moves: () => Promise<Omit<Moves, 'id'>>;
}

async function finishPlan(start: Start, effect: Effect): Promise<Plan> {
  const { gitContext, repository, person, source, target, isCommitted, from, range } = start;
  const { how, hasNothing, changes, tree, writes, moved } = effect;
  const { checkout, branch, head } = moved;
  const isOwn = checkout === source.checkout;
  const about = { branch, head, changes, mayBeDirty: isOwn && from !== source.tip };
  const obstaclesNow = async () =>
    checkout === null ? [] : reasonsNotToMove(gitContext, repository, checkout, about);
  const obstacles = hasNothing ? [] : [...source.obstacles, ...effect.obstacles];
  // The worktree itself is already known to refuse.
  const isKnown = isOwn && source.obstacles.length > 0;
  if (!hasNothing && !isKnown) obstacles.push(...(await obstaclesNow()));
  if (writes && person === null)
    obstacles.push('git has no committer: set user.name and user.email, with git config --global');
  const shown: MergePlanView = {
    outcome: hasNothing ? 'nothing_to_do' : 'planned',
    how,
    source_commit: source.tip,
    target: target.branch,
    target_commit: target.tip,
    result_commit: null,
    result_tree: tree,
    commits: range.commits,
    commit_count: range.commit_count,
    ...viewOf(source, changes),
    conflicts: effect.conflicts,
    conflict_in: effect.conflictIn ?? null,
    committer: person === null ? null : toText(`${person.name} <${person.email}>`),
    checkout: checkout?.files ?? null,
    obstacles,
    notes: await notesOf(start, effect),
  };
  const isPossible = how !== 'none' && obstacles.length === 0 && tree !== null;
  return {
    shown,
    moves: isPossible ? await effect.moves() : null,
    async check() {
      refuse(await obstaclesNow());
      await assertSame(gitContext, source, isCommitted);
    },
  };
}

/** Returns the changed and uncommitted files as answers show them. */
export function viewOf({ uncommitted }: MergeSource, changes: readonly TreeChange[]) {
  const files = changes.slice(0, FILES).map(({ path: name, status, additions, deletions }) => ({
    path: toText(name),
    change: status === 'added' || status === 'deleted' ? status : ('modified' as const),
    lines_added: additions,
    lines_deleted: deletions,
  }));
  return {
    files,
    file_count: changes.length,
    uncommitted: uncommitted.slice(0, NAMES),
    uncommitted_count: uncommitted.length,
  };
}

export function filesOf(repository: Repository, from: string, to: string): Promise<TreeChange[]> {
  return changesBetween(repository, [from, to], { withLines: true });
}

/** Returns the commits to write again, oldest first, without those that the target has in another form. */
async function toReplay(
  repository: Repository,
  onto: string,
  from: string,
): Promise<{ commits: Commit[]; obstacles: string[] }> {
  const { git } = repository;
  const refused = (why: string) => ({
    commits: [],
    obstacles: [`${why}: merge the worktree instead`],
  });
  const merges = await git.text(['rev-list', '--merges', '-n', '1', from, `^${onto}`]);
  if (merges !== '') return refused('the worktree has merge commits, which a rebase cannot keep');
  const flags = ['--reverse', '--topo-order', '--cherry-pick', '--right-only'];
  const listed = await git.text(['rev-list', ...flags, `${onto}...${from}`]);
  const ids = listed.split('\n').filter(Boolean);
  if (ids.length > COMMITS)
    return refused(
      `cannot rebase the worktree, because it has ${ids.length} commits, and the maximum for a rebase is ${COMMITS} commits`,
    );
  return { commits: await readCommits(repository, ids), obstacles: [] };
}

/** Returns the default message of a merge, as git words it, or of a squash commit. */
function defaultMessage(
  { branch, worktree_name }: MergeSource['worktree'],
  into: string,
  isSquash: boolean,
  { read, commit_count }: CommitRange,
): string {
  if (!isSquash) return `Merge branch '${branch}' into ${into}`;
  const [only] = read;
  if (commit_count === 1 && only) return toText(only.message);
  const subjects = read.toReversed().map((one) => `* ${subjectOf(one)}`);
  const more = commit_count - read.length;
  if (more > 0) subjects.unshift(`* and ${more} earlier commits`);
  return `Squash ${worktree_name}\n\n${subjects.join('\n')}`;
}

/** Hooks that git itself would run on the way. */
const HOOKS = [
  'pre-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-commit',
  'pre-merge-commit',
  'post-merge',
  'pre-rebase',
  'post-rewrite',
  'post-checkout',
  'reference-transaction',
];

/** Returns notes about hooks, signatures, merge drivers and submodules. */
async function notesOf(
  { repository, settings, isSigning }: Start,
  { writes, rewritten = [], changes }: Effect,
): Promise<string[]> {
  const found: string[] = [];
  const hooks = await hooksOf(repository, settings, HOOKS);
  if (hooks.length > 0) found.push(`git hooks of the repository do not run: ${hooks.join(', ')}`);
  if (writes && isSigning)
    found.push('the new commits are not signed, although commit.gpgSign is set');
  if (rewritten.some(({ isSigned }) => isSigned))
    found.push('signed commits lose their signatures');
  if (settings.some(([name]) => /^merge\..+\.driver$/.test(name)))
    found.push('merge drivers in the git configuration of the repository do not run');
  const modules = changes.filter(
    ({ old_mode, new_mode }) => old_mode === '160000' || new_mode === '160000',
  );
  if (modules.length > 0)
    found.push(
      `submodules change, but their files are not updated: git submodule update (${shortNameList(modules.map((one) => toText(one.path)))})`,
    );
  return found;
}
