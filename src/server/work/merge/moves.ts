import fs from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../../api/errors.ts';
import { readForeignFile } from '../../../core/lib/foreign-file.ts';
import { newUuid } from '../../../core/lib/ids.ts';
import { INDEX_BYTES } from '../git/isolated-git-dir.ts';
import { assertGitDirectory, entryKindOf, readNote } from '../git/foreign.ts';
import { type Git, GitFailure, type GitLocation } from '../git/git.ts';
import { checkoutsOf, commitOf, refsOf, type Repository } from '../git/repository.ts';
import { bytePath, nulTerminated } from '../git/names.ts';
import { copyIndexFile } from '../git/index-copy.ts';
import type { GitContext } from '../git/git-context.ts';
import { type Checkout, type Difference, isAt, openCheckout } from './checkout.ts';

/** The move of a branch from one commit to another, and the checkout whose files follow it. */
export interface Move {
  branch: string;
  from: string;
  to: string;
  /**
   * The commit of what was not committed in the checkout; null: all was. On the way to it, and back from it, the index
   * changes and no file does.
   */
  via: string | null;
  checkout: Checkout | null;
}

/** Moves that happen together or not at all. `id` is that of the worktree whose operation they are. */
export interface Moves {
  id: string;
  /** What the logs of the branches say about it. */
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
  const locked: Checkout[] = [];
  let isUndone = true;
  try {
    for (const checkout of checkoutsIn(all)) {
      await lock(checkout, all.id);
      locked.push(checkout);
    }
    await check();
    gitContext.failpoint('worktree.moving');
    await moveRefs(gitContext.git, repository, all).catch((error: unknown) => {
      // Git that refuses has moved nothing; git that was ended early may have moved all.
      isUndone = error instanceof GitFailure && error.exitCode > 0;
      throw error;
    });
    gitContext.failpoint('worktree.moved');
    try {
      await assertNowhereElse(repository, all);
      for (const move of all.moves) await follow(gitContext, repository, all.id, move);
    } catch (error) {
      isUndone = false;
      await takeBack(gitContext, repository, all);
      isUndone = true;
      throw error;
    }
    gitContext.failpoint('worktree.followed');
  } catch (error) {
    if (isUndone) for (const checkout of locked) await unlock(checkout, all.id);
    throw isUndone ? asConflict(error) : new HalfMoved({ cause: error });
  }
  for (const checkout of locked) await unlock(checkout, all.id);
}

/** Branches have moved, and the files of a checkout could neither follow nor go back: the next merge or start tries again. */
export class HalfMoved extends AppError {
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
  const location = refsOf(repository);
  const now = await Promise.all(
    all.moves.map(({ branch }) => commitOf(gitContext.git, location, `refs/heads/${branch}`)),
  );
  if (all.moves.some(({ to }, at) => now[at] === to)) {
    const moves = all.moves.filter(({ from }, at) => now[at] === from);
    // Git was killed in the middle of its transaction, unless somebody removed a lock and moved the branch back.
    const locks = await Promise.all(checkoutsIn(all).map((one) => isLockedBy(one, all.id)));
    if (moves.length > 0 && locks.every(Boolean))
      await moveRefs(gitContext.git, repository, { ...all, moves });
    for (const move of all.moves) {
      const { branch, to, checkout } = move;
      if (checkout === null || !(await isLockedBy(checkout, all.id))) continue;
      const tip = await commitOf(gitContext.git, location, `refs/heads/${branch}`);
      if (tip === to && (await isAt(checkout, branch)))
        await follow(gitContext, repository, all.id, move);
    }
  }
  for (const checkout of checkoutsIn(all)) await unlock(checkout, all.id);
  const last = all.moves.at(-1);
  if (!last) return false;
  const tip = await commitOf(gitContext.git, location, `refs/heads/${last.branch}`);
  const isIn = ['merge-base', '--is-ancestor', last.to, tip ?? ''];
  return tip !== null && (await gitContext.git.maybe(location, isIn)) !== null;
}

/** Returns the files that differ between two commits. */
export async function differencesOf(
  git: Git,
  repository: Repository,
  from: string,
  to: string,
): Promise<Difference[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to];
  const fields = (await git.bytes(refsOf(repository), args)).split('\0');
  const found: Difference[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = '', mode = '', oldId = '', id = '', letter = ''] = (fields[at] ?? '')
      .slice(1)
      .split(' ');
    const change = letter === 'A' ? 'added' : letter === 'D' ? 'deleted' : 'modified';
    const [before, after] = [
      { mode: oldMode, id: oldId },
      { mode, id },
    ];
    found.push({ path: fields[at + 1] ?? '', change, before, after });
  }
  return found;
}

function checkoutsIn({ moves }: Moves): Checkout[] {
  return moves.flatMap(({ checkout }) => (checkout === null ? [] : [checkout]));
}

/** Moves all branches in one transaction of git, or none. */
async function moveRefs(git: Git, repository: Repository, { moves, log }: Moves): Promise<void> {
  const commands = moves.map(
    ({ branch, from, to }) => `update refs/heads/${branch}\0${to}\0${from}\0`,
  );
  const args = ['update-ref', '--create-reflog', '-m', log, '-z', '--stdin'];
  await git.text(refsOf(repository), args, ['start\0', ...commands, 'commit\0'].join(''));
}

/** Throws `conflict` if a branch was checked out in another place while it moved. */
async function assertNowhereElse(repository: Repository, { moves }: Moves): Promise<void> {
  for (const { branch, checkout } of moves) {
    const isBare = repository.root === repository.commonDir;
    const found = (await checkoutsOf(repository, branch)).filter(
      (one) => one !== checkout?.gitDir && !(isBare && one === repository.commonDir),
    );
    if (found.length > 0)
      throw new AppError(
        'conflict',
        `branch ${branch} was checked out in another worktree during the merge: try again`,
        {
          isTemporary: true,
        },
      );
  }
}

/** Moves branches and files back. Throws if that fails, too. */
async function takeBack(gitContext: GitContext, repository: Repository, all: Moves): Promise<void> {
  const moves = all.moves.map((move) => ({ ...move, from: move.to, to: move.from }));
  for (const move of all.moves.toReversed()) await goBack(gitContext, repository, all.id, move);
  await moveRefs(gitContext.git, repository, { ...all, log: `${all.log}: undone`, moves });
}

/** Brings the index and the files of a checkout to where its branch has moved. */
async function follow(gitContext: GitContext, repository: Repository, id: string, move: Move) {
  const { from, via, to, checkout } = move;
  if (checkout === null) return;
  if (via !== null) await noteIn(gitContext, repository, id, { from, to: via, checkout });
  const last = via ?? from;
  if (last !== to) await writeFiles(gitContext, repository, id, { from: last, to, checkout });
}

/** Brings them back; what was not committed is not committed again. */
async function goBack(gitContext: GitContext, repository: Repository, id: string, move: Move) {
  const { from, via, to, checkout } = move;
  if (checkout === null) return;
  const last = via ?? from;
  if (last !== to) await writeFiles(gitContext, repository, id, { from: to, to: last, checkout });
  if (via !== null) await noteIn(gitContext, repository, id, { from: via, to: from, checkout });
}

/** A step of a checkout from one commit to another. */
interface Step {
  from: string;
  to: string;
  checkout: Checkout;
}

/** Changes only the index: the files are what was committed, and stay. */
async function noteIn(gitContext: GitContext, repository: Repository, id: string, step: Step) {
  const { from, to, checkout } = step;
  const { git } = gitContext;
  await gitContext.withScratch({ id }, async (scratch) => {
    const isolated = await openCheckout(gitContext, repository, checkout, { head: to, scratch });
    if (!(await copyIndexFile(isolated, checkout.gitDir)))
      await git.text(isolated, ['read-tree', from]);
    await putInIndex(git, isolated, await differencesOf(git, repository, from, to), 'after');
    await refresh(git, isolated);
    await placeIndex(isolated.index ?? '', checkout.gitDir);
  });
}

/**
 * Writes the files and the index of a checkout for a branch that has moved. A file that is not as `from` has it is left
 * alone: either it is the new one already, or a person has changed it since.
 */
async function writeFiles(
  gitContext: GitContext,
  repository: Repository,
  id: string,
  { from, to, checkout }: Step,
): Promise<void> {
  const { git } = gitContext;
  await gitContext.withScratch({ id }, async (scratch) => {
    const isolated = await openCheckout(gitContext, repository, checkout, { head: to, scratch });
    if (!(await copyIndexFile(isolated, checkout.gitDir)))
      await git.text(isolated, ['read-tree', from]);
    const differences = await differencesOf(git, repository, from, to);
    await putInIndex(git, isolated, differences, 'before');
    const settled = await settledOf(git, isolated, checkout, differences);
    await putInIndex(git, isolated, settled, 'after');
    const base = settled.length === 0 ? from : await treeWith(git, isolated, from, settled);
    await git.text(isolated, [...WHOLE_INDEX, 'read-tree', '-m', '-u', base, to]);
    await placeIndex(isolated.index ?? '', checkout.gitDir);
  });
}

/** Git writes an index that needs no other file beside it. */
const WHOLE_INDEX = ['-c', 'core.splitIndex=false'];

async function putInIndex(
  git: Git,
  isolated: GitLocation,
  differences: readonly Difference[],
  version: 'before' | 'after',
): Promise<void> {
  if (differences.length === 0) return;
  const entries = differences.map(({ path: name, [version]: { mode, id } }) =>
    /^0+$/.test(mode) ? `0 ${id}\t${name}` : `${mode} ${id}\t${name}`,
  );
  // Removals first, because a file may take the place of a directory.
  const update = [...WHOLE_INDEX, 'update-index', '--replace', '-z', '--index-info'];
  await git.text(isolated, update, nulTerminated(entries.toSorted()));
}

/** Returns the files that are not as they were before the move. */
async function settledOf(
  git: Git,
  isolated: GitLocation,
  { files }: Checkout,
  differences: readonly Difference[],
): Promise<Difference[]> {
  await refresh(git, isolated);
  const args = ['diff-files', '-z', '--name-only', '--ignore-submodules=all'];
  const changed = new Set((await git.bytes(isolated, args)).split('\0'));
  const found: Difference[] = [];
  for (const one of differences) {
    const kind = one.change === 'added' ? await entryKindOf(bytePath(files, one.path)) : null;
    const isThere = kind !== null && kind !== 'directory';
    if (one.after.mode === '160000' || changed.has(one.path) || isThere) found.push(one);
  }
  return found;
}

/**
 * Writes the tree of a commit with some files as they are after the move. From there on git has nothing to do with what
 * lies at their names: it would not even leave out a file that a directory has taken the place of.
 */
async function treeWith(
  git: Git,
  isolated: GitLocation,
  commit: string,
  settled: readonly Difference[],
): Promise<string> {
  const own = { ...isolated, index: `${isolated.index}-between` };
  await git.text(own, [...WHOLE_INDEX, 'read-tree', commit]);
  await putInIndex(git, own, settled, 'after');
  return git.text(own, ['write-tree']);
}

/** Compares the files that look changed; git exits with an error where some are. */
async function refresh(git: Git, isolated: GitLocation): Promise<void> {
  await git.maybe(isolated, [
    ...WHOLE_INDEX,
    'update-index',
    '-q',
    '--refresh',
    '--ignore-submodules',
  ]);
}

/** Replaces the index of a git directory by another one, atomically; the times of both are the same. */
async function placeIndex(from: string, gitDir: string): Promise<void> {
  const index = path.join(gitDir, 'index');
  const draft = path.join(gitDir, `index.cadre-${newUuid()}`);
  const { mode } = await fs.lstat(index).catch(() => ({ mode: 0o644 }));
  const { atime, mtime } = await fs.lstat(from);
  try {
    const content = await readForeignFile(path.dirname(from), path.basename(from), {
      maxBytes: INDEX_BYTES,
    });
    await fs.writeFile(draft, content ?? '', {
      mode: mode & 0o777,
      flag: 'wx',
      flush: true,
    });
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
async function lock({ gitDir, files }: Checkout, id: string): Promise<void> {
  await assertGitDirectory(gitDir);
  try {
    await fs.writeFile(path.join(gitDir, 'index.lock'), lockText(id), { flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new AppError(
      'conflict',
      `another git command is running in ${files}: wait until the command ends, or remove ${path.join(gitDir, 'index.lock')} if no git command is running`,
      { isTemporary: true },
    );
  }
}

async function unlock(checkout: Checkout, id: string): Promise<void> {
  if (await isLockedBy(checkout, id)) await fs.rm(path.join(checkout.gitDir, 'index.lock'));
}

async function isLockedBy({ gitDir }: Checkout, id: string): Promise<boolean> {
  if ((await entryKindOf(path.join(gitDir, 'index.lock'))) !== 'file') return false;
  return (await readNote(gitDir, 'index.lock').catch(() => null)) === lockText(id);
}

function lockText(id: string): string {
  return `cadre moves a branch for ${id}\nDo not remove this file: the next start of the cadre server finishes that and removes it.\n`;
}

/** A failure of git or of the system as a refusal; nothing has changed. */
function asConflict(error: unknown): unknown {
  const isSystem = (error as NodeJS.ErrnoException).syscall !== undefined;
  if (!(error instanceof GitFailure) && !isSystem) return error;
  const { message } = error as Error;
  return new AppError('conflict', `the operation failed, and nothing was changed: ${message}`, {
    cause: error,
    isTemporary: true,
  });
}
