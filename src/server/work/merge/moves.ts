import fs from 'node:fs/promises';
import path from 'node:path';
import { AppError, conflictError } from '../../../api/errors.ts';
import { readForeignFile } from '../../../core/lib/foreign-file.ts';
import { isAboutFile, nullUnlessShort } from '../../../core/lib/system-error.ts';
import { newUuid } from '../../../core/lib/ids.ts';
import { changesBetween, type CheckoutLocation, type TreeChange } from '../git/changes.ts';
import { copyIndexFile, INDEX_BYTES, openIsolatedGitDir } from '../git/isolated-git-dir.ts';
import { assertFiles, assertGitDirectory, entryKindOf, readNote } from '../git/foreign.ts';
import { bytePath, type Git, nulTerminated } from '../git/git.ts';
import { GitFailure } from '../git/git-failure.ts';
import { checkoutsOf, commitOf, contains, refIn, type Repository } from '../git/repository.ts';
import type { GitContext } from '../git/git-context.ts';

/** The move of a branch from one commit to another, and the checkout whose files follow it. */
export interface Move {
  branch: string;
  from: string;
  to: string;
  /**
   * The commit of the uncommitted changes in the checkout; null if there were none. On the way to it, and back from it,
   * the index changes and no file does.
   */
  via: string | null;
  checkout: CheckoutLocation | null;
}

/** Moves that happen together or not at all. */
export interface Moves {
  /** The id of the worktree whose operation they are. */
  id: string;
  /** The reason in the logs of the branches. */
  log: string;
  moves: Move[];
}

/**
 * Moves branches, and the files of their checkouts with them. Each index is locked as git locks it, so no git command
 * changes what is checked out meanwhile; `check` runs under these locks, and throws to refuse. Then all branches move
 * in one transaction of git, which fails if one of them is not at `from` any more. If files cannot be written, branches
 * and files go back. Throws `conflict`. The caller has stored the moves and holds the mutex of the repository.
 */
export async function makeMoves(
  gitContext: GitContext,
  repository: Repository,
  all: Moves,
  check: () => Promise<void>,
): Promise<void> {
  const locked: CheckoutLocation[] = [];
  let isUndone = true;
  try {
    for (const checkout of checkoutsIn(all)) {
      await lock(checkout, all.id);
      locked.push(checkout);
    }
    await check();
    gitContext.failpoint('worktree.moving');
    await moveRefs(repository, all).catch((error: unknown) => {
      // Git that refuses has moved nothing; git that was ended early may have moved all.
      isUndone = error instanceof GitFailure && error.exitCode > 0;
      throw error;
    });
    gitContext.failpoint('worktree.moved');
    try {
      await assertNowhereElse(repository, all);
      for (const move of all.moves) await updateCheckout(gitContext, repository, all.id, move);
    } catch (error) {
      isUndone = false;
      await undoMoves(gitContext, repository, all);
      isUndone = true;
      throw error;
    }
    gitContext.failpoint('worktree.followed');
  } catch (error) {
    if (isUndone) for (const checkout of locked) await unlock(checkout, all.id);
    throw isUndone ? asConflict(error) : new PartialMoveError({ cause: error });
  }
  for (const checkout of locked) await unlock(checkout, all.id);
}

/** Branches have moved, and the files of a checkout could be neither updated nor restored: the next merge or start tries again. */
export class PartialMoveError extends AppError {
  constructor(options: ErrorOptions) {
    super(
      'conflict',
      `the branch was updated, but the files of its checkout were not (${(options.cause as Error).message}): git stays locked in that checkout until you merge or rebase the worktree again, or restart the server`,
      { ...options, isTemporary: true },
    );
  }
}

/**
 * Finishes moves that a crash cut off: if one branch has moved, all do, and the files follow; what a person has changed
 * since then stays as it is. Returns whether the last of the branches has moved. A checkout whose lock is gone is left alone,
 * because whoever removed the lock works there.
 */
export async function completeMoves(
  gitContext: GitContext,
  repository: Repository,
  all: Moves,
): Promise<boolean> {
  const tipOf = ({ branch }: Move) => commitOf(repository.git, `refs/heads/${branch}`);
  const now = await Promise.all(all.moves.map(tipOf));
  if (all.moves.some(({ to }, at) => now[at] === to)) {
    const moves = all.moves.filter(({ from }, at) => now[at] === from);
    // Git was killed in the middle of its transaction, unless somebody removed a lock and moved the branch back.
    const locks = await Promise.all(checkoutsIn(all).map((one) => isLockedBy(one, all.id)));
    if (moves.length > 0 && locks.every(Boolean)) await moveRefs(repository, { ...all, moves });
    for (const move of all.moves) {
      const { branch, to, checkout } = move;
      if (checkout === null || !(await isLockedBy(checkout, all.id))) continue;
      const isAt = (await tipOf(move)) === to;
      if (isAt && (await refIn(checkout.gitDir)) === `refs/heads/${branch}`)
        await updateCheckout(gitContext, repository, all.id, move);
    }
  }
  for (const checkout of checkoutsIn(all)) await unlock(checkout, all.id);
  const last = all.moves.at(-1);
  if (!last) return false;
  const tip = await tipOf(last);
  return tip !== null && contains(repository, tip, last.to);
}

function checkoutsIn({ moves }: Moves): CheckoutLocation[] {
  return moves.flatMap(({ checkout }) => (checkout === null ? [] : [checkout]));
}

/** Moves all branches in one transaction of git, or none. */
async function moveRefs({ git }: Repository, { moves, log }: Moves): Promise<void> {
  const commands = moves.map(
    ({ branch, from, to }) => `update refs/heads/${branch}\0${to}\0${from}\0`,
  );
  const args = ['update-ref', '--create-reflog', '-m', log, '-z', '--stdin'];
  await git.text(args, ['start\0', ...commands, 'commit\0'].join(''));
}

/** Throws `conflict` if a branch was checked out in another place while it moved. */
async function assertNowhereElse(repository: Repository, { moves }: Moves): Promise<void> {
  for (const { branch, checkout } of moves) {
    const isBare = repository.root === repository.commonDir;
    const found = (await checkoutsOf(repository, branch)).filter(
      (one) => one !== checkout?.gitDir && !(isBare && one === repository.commonDir),
    );
    if (found.length > 0)
      throw conflictError(
        `branch ${branch} was checked out in another worktree during the merge: try again`,
        { isTemporary: true },
      );
  }
}

/** Moves branches and files back. Throws if that fails, too. */
async function undoMoves(
  gitContext: GitContext,
  repository: Repository,
  all: Moves,
): Promise<void> {
  const moves = all.moves.map((move) => ({ ...move, from: move.to, to: move.from }));
  for (const move of all.moves.toReversed()) {
    const back = stepsOf(move).toReversed();
    const steps = back.map(({ from, to, withFiles }) => ({ from: to, to: from, withFiles }));
    await applySteps(gitContext, repository, { id: all.id, checkout: move.checkout, steps });
  }
  await moveRefs(repository, { ...all, log: `${all.log}: undone`, moves });
}

/** Brings the index and the files of a checkout to where its branch has moved. */
function updateCheckout(gitContext: GitContext, repository: Repository, id: string, move: Move) {
  const about = { id, checkout: move.checkout, steps: stepsOf(move) };
  return applySteps(gitContext, repository, about);
}

/** A step of a checkout from one commit to another; without files, only the index changes. */
interface Step {
  from: string;
  to: string;
  withFiles: boolean;
}

function stepsOf({ from, via, to }: Move): Step[] {
  const last = via ?? from;
  return [
    { from, to: last, withFiles: false },
    { from: last, to, withFiles: true },
  ].filter((step) => step.from !== step.to);
}

/**
 * Takes steps in a copy of the index of a checkout, which replaces the index at the end. A file that is not as the step
 * begins is left alone: either it is the new one already, or a person has changed it since.
 */
async function applySteps(
  gitContext: GitContext,
  repository: Repository,
  {
    id,
    checkout,
    steps,
  }: { id: string; checkout: CheckoutLocation | null; steps: readonly Step[] },
): Promise<void> {
  const [first] = steps;
  if (checkout === null || first === undefined) return;
  await gitContext.withScratch({ id }, async (scratch) => {
    await assertGitDirectory(checkout.gitDir);
    await assertFiles(checkout.files);
    const filters = gitContext.filtersOf(repository);
    const about = { ...checkout, head: first.to, scratch, filters };
    const { isolated } = await openIsolatedGitDir(repository, about);
    const hasIndex = await copyIndexFile(isolated, checkout.gitDir);
    if (!hasIndex) await isolated.text(['read-tree', first.from]);
    for (const { from, to, withFiles } of steps) {
      const changes = await changesBetween(repository, [from, to]);
      await putInIndex(isolated, changes, withFiles ? 'old' : 'new');
      await refresh(isolated);
      if (!withFiles) continue;
      const settled = await changedSince(isolated, checkout, changes);
      await putInIndex(isolated, settled, 'new');
      const base = settled.length === 0 ? from : await treeWith(isolated, from, settled);
      const writer = isolated.with({ isConfined: true });
      await writer.text([...WHOLE_INDEX, 'read-tree', '-m', '-u', base, to]);
    }
    await placeIndex(isolated.location.index ?? '', checkout.gitDir);
  });
}

/** Git writes an index that needs no other file beside it. */
const WHOLE_INDEX = ['-c', 'core.splitIndex=false'];

async function putInIndex(
  isolated: Git,
  changes: readonly TreeChange[],
  version: 'old' | 'new',
): Promise<void> {
  if (changes.length === 0) return;
  const entries = changes.map((change) => {
    const { path: name, old_mode, old_blob, new_mode, new_blob } = change;
    const [mode, blob] = version === 'old' ? [old_mode, old_blob] : [new_mode, new_blob];
    const zeros = '0'.repeat((old_blob ?? new_blob ?? '').length);
    return `${mode ?? 0} ${blob ?? zeros}\t${name}`;
  });
  // Removals first, because a file may take the place of a directory.
  const update = [...WHOLE_INDEX, 'update-index', '--replace', '-z', '--index-info'];
  await isolated.text(update, nulTerminated(entries.toSorted()));
}

/** Compares the files that look changed; git exits with an error where some are. */
async function refresh(isolated: Git): Promise<void> {
  const args = ['update-index', '-q', '--refresh', '--ignore-submodules'];
  await isolated.maybe([...WHOLE_INDEX, ...args]);
}

/** Returns the files that are not as they were before the move. */
async function changedSince(
  isolated: Git,
  { files }: CheckoutLocation,
  changes: readonly TreeChange[],
): Promise<TreeChange[]> {
  const args = ['diff-files', '-z', '--name-only', '--ignore-submodules=all'];
  const changed = new Set(await isolated.entries(args));
  const found: TreeChange[] = [];
  for (const one of changes) {
    const kind = one.status === 'added' ? await entryKindOf(bytePath(files, one.path)) : null;
    const isThere = kind !== null && kind !== 'directory';
    if (one.new_mode === '160000' || changed.has(one.path) || isThere) found.push(one);
  }
  return found;
}

/**
 * Writes the tree of a commit with some files as they are after the move. From there on git leaves these names alone: it
 * would not even leave out a file that a directory has taken the place of.
 */
async function treeWith(
  isolated: Git,
  commit: string,
  settled: readonly TreeChange[],
): Promise<string> {
  const own = isolated.with({ index: `${isolated.location.index}-between` });
  await own.text([...WHOLE_INDEX, 'read-tree', commit]);
  await putInIndex(own, settled, 'new');
  return own.text(['write-tree']);
}

/** Replaces the index of a git directory by another one, atomically; the times of both are the same. */
async function placeIndex(from: string, gitDir: string): Promise<void> {
  const index = path.join(gitDir, 'index');
  const draft = path.join(gitDir, `index.cadre-${newUuid()}`);
  const { mode } = await fs.lstat(index).catch(() => ({ mode: 0o644 }));
  const { atime, mtime } = await fs.lstat(from);
  try {
    const limit = { maxBytes: INDEX_BYTES };
    const content = await readForeignFile(path.dirname(from), path.basename(from), limit);
    await fs.writeFile(draft, content ?? '', { mode: mode & 0o777, flag: 'wx', flush: true });
    await fs.utimes(draft, atime, mtime);
    await fs.rename(draft, index);
  } catch (error) {
    await fs.rm(draft, { force: true });
    throw error;
  }
}

/**
 * Locks the index of a checkout as git does. The lock names the operation, so that a start finds its own locks, and says
 * what to do to whoever looks into it after a crash.
 */
async function lock({ gitDir, files }: CheckoutLocation, id: string): Promise<void> {
  await assertGitDirectory(gitDir);
  const file = path.join(gitDir, 'index.lock');
  const draft = path.join(gitDir, `index.cadre-${newUuid()}`);
  try {
    await fs.writeFile(draft, lockText(id), { flag: 'wx', flush: true });
    // The link appears with its content, so a crash leaves no lock without a name. Some file systems have no links.
    await fs.link(draft, file).catch(() => fs.copyFile(draft, file, fs.constants.COPYFILE_EXCL));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw conflictError(
      `another git command is running in ${files}: wait until the command ends, or remove ${file} if no git command is running`,
      { isTemporary: true },
    );
  } finally {
    await fs.rm(draft, { force: true });
  }
}

async function unlock(checkout: CheckoutLocation, id: string): Promise<void> {
  if (await isLockedBy(checkout, id)) await fs.rm(path.join(checkout.gitDir, 'index.lock'));
}

async function isLockedBy({ gitDir }: CheckoutLocation, id: string): Promise<boolean> {
  if ((await entryKindOf(path.join(gitDir, 'index.lock'))) !== 'file') return false;
  return (await readNote(gitDir, 'index.lock').catch(nullUnlessShort)) === lockText(id);
}

function lockText(id: string): string {
  return `cadre moves a branch for ${id}\nDo not remove this file: the next start of the cadre server finishes that and removes it.\n`;
}

/** A failure of git or of the system as a refusal; nothing has changed. */
function asConflict(error: unknown): unknown {
  if (!(error instanceof GitFailure) && !isAboutFile(error)) return error;
  const { message } = error as Error;
  return conflictError(`the operation failed, and nothing was changed: ${message}`, {
    cause: error,
    isTemporary: true,
  });
}
