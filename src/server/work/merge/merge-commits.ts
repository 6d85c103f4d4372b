import fs from 'node:fs/promises';
import path from 'node:path';
import type { Conflict } from '../../../api/worktree-merge.ts';
import { AppError } from '../../../api/errors.ts';
import { openIsolatedGitDir, type Setting } from '../git/isolated-git-dir.ts';
import { type Git, GitFailure, type GitLocation } from '../git/git.ts';
import { idsOf, refsOf, type Repository } from '../git/repository.ts';
import { nulTerminated } from '../git/names.ts';
import { type Commit, toText, writeCommit } from './commits.ts';

/** Git's exit codes for a merge with conflicts, and for options that it does not know. */
const CONFLICTS = 1;
const UNKNOWN_OPTION = 129;

/** The files that two sides have together, as a tree, and where git could not decide. */
export interface Merged {
  tree: string;
  conflicts: Conflict[];
}

/**
 * Opens a bench for merges: no driver or filter of the repository's settings runs, and no file of a checkout is read.
 * The attributes are those of the commit `ours`, as git has them in a checkout of it. `scratch` is an empty directory;
 * `settings` are those of the repository itself.
 */
export async function openMerging(
  git: Git,
  repository: Repository,
  about: { ours: string; scratch: string; settings: readonly Setting[] },
): Promise<GitLocation> {
  const { ours, scratch, settings } = about;
  const files = path.join(scratch, 'attributes');
  await fs.mkdir(files);
  const isolated = await openIsolatedGitDir({
    repository,
    adminDir: null,
    files,
    head: ours,
    scratch,
    settings,
  });
  const names = await git.bytes(isolated, ['ls-tree', '-r', '-z', '--name-only', ours]);
  const attributes = names.split('\0').filter((name) => /(^|\/)\.gitattributes$/.test(name));
  if (attributes.length === 0) return isolated;
  await git.text(isolated, ['read-tree', ours]);
  await git.text(isolated, ['checkout-index', '-z', '--stdin'], nulTerminated(attributes));
  return isolated;
}

/** Merges two commits without touching a ref or a checkout. Throws `conflict` if git cannot do that at all. */
export async function mergeCommits(
  git: Git,
  isolated: GitLocation,
  { ours, theirs }: { ours: string; theirs: string },
): Promise<Merged> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--messages', ours, theirs];
  try {
    return { tree: treeIn(await git.bytes(isolated, args)), conflicts: [] };
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    if (error.exitCode === UNKNOWN_OPTION)
      throw new AppError(
        'conflict',
        'the installed git cannot merge without a checkout: install git 2.38 or newer',
        {
          cause: error,
        },
      );
    if (error.exitCode !== CONFLICTS || error.output === '')
      throw new AppError('conflict', `git cannot merge the branches: ${error.message}`, {
        cause: error,
      });
    return { tree: treeIn(error.output), conflicts: conflictsIn(error.output) };
  }
}

/** What commits become on another one: the last of them, or the one that conflicts. */
export type Replayed = { tip: string; tree: string } | { conflicts: Conflict[]; at: Commit };

/**
 * Writes commits again on top of `onto`, oldest first. Author, message and time of each stay; one that changes nothing
 * any more is left out. Stops at the first conflict.
 */
export async function replayCommits(
  git: Git,
  isolated: GitLocation,
  about: {
    repository: Repository;
    commits: readonly Commit[];
    onto: Pick<Commit, 'id' | 'tree'>;
    committer: string;
    /** Returns the tree of a commit. */
    treeOf: (id: string) => Promise<string>;
  },
): Promise<Replayed> {
  const { repository, commits, committer, treeOf } = about;
  let { id: tip, tree } = about.onto;
  for (const commit of commits) {
    const [parent = ''] = commit.parents;
    const parentTree = parent === '' ? null : await treeOf(parent);
    const merged =
      parentTree === tree
        ? { tree: commit.tree, conflicts: [] }
        : await pick(git, isolated, { repository, commit, tree, committer });
    if (merged.conflicts.length > 0) return { conflicts: merged.conflicts, at: commit };
    const wasEmpty = commit.tree === parentTree;
    if (merged.tree === tree && !wasEmpty) continue;
    tree = merged.tree;
    tip = await writeCommit(git, repository, { ...commit, tree, parents: [tip], committer });
  }
  return { tip, tree };
}

/**
 * Applies one commit to a tree. A commit of that tree with the same parent makes the parent their merge base, so an
 * ordinary merge of both is what is wanted.
 */
async function pick(
  git: Git,
  isolated: GitLocation,
  about: { repository: Repository; commit: Commit; tree: string; committer: string },
): Promise<Merged> {
  const { repository, commit, tree, committer } = about;
  const { parents, id: theirs } = commit;
  const stand = { tree, parents, author: committer, committer, message: 'Stand in\n' };
  const ours = await writeCommit(git, repository, stand);
  return mergeCommits(git, isolated, { ours, theirs });
}

/** Returns the trees of two commits. */
export async function treesOf(
  git: Git,
  repository: Repository,
  commits: readonly [string, string],
): Promise<[string, string]> {
  const names = commits.map((commit) => `${commit}^{tree}`);
  const [first, second] = (await idsOf(git, refsOf(repository), names)) ?? [];
  if (first && second) return [first, second];
  throw new AppError('conflict', 'git cannot read the tree of a commit: run git fsck');
}

/** Returns the tree of a commit. */
export function treeOf(git: Git, repository: Repository, commit: string): Promise<string> {
  return git.text(refsOf(repository), ['rev-parse', '--verify', `${commit}^{tree}`]);
}

function treeIn(output: string): string {
  return output.split(/[\0\n]/, 1)[0] ?? '';
}

/** Reads the names of the files in conflict, and then git's messages: how many paths, these, the kind, the text. */
function conflictsIn(output: string): Conflict[] {
  const fields = output.split('\0').slice(1);
  const end = fields.indexOf('');
  const names = fields.slice(0, end);
  const found = new Map<string, Conflict>();
  for (let at = end + 1; at + 2 < fields.length;) {
    const count = Number(fields[at]);
    const [name = ''] = fields.slice(at + 1, at + 1 + count);
    const kind = /^CONFLICT \((.+)\)$/.exec(fields[at + 1 + count] ?? '')?.[1];
    const message = (fields[at + 2 + count] ?? '').replace(/^CONFLICT \([^)]*\): /, '').trim();
    if (kind !== undefined && !found.has(name))
      found.set(name, { path: toText(name), kind, message: toText(message) });
    at += count + 3;
  }
  for (const name of names)
    if (!found.has(name)) found.set(name, { path: toText(name), kind: 'contents', message: '' });
  return [...found.values()];
}
