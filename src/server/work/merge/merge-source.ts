import type { Worktree } from '../../../api/worktrees.ts';
import { AppError } from '../../../api/errors.ts';
import type { Setting } from '../git/isolated-git-dir.ts';
import type { Git, GitLocation } from '../git/git.ts';
import {
  adminDirectory,
  recordedRepository,
  refIn,
  refsOf,
  type Repository,
} from '../git/repository.ts';
import { nulTerminated } from '../git/names.ts';
import { nestedMessage, unknownToGit } from '../worktrees/words.ts';
import { readHeads } from '../worktrees/heads.ts';
import type { GitContext } from '../git/git-context.ts';
import {
  changesOf,
  type Changes,
  type Checkout,
  checkoutOfBranch,
  rebasing,
  underWayIn,
} from './checkout.ts';
import { toText } from './commits.ts';

/** A worktree whose branch is to be merged or moved. */
export interface MergeSource {
  worktree: Worktree;
  repository: Repository;
  checkout: Checkout;
  /** The commit at which its branch is. */
  tip: string;
  changes: Changes;
  /** What is not committed, as text. */
  uncommitted: string[];
  /** The tree of all that is in it, committed or not; null if it was not asked for, or cannot be made. */
  tree: string | null;
  /** Why it cannot be finished as it is. */
  obstacles: string[];
}

/** Returns the repository of a worktree. Throws `conflict` if it is gone. */
export async function repositoryOf({ git }: GitContext, worktree: Worktree): Promise<Repository> {
  const repository = await recordedRepository(git, worktree.repo_root);
  if (repository) return repository;
  throw new AppError(
    'conflict',
    `the repository ${worktree.repo_root} of the worktree no longer exists: restore the repository`,
  );
}

/**
 * Looks at a worktree; nothing is changed. With `isCommitted`, what is not committed becomes a tree, so that it can be
 * committed. Throws `conflict` if there is nothing to look at.
 */
export async function lookAt(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
  { isCommitted }: { isCommitted: boolean },
): Promise<MergeSource> {
  const { git } = gitContext;
  const { branch, path: files } = worktree;
  const gitDir = await adminDirectory(repository, files);
  if (gitDir === null) throw new AppError('conflict', unknownToGit(files));
  const checkout: Checkout = { gitDir, files };
  const { tip, head: checkedOut } = await readHeads(git, { repository, branch, adminDir: gitDir });
  if (tip === null)
    throw new AppError(
      'conflict',
      `the branch ${branch} of the worktree no longer exists: create the branch again`,
    );
  const head = checkedOut ?? tip;
  const obstacles = await obstaclesOf(worktree, repository, checkout);
  return gitContext.withScratch(worktree, async (scratch) => {
    const { isolated, ...changes } = await changesOf(gitContext, repository, checkout, {
      head,
      scratch,
    });
    const uncommitted = [...changes.tracked, ...changes.untracked, ...changes.nested].map(toText);
    const found = { worktree, repository, checkout, tip, changes, uncommitted };
    if (uncommitted.length === 0) return { ...found, tree: null, obstacles };
    if (!isCommitted) obstacles.push('the worktree has uncommitted changes: commit them first');
    else if (changes.nested.length > 0) obstacles.push(nestedMessage(changes.nested));
    else if (changes.isFiltered) obstacles.push(filtersMessage(repository));
    if (!isCommitted || obstacles.length > 0) return { ...found, tree: null, obstacles };
    return { ...found, tree: await treeWith(git, isolated, changes), obstacles };
  });
}

/** Says that files cannot be written or committed because of filters that nobody has allowed. */
export function filtersMessage({ root }: Repository): string {
  return `the git configuration of ${root} has filters that you have not allowed: allow them, or use git itself`;
}

async function obstaclesOf(
  { branch, path: files }: Worktree,
  repository: Repository,
  { gitDir }: Checkout,
): Promise<string[]> {
  const found: string[] = [];
  const underWay = await underWayIn(gitDir);
  if (underWay !== null)
    found.push(`${underWay} is in progress in the worktree: finish or abort it first`);
  const ref = await refIn(gitDir);
  if (ref === `refs/heads/${branch}`) return found;
  const where = ref === null ? 'a detached HEAD' : ref.replace(/^refs\/heads\//, '');
  found.push(
    `the worktree has ${where} checked out instead of ${branch}: git -C ${files} switch ${branch}`,
  );
  return found;
}

/** Writes the tree of a checkout with all that is not committed. */
async function treeWith(git: Git, isolated: GitLocation, changes: Changes): Promise<string> {
  const names = [...changes.tracked, ...changes.untracked];
  const add = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'];
  await git.text(isolated, add, nulTerminated(names));
  return git.text(isolated, ['write-tree']);
}

/** A branch that is merged into or rebased onto. */
export interface Target {
  branch: string;
  tip: string;
  checkout: Checkout | null;
}

/**
 * Returns the branch that is named, or the one that the worktree began at. Throws `invalid` if there is none.
 * `settings` are those of the repository itself.
 */
export async function targetOf(
  { git }: GitContext,
  worktree: Worktree,
  repository: Repository,
  about: { named: string | null; field: string; settings: readonly Setting[] },
): Promise<Target> {
  const { named, field, settings } = about;
  const name = (named ?? worktree.base_ref).replace(/^refs\/heads\//, '');
  const ref = `refs/heads/${name}`;
  // Git looks up the type, so a branch whose commit is lost is none.
  const format = '--format=%(refname)%00%(objectname)%00%(symref)%00%(objecttype)';
  const listed = await git.maybe(refsOf(repository), ['for-each-ref', format, '--', ref]);
  const fields = (listed ?? '').split('\n').map((line) => line.split('\0'));
  const [, tip = '', standsFor = ''] = fields.find(([one]) => one === ref) ?? [];
  if (!/^[0-9a-f]{40,64}$/.test(tip))
    throw new AppError(
      'invalid',
      named === null
        ? `the worktree was created from ${name}, which is not a branch of the repository: set ${field} to a branch`
        : `${field} "${name}" is not a branch of the repository: name an existing branch`,
    );
  if (name === worktree.branch)
    throw new AppError(
      'invalid',
      `${field} "${name}" is the branch of the worktree itself: name another branch`,
    );
  if (standsFor !== '')
    throw new AppError(
      'invalid',
      `${field} "${name}" is a symbolic ref to another branch: name that branch`,
    );
  const inRebase = await rebasing(repository, name);
  if (inRebase !== null)
    throw new AppError(
      'conflict',
      `a rebase of ${name} is in progress: finish or abort the rebase first`,
    );
  return { branch: name, tip, checkout: await checkoutOfBranch(repository, name, settings) };
}
