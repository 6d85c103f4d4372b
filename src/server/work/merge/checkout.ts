import fs from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../../api/errors.ts';
import {
  filtersIn,
  isOn,
  openIsolatedGitDir,
  ownSettings,
  type Setting,
} from '../git/isolated-git-dir.ts';
import { assertFiles, assertGitDirectory, entryKindOf, readLog, readNote } from '../git/foreign.ts';
import type { GitLocation } from '../git/git.ts';
import { adminDirectories, checkoutsOf, refIn, type Repository } from '../git/repository.ts';
import { bytePath } from '../git/names.ts';
import { copyIndex } from '../git/index-copy.ts';
import { INCLUDED } from '../worktrees/worktree-state.ts';
import type { GitContext } from '../git/git-context.ts';
import { toText } from './commits.ts';

/** A directory with the files of a branch: the main worktree of a repository, or another one. */
export interface Checkout {
  /** Git's own directory for it. */
  gitDir: string;
  files: string;
}

/** What differs from the commit that is checked out: names of files, with one character for each byte. */
export interface Changes {
  tracked: string[];
  untracked: string[];
  /** Repositories inside that git does not know. */
  nested: string[];
  /** Whether it has only some of the files. */
  isSparse: boolean;
  /** Whether the repository has filters that are kept from running. */
  isFiltered: boolean;
}

/** What git leaves in its directory while it waits for a person, and what that is called. */
const UNDER_WAY: readonly (readonly [file: string, what: string])[] = [
  ['MERGE_HEAD', 'a merge'],
  ['rebase-merge', 'a rebase'],
  ['rebase-apply', 'a rebase'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  ['BISECT_LOG', 'a bisect'],
];

/** Returns the checkout of a git directory. Throws `conflict` if its files are not where git says. */
export async function checkoutAt(repository: Repository, gitDir: string): Promise<Checkout> {
  if (gitDir !== repository.commonDir) {
    const link = path.resolve(gitDir, ((await readNote(gitDir, 'gitdir')) ?? '').trimEnd());
    const files = path.dirname(link);
    if ((await entryKindOf(link)) === 'file') return { gitDir, files };
    throw new AppError(
      'conflict',
      `the checkout ${files} no longer exists, but git still lists it: run git worktree prune`,
    );
  }
  return { gitDir, files: repository.root };
}

/**
 * Returns where a branch is checked out; null if nowhere. Throws `conflict` if that is in several places. `settings` are
 * those of the repository itself.
 */
export async function checkoutOfBranch(
  repository: Repository,
  branch: string,
  settings: readonly Setting[],
): Promise<Checkout | null> {
  const isBare = repository.root === repository.commonDir || isOn(settings, 'core.bare');
  const found = (await checkoutsOf(repository, branch)).filter(
    (gitDir) => !isBare || gitDir !== repository.commonDir,
  );
  const [gitDir, ...more] = found;
  if (gitDir === undefined) return null;
  if (more.length > 0)
    throw new AppError(
      'conflict',
      `branch ${branch} is checked out in several worktrees: keep the branch in only one worktree`,
    );
  const elsewhere = settings.find(([name]) => name === 'core.worktree')?.[1];
  if (gitDir === repository.commonDir && elsewhere !== undefined)
    if (path.resolve(gitDir, elsewhere) !== repository.root)
      throw new AppError(
        'conflict',
        `the git setting core.worktree of ${repository.root} names a different directory`,
      );
  return checkoutAt(repository, gitDir);
}

/** Returns what git has begun and not finished in a git directory, such as "a rebase"; null if nothing. */
export async function underWayIn(gitDir: string): Promise<string | null> {
  for (const [name, what] of UNDER_WAY)
    if ((await entryKindOf(path.join(gitDir, name))) !== null) return what;
  return null;
}

/** Returns the directory in which a rebase of a branch is under way, while its HEAD is detached; null if none is. */
export async function rebasing(repository: Repository, branch: string): Promise<string | null> {
  for (const gitDir of [repository.commonDir, ...(await adminDirectories(repository))])
    for (const below of ['rebase-merge', 'rebase-apply']) {
      const name = (await readNote(gitDir, `${below}/head-name`))?.trim();
      if (name === `refs/heads/${branch}`) return gitDir;
    }
  return null;
}

/** Returns whether the HEAD of a checkout is at a branch. */
export async function isAt({ gitDir }: Checkout, branch: string): Promise<boolean> {
  return (await refIn(gitDir)) === `refs/heads/${branch}`;
}

/** The settings of a checkout, the filters that run in it, and whether others are kept from running. */
async function settingsOf(
  gitContext: GitContext,
  repository: Repository,
  { gitDir }: Checkout,
): Promise<{ settings: Setting[]; filters: readonly Setting[]; isFiltered: boolean }> {
  const isMain = gitDir === repository.commonDir;
  const settings = await ownSettings(gitContext.git, repository, isMain ? null : gitDir);
  const filters = await gitContext.trustedFilters(repository, settings);
  return { settings, filters, isFiltered: filtersIn(settings).length > filters.length };
}

/** Opens a bench on the files of a checkout, which has no index yet. `scratch` is an empty directory. */
export async function openCheckout(
  gitContext: GitContext,
  repository: Repository,
  checkout: Checkout,
  { head, scratch }: { head: string; scratch: string },
): Promise<GitLocation> {
  return (await openWith(gitContext, repository, checkout, { head, scratch })).isolated;
}

/** Does so; says, too, whether filters of the repository are kept from running. */
async function openWith(
  gitContext: GitContext,
  repository: Repository,
  checkout: Checkout,
  { head, scratch }: { head: string; scratch: string },
): Promise<{ isolated: GitLocation; isFiltered: boolean }> {
  const { gitDir: adminDir, files } = checkout;
  await assertGitDirectory(adminDir);
  await assertFiles(files);
  const { settings, filters, isFiltered } = await settingsOf(gitContext, repository, checkout);
  const about = { repository, adminDir, files, head, scratch, settings, filters };
  return { isolated: await openIsolatedGitDir(about), isFiltered };
}

/**
 * Returns what differs in a checkout from the commit `head`, which it has checked out, with the location whose index
 * is a copy of its own. Copies of included files do not count.
 */
export async function changesOf(
  gitContext: GitContext,
  repository: Repository,
  checkout: Checkout,
  { head, scratch }: { head: string; scratch: string },
): Promise<Changes & { isolated: GitLocation }> {
  const { gitDir } = checkout;
  const about = { head, scratch };
  const { isolated, isFiltered } = await openWith(gitContext, repository, checkout, about);
  const { absent } = await copyIndex(gitContext.git, isolated, { adminDir: gitDir, head });
  const included = new Set((await readLog(gitDir, INCLUDED)).split('\0'));
  const status = ['status', '--porcelain', '-z', '--untracked-files=all', '--no-renames'];
  const output = await gitContext.git.bytes(isolated, [...status, '--ignore-submodules=all']);
  const isSparse = absent.length > 0;
  const found: Changes = { tracked: [], untracked: [], nested: [], isSparse, isFiltered };
  for (const line of output.split('\0').filter(Boolean)) {
    const [state, name] = [line.slice(0, 2), line.slice(3)];
    if (state !== '??') found.tracked.push(name);
    else if (name.endsWith('/')) found.nested.push(name.slice(0, -1));
    else if (!included.has(name)) found.untracked.push(name);
  }
  // A repository may have replaced a tracked file.
  for (const name of found.tracked)
    if ((await entryKindOf(bytePath(checkout.files, `${name}/.git`))) !== null)
      found.nested.push(name);
  return { ...found, isolated };
}

/** A file that differs between two commits; the names have one character for each byte. */
export interface Difference {
  path: string;
  change: 'added' | 'deleted' | 'modified';
  /** Each version as git lists it; zeros if there is none. */
  before: { mode: string; id: string };
  after: { mode: string; id: string };
}

/** Returns the files in the way of those that a move adds: git does not track them, and none is ever overwritten. */
export async function inTheWay(
  { files }: Checkout,
  differences: readonly Difference[],
): Promise<string[]> {
  const going = new Set(
    differences.filter(({ change }) => change === 'deleted').map((one) => one.path),
  );
  const found = new Set<string>();
  for (const { path: name, change } of differences) {
    if (change !== 'added') continue;
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
