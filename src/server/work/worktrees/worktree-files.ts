import fs from 'node:fs/promises';
import path from 'node:path';
import type { Worktree } from '../../../api/worktrees.ts';
import { conflictError, invalidError } from '../../../api/errors.ts';
import { makeDirectory } from '../../../core/lib/make-directory.ts';
import { removeTree } from '../../../core/lib/remove-tree.ts';
import { openIsolatedGitDir } from '../git/isolated-git-dir.ts';
import { isThere, entryKindOf, readNote } from '../git/foreign.ts';
import type { GitContext } from '../git/git-context.ts';
import { GitFailure } from '../git/git-failure.ts';
import {
  adminDirectory,
  checkoutsOf,
  commitOf,
  linkOf,
  type Repository,
} from '../git/repository.ts';
import { unsavedSubmodules } from '../git/submodules.ts';
import { type Archived, fillFromArchive, isArchived, writeArchive } from './archive.ts';
import { ignoredMessage, nestedMessage } from './worktree.ts';
import {
  archiveRef,
  assertReadable,
  needsArchive,
  type Snapshot,
  type SnapshotFacts,
  takeSnapshot,
} from './worktree-state.ts';

// The directory, branch and refs of worktrees. No row is read or written here. The server may crash after any step, so
// each step can be repeated.

/** Names of branches that git accepts for sure; it is asked about all others. */
const PLAIN = /^\w[\w-]*(\/\w[\w-]*)*$/;

/**
 * Throws `conflict` if the path or the branch exists already, `invalid` if git does not accept the branch name. `tip`
 * is the commit of the branch, null if the branch does not exist.
 */
export async function assertFree(
  { path: directory, branch }: Worktree,
  { git }: Repository,
  tip: string | null,
): Promise<void> {
  const check = ['check-ref-format', `refs/heads/${branch}`];
  if (!PLAIN.test(branch) && (await git.maybe(check)) === null)
    throw invalidError(`"${branch}" is not a valid branch name: choose another name`);
  if (tip !== null)
    throw conflictError(
      `the branch ${branch} already exists: choose another worktree_name or branch_prefix`,
    );
  if (await isThere(directory))
    throw conflictError(`the directory ${directory} already exists: move it to another place`);
}

/**
 * Creates the branch and the worktree and checks out its files; holds the mutex of the repository for parts of that.
 * The repository's filters run only if a person has allowed them. If a step fails, everything made so far is removed.
 */
export async function createFiles(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
): Promise<void> {
  const { base_commit: head, path: files } = worktree;
  const start = { commit: head, what: [worktree.branch] };
  await addCheckout(gitContext, worktree, repository, start, async (gitDir, scratch) => {
    const filters = gitContext.filtersOf(repository);
    const about = { gitDir, files, head, scratch, filters };
    const { isolated } = await openIsolatedGitDir(repository, about);
    const own = isolated.with({ index: path.join(gitDir, 'index'), isConfined: true });
    await own.text(['read-tree', '-m', '-u', head]);
  });
}

/** Creates the branch and the worktree again from its archive, in the same way. */
export async function restoreFiles(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
  archived: Archived,
): Promise<void> {
  const { head, headRef, tip } = archived;
  // Git checks a branch out in one worktree only, so a worktree that was on any other ref gets its commit detached.
  const wasOnBranch = head === tip && headRef === archived.branchRef;
  const start = { commit: tip ?? head, what: wasOnBranch ? [worktree.branch] : ['--detach', head] };
  const { path: files } = worktree;
  await addCheckout(gitContext, worktree, repository, start, (gitDir, scratch) =>
    fillFromArchive(repository, { gitDir, files, scratch }, archived),
  );
}

async function addCheckout(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
  { commit, what }: { commit: string; what: readonly string[] },
  fill: (gitDir: string, scratch: string) => Promise<void>,
): Promise<void> {
  const zeroId = '0'.repeat(commit.length);
  const branch = ['update-ref', `refs/heads/${worktree.branch}`, commit, zeroId];
  const registering = await gitContext.withRepositoryLock(repository, async () => {
    // From here on cadre owns the branch, and deletes it if a later step fails.
    await repository.git.text(branch);
    return register(worktree, repository, what).then(
      () => null,
      (error: unknown) => ({ error }),
    );
  });
  try {
    if (registering !== null) throw registering.error;
    gitContext.failpoint('worktree.added');
    const gitDir = await adminDirectory(repository, worktree.path);
    if (gitDir === null)
      throw conflictError(
        `the worktree ${worktree.path} was removed during its creation: try again`,
        { isTemporary: true },
      );
    await gitContext.inCheckoutLane(() =>
      gitContext.withScratch(worktree, (scratch) => fill(gitDir, scratch)),
    );
  } catch (error) {
    await discardFiles(gitContext, worktree, repository, commit).catch((undoing: unknown) => {
      throw new NotDiscarded(error, undoing);
    });
    throw error;
  }
}

/** The creation of a worktree failed with `cause`, and what it had created could not be removed. */
export class NotDiscarded extends Error {
  readonly undoing: unknown;

  constructor(cause: unknown, undoing: unknown) {
    super('the files of an unfinished worktree could not be removed', { cause });
    this.undoing = undoing;
  }
}

/** Registers a worktree with git, with its branch or a detached commit checked out, but without files. */
async function register(
  { path: directory }: Worktree,
  { git }: Repository,
  what: readonly string[],
): Promise<void> {
  const parent = path.dirname(directory);
  makeDirectory(parent);
  await assertNoLink(parent);
  const flags = ['--quiet', '--no-checkout', ...what.slice(0, -1)];
  await git.text(['worktree', 'add', ...flags, '--', directory, ...what.slice(-1)]);
  await assertNoLink(directory);
}

async function assertNoLink(directory: string): Promise<void> {
  if ((await fs.realpath(directory)) === directory) return;
  throw conflictError(
    `the path ${directory} contains a symbolic link: move the link to another place`,
  );
}

/**
 * Removes a worktree whose creation has not ended; holds the mutex of the repository. Archives the commits that its
 * branch has beyond `expected`. Without a repository, throws once the directory is removed, because the branch is left:
 * its disk may not be mounted yet.
 */
export async function discardFiles(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository | null,
  expected: string,
): Promise<void> {
  await removeTree(worktree.path);
  if (repository === null) throw new Error(`the repository ${worktree.repo_root} no longer exists`);
  const { git } = repository;
  await gitContext.withRepositoryLock(repository, async () => {
    await unregister(worktree, repository);
    const tip = await commitOf(git, `refs/heads/${worktree.branch}`);
    if (tip === null) return;
    if (tip !== expected) await git.text(['update-ref', archiveRef(worktree.id), tip]);
    await removeBranch(worktree, repository, tip);
  });
}

async function unregister({ path: directory }: Worktree, repository: Repository): Promise<void> {
  if ((await adminDirectory(repository, directory)) === null) return;
  await repository.git.text(['worktree', 'remove', '--force', '--force', '--', directory]);
}

/** Deletes the branch if it still points to `tip`; returns why it could not be deleted, null if it does not exist any more. */
export async function removeBranch(
  { branch }: Worktree,
  { git, commonDir }: Repository,
  tip: string,
): Promise<string | null> {
  try {
    await git.text(['update-ref', '-d', `refs/heads/${branch}`, tip]);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    // An earlier server may have deleted it.
    if ((await commitOf(git, `refs/heads/${branch}`)) !== null)
      return `branch ${branch} was kept (${error.message})`;
  }
  // Few repositories have settings of branches, and git takes longer to say so than it takes to look.
  const config = await readNote(commonDir, 'config').catch(() => '[branch');
  if (/\[\s*branch/i.test(config ?? ''))
    await git.text(['config', '--local', '--remove-section', `branch.${branch}`]).catch(ignoreGit);
  return null;
}

/** Ignores a refusal of git: the branch has no settings, or they stay. */
function ignoreGit(error: unknown): void {
  if (!(error instanceof GitFailure)) throw error;
}

/** Returns why a worktree cannot be removed at all; null if nothing prevents it. */
export async function reasonNotToRemove(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
): Promise<string | null> {
  const { path: files } = worktree;
  if (!(await isThere(files))) return null;
  const adminDir = await adminDirectory(repository, files);
  const locked = adminDir && (await readNote(adminDir, 'locked'));
  if (locked !== null) {
    const reason = locked.trim();
    return `the worktree is locked${reason ? ` (${reason})` : ''}: git worktree unlock ${files}`;
  }
  const link = path.join(files, '.git');
  const kind = await entryKindOf(link);
  if (kind === null) return null;
  const target = kind === 'directory' ? null : await linkOf(files);
  if (target === null || path.dirname(target) !== path.join(repository.commonDir, 'worktrees'))
    return `${link} belongs to another repository, which an archive cannot hold: move it away`;
  await assertReadable(files, adminDir);
  const unsaved = await gitContext.withScratch(worktree, (scratch) =>
    unsavedSubmodules(repository, { adminDir, files, scratch }),
  );
  return unsaved.length > 0 ? nestedMessage(unsaved) : null;
}

export interface RemovedFiles {
  path: boolean;
  branch: boolean;
  /** Why the branch could not be deleted, so that it is tried again later; null if nothing is left to delete. */
  left: string | null;
  /** Whether the worktree has an archive; null if nothing was left to look at. */
  hasArchive: boolean | null;
  diagnostics: string[];
}

/**
 * Removes a worktree whose content is archived. It is renamed out of the way first, so that no process finds it by
 * its path and writes to it. Changes made since the snapshot are archived too; then the directory is renamed to mark
 * it as archived, and git's registration is removed. `sweepFiles` deletes the files.
 */
export async function removeFiles(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
  { tip, ...facts }: { tip: string | null } & SnapshotFacts,
): Promise<RemovedFiles> {
  const aside = path.join(gitContext.asideDirectory, worktree.id);
  const done = `${aside}.archived`;
  const removed: RemovedFiles = {
    path: false,
    branch: false,
    left: null,
    hasArchive: null,
    diagnostics: [],
  };
  if (await isThere(worktree.path)) {
    await removeTree(done);
    await fs.rename(worktree.path, aside);
  }
  gitContext.failpoint('worktree.aside');
  let last = tip;
  if (!(await isThere(done))) {
    const rest = await archiveRest(gitContext, worktree, repository, { aside, ...facts });
    const { ignored } = rest.snapshot;
    if (ignored.length > 0) removed.diagnostics.push(ignoredMessage(ignored));
    last = rest.snapshot.tip;
    removed.hasArchive = rest.hasArchive;
    if (await isThere(aside)) await fs.rename(aside, done);
  }
  removed.path = await isThere(done);
  await unregister(worktree, repository);
  const [elsewhere] = await checkoutsOf(repository, worktree.branch);
  if (elsewhere !== undefined)
    removed.diagnostics.push(
      `branch ${worktree.branch} was kept: it is checked out in ${elsewhere}`,
    );
  else if (last !== null) {
    removed.left = await removeBranch(worktree, repository, last);
    removed.branch = removed.left === null;
    if (removed.left !== null) removed.diagnostics.push(removed.left);
  }
  gitContext.failpoint('worktree.unbranched');
  return removed;
}

/**
 * Makes sure that the content of the renamed worktree is archived, or only its commits and index if its files are
 * gone; says whether it has an archive then. If that fails, renames the directory back.
 */
async function archiveRest(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
  { aside, ...facts }: { aside: string } & SnapshotFacts,
): Promise<{ snapshot: Snapshot; hasArchive: boolean }> {
  try {
    const snapshot = await takeSnapshot(gitContext, worktree, repository, facts, aside);
    if (snapshot.nested.length > 0) throw conflictError(nestedMessage(snapshot.nested));
    const isNeeded = needsArchive(snapshot);
    if (isNeeded && !(await isArchived(repository, worktree, snapshot)))
      await writeArchive(gitContext, worktree, repository, snapshot);
    return { snapshot, hasArchive: isNeeded || snapshot.archive !== null };
  } catch (error) {
    if (await isThere(aside)) await fs.rename(aside, worktree.path);
    throw error;
  }
}

/** Deletes the files of a removed worktree; returns a diagnostic if that fails. */
export async function sweepFiles(gitContext: GitContext, { id }: Worktree): Promise<string[]> {
  const done = path.join(gitContext.asideDirectory, `${id}.archived`);
  try {
    await removeTree(done);
    return [];
  } catch (error) {
    return [`cannot remove ${done} (${(error as Error).message}): the next start tries again`];
  } finally {
    gitContext.failpoint('worktree.removed');
  }
}

/** Whether the directory of a worktree was renamed, because its removal has begun. */
export async function isAside(gitContext: GitContext, { id }: Worktree): Promise<boolean> {
  const aside = path.join(gitContext.asideDirectory, id);
  return (await isThere(aside)) || (await isThere(`${aside}.archived`));
}
