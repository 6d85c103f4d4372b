import fs from 'node:fs/promises';
import path from 'node:path';
import type { Worktree } from '../../../api/worktrees.ts';
import { conflictError, invalidError } from '../../../api/errors.ts';
import { shortNameList } from '../../../core/lib/short-name-list.ts';
import {
  type CheckoutLocation,
  type CheckoutStatus,
  type OpenCheckout,
  openCheckout,
  readStatus,
  type TreeChange,
} from '../git/changes.ts';
import { assertFiles, assertGitDirectory, entryKindOf, readNote } from '../git/foreign.ts';
import { bytePath, toText } from '../git/git.ts';
import { isOn, lastOf, type Setting } from '../git/isolated-git-dir.ts';
import { writeWorktreeTree } from '../git/private-copies.ts';
import {
  adminDirectories,
  adminDirectory,
  checkoutsOf,
  readHeads,
  refIn,
  type Repository,
} from '../git/repository.ts';
import type { GitContext } from '../git/git-context.ts';
import { nestedMessage, unknownToGit } from '../worktrees/worktree.ts';

/** A worktree whose branch is to be merged or moved. */
export interface MergeSource {
  worktree: Worktree;
  repository: Repository;
  checkout: CheckoutLocation;
  /** The commit at which its branch is. */
  tip: string;
  /** The names of the files with uncommitted changes. */
  uncommitted: string[];
  /** The tree of all its files, committed or not; null if it was not asked for, or cannot be made. */
  tree: string | null;
  /** Why it cannot be merged as it is. */
  obstacles: string[];
}

/**
 * Looks at a worktree; nothing is changed. With `isCommitted`, uncommitted changes become a tree, so that they can be
 * committed. Throws `conflict` if the worktree or its branch is gone.
 */
export async function readMergeSource(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
  { isCommitted }: { isCommitted: boolean },
): Promise<MergeSource> {
  const { branch, path: files } = worktree;
  const gitDir = await adminDirectory(repository, files);
  if (gitDir === null) throw conflictError(unknownToGit(files));
  const checkout: CheckoutLocation = { gitDir, files };
  const { tip, head } = await readHeads(repository, { branch, adminDir: gitDir });
  if (tip === null)
    throw conflictError(
      `the branch ${branch} of the worktree no longer exists: create the branch again`,
    );
  const obstacles = await obstaclesIn(worktree, checkout);
  return readChanged(gitContext, repository, checkout, head ?? tip, async (status) => {
    const { tracked, untracked, nested, isFiltered } = status;
    const uncommitted = [...tracked, ...untracked, ...nested].map(toText);
    const found = { worktree, repository, checkout, tip, uncommitted, obstacles, tree: null };
    if (uncommitted.length === 0) return found;
    if (!isCommitted) obstacles.push('the worktree has uncommitted changes: commit them first');
    else if (nested.length > 0) obstacles.push(nestedMessage(nested));
    else if (isFiltered) obstacles.push(filtersMessage(repository));
    if (!isCommitted || obstacles.length > 0) return found;
    const tree = await writeWorktreeTree(status, files, [...tracked, ...untracked]);
    return { ...found, tree };
  });
}

type OpenStatus = CheckoutStatus & OpenCheckout;

/** Passes to `work` how a checkout differs from its commit `head`. */
function readChanged<T>(
  gitContext: GitContext,
  repository: Repository,
  checkout: CheckoutLocation,
  head: string,
  work: (status: OpenStatus) => Promise<T>,
): Promise<T> {
  return gitContext.withScratch({ id: 'checkout' }, async (scratch) => {
    await assertGitDirectory(checkout.gitDir);
    await assertFiles(checkout.files);
    const filters = gitContext.filtersOf(repository);
    const opened = await openCheckout(repository, checkout, { head, scratch, filters });
    return work({ ...opened, ...(await readStatus(opened.isolated, checkout)) });
  });
}

async function obstaclesIn(
  { branch, path: files }: Worktree,
  { gitDir }: CheckoutLocation,
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

/** Throws `conflict` if a worktree has changed since it was looked at. */
export async function assertSame(
  gitContext: GitContext,
  source: MergeSource,
  isCommitted: boolean,
): Promise<void> {
  const now = await readMergeSource(gitContext, source.worktree, source.repository, {
    isCommitted,
  });
  refuse(now.obstacles);
  if (now.tip !== source.tip || now.tree !== source.tree)
    throw conflictError('the worktree has changed during the merge: try again', {
      isTemporary: true,
    });
}

/** Throws `conflict` with all reasons why something is refused for now: nothing was changed. */
export function refuse(obstacles: readonly string[]): void {
  if (obstacles.length > 0) throw conflictError(obstacles.join('; '), { isTemporary: true });
}

function filtersMessage({ root }: Repository): string {
  return `the git configuration of ${root} has filters that you have not allowed: allow them, or use git itself`;
}

/** A branch that is merged into or rebased onto, and its checkout, if it has one. */
export interface Target {
  branch: string;
  tip: string;
  checkout: CheckoutLocation | null;
}

/**
 * Returns the branch that is named, or the one that the worktree began at. Throws `invalid` if there is none.
 * `settings` belong to the repository itself.
 */
export async function targetOf(
  worktree: Worktree,
  repository: Repository,
  about: { named: string | null; field: string; settings: readonly Setting[] },
): Promise<Target> {
  const { named, field, settings } = about;
  const name = (named ?? worktree.base_ref).replace(/^refs\/heads\//, '');
  const ref = `refs/heads/${name}`;
  // Git looks up the type, so a branch whose commit is lost is left out.
  const format = '--format=%(refname)%00%(objectname)%00%(symref)%00%(objecttype)';
  const listed = await repository.git.maybe(['for-each-ref', format, '--', ref]);
  const fields = (listed ?? '').split('\n').map((line) => line.split('\0'));
  const [, tip = '', standsFor = ''] = fields.find(([one]) => one === ref) ?? [];
  if (!/^[0-9a-f]{40,64}$/.test(tip))
    throw invalidError(
      named === null
        ? `the worktree was created from ${name}, which is not a branch of the repository: set ${field} to a branch`
        : `${field} "${name}" is not a branch of the repository: name an existing branch`,
    );
  if (name === worktree.branch)
    throw invalidError(
      `${field} "${name}" is the branch of the worktree itself: name another branch`,
    );
  if (standsFor !== '')
    throw invalidError(`${field} "${name}" is a symbolic ref to another branch: name that branch`);
  if (await isInRebase(repository, name))
    throw conflictError(`a rebase of ${name} is in progress: finish or abort the rebase first`);
  return { branch: name, tip, checkout: await checkoutOfBranch(repository, name, settings) };
}

/** Returns the checkout of a branch. Null if no checkout has the branch. Throws `conflict` if several have it. */
async function checkoutOfBranch(
  repository: Repository,
  branch: string,
  settings: readonly Setting[],
): Promise<CheckoutLocation | null> {
  const { root, commonDir } = repository;
  const isBare = root === commonDir || isOn(settings, 'core.bare');
  const all = await checkoutsOf(repository, branch);
  const [gitDir, ...more] = all.filter((one) => !isBare || one !== commonDir);
  if (gitDir === undefined) return null;
  if (more.length > 0)
    throw conflictError(
      `branch ${branch} is checked out in several worktrees: keep the branch in only one worktree`,
    );
  if (gitDir === commonDir) {
    const elsewhere = lastOf(settings, 'core.worktree');
    if (elsewhere === undefined || path.resolve(gitDir, elsewhere) === root)
      return { gitDir, files: root };
    throw conflictError(`the git setting core.worktree of ${root} names a different directory`);
  }
  const link = path.resolve(gitDir, ((await readNote(gitDir, 'gitdir')) ?? '').trimEnd());
  const files = path.dirname(link);
  if ((await entryKindOf(link)) === 'file') return { gitDir, files };
  throw conflictError(
    `the checkout ${files} no longer exists, but git still lists it: run git worktree prune`,
  );
}

/** Returns why a checkout cannot follow its branch from `head`; `changes` are the files that would change. */
export async function reasonsNotToMove(
  gitContext: GitContext,
  repository: Repository,
  checkout: CheckoutLocation,
  about: { branch: string; head: string; changes: readonly TreeChange[]; mayBeDirty: boolean },
): Promise<string[]> {
  const { branch, head, changes, mayBeDirty } = about;
  const { gitDir, files } = checkout;
  if ((await refIn(gitDir)) !== `refs/heads/${branch}`)
    return [`${branch} is no longer checked out in ${files}`];
  const found: string[] = [];
  const underWay = await underWayIn(gitDir);
  if (underWay !== null)
    found.push(`${underWay} is in progress in ${files}: finish or abort it first`);
  const { absent, tracked, isFiltered } = await readChanged(
    gitContext,
    repository,
    checkout,
    head,
    async (status) => status,
  );
  if (absent.length > 0) found.push(`${files} is a sparse checkout: use git itself there`);
  if (tracked.length > 0 && !mayBeDirty)
    found.push(
      `${files}, where ${branch} is checked out, has uncommitted changes (${shortNameList(tracked.map(toText))}): commit or stash them first`,
    );
  if (isFiltered) found.push(filtersMessage(repository));
  const taken = await inTheWay(checkout, changes);
  if (taken.length > 0)
    found.push(
      `untracked files in ${files} would be overwritten (${shortNameList(taken)}): move them away`,
    );
  return found;
}

/** Returns the untracked files in the way of files that a move adds; none of them is ever overwritten. */
async function inTheWay(
  { files }: CheckoutLocation,
  changes: readonly TreeChange[],
): Promise<string[]> {
  const going = new Set(
    changes.filter(({ status }) => status === 'deleted').map((one) => one.path),
  );
  const found = new Set<string>();
  for (const { path: name, status } of changes) {
    if (status !== 'added') continue;
    const parts = name.split('/');
    for (let length = 1; length <= parts.length; length += 1) {
      const one = parts.slice(0, length).join('/');
      const kind = await entryKindOf(bytePath(files, one));
      if (kind === null) break;
      if (kind !== 'directory') {
        if (!going.has(one)) found.add(one);
        break;
      }
      if (length === parts.length)
        for (const inner of await filesBelow(files, one)) if (!going.has(inner)) found.add(inner);
    }
  }
  return [...found].map(toText);
}

async function filesBelow(files: string, name: string): Promise<string[]> {
  const directory = bytePath(files, name);
  const found: string[] = [];
  for (const entry of await fs.readdir(directory, { encoding: 'buffer', withFileTypes: true })) {
    const inner = `${name}/${entry.name.toString('latin1')}`;
    if (entry.isDirectory()) found.push(...(await filesBelow(files, inner)));
    else found.push(inner);
  }
  return found;
}

/** The files that git leaves in its directory while it waits for a person, and their names in messages. */
const UNDER_WAY = {
  MERGE_HEAD: 'a merge',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
  BISECT_LOG: 'a bisect',
};

/** Returns the unfinished operation of git in a git directory, such as "a rebase"; null if there is none. */
async function underWayIn(gitDir: string): Promise<string | null> {
  for (const [name, what] of Object.entries(UNDER_WAY))
    if ((await entryKindOf(path.join(gitDir, name))) !== null) return what;
  return null;
}

/** Returns whether a rebase of a branch is under way anywhere; its HEAD is detached meanwhile. */
async function isInRebase(repository: Repository, branch: string): Promise<boolean> {
  for (const gitDir of [repository.commonDir, ...(await adminDirectories(repository))])
    for (const below of ['rebase-merge', 'rebase-apply']) {
      const name = (await readNote(gitDir, `${below}/head-name`))?.trim();
      if (name === `refs/heads/${branch}`) return true;
    }
  return false;
}

/** Returns the hooks of a repository that git would run, and that do not run here. */
export async function hooksOf(
  { commonDir, root }: Repository,
  settings: readonly Setting[],
  names: readonly string[],
): Promise<string[]> {
  const named = lastOf(settings, 'core.hookspath');
  const directory = named === undefined ? path.join(commonDir, 'hooks') : path.resolve(root, named);
  const found: string[] = [];
  for (const name of names) {
    const file = path.join(directory, name);
    if ((await entryKindOf(file)) === null) continue;
    const mode = await fs.stat(file).then(
      (one) => one.mode,
      () => 0,
    );
    if ((mode & 0o111) !== 0) found.push(name);
  }
  return found;
}
