import { realPath } from '../../../core/lib/paths.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { AppError, conflictError, invalidError } from '../../../api/errors.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { type Committed, howToAllow } from '../git/consent.ts';
import { isThere } from '../git/foreign.ts';
import type { Git } from '../git/git.ts';
import {
  branchAt,
  commitOf,
  commitsOf,
  checkoutAround,
  findRepository,
  recordedRepository,
  type Repository,
  repositoryOf,
} from '../git/repository.ts';
import { readArchive } from './archive.ts';
import type { WorktreeDependencies } from './dependencies.ts';
import { copyIncluded } from './included.ts';
import { runInitScript } from './init-script.ts';
import { freePorts } from './ports.ts';
import type { Operation } from './store.ts';
import {
  assertFree,
  createFiles,
  discardFiles,
  NotDiscarded,
  restoreFiles,
} from './worktree-files.ts';
import { branchFor, newWorktree, reasonOf, renamed, type WorktreeRequest } from './worktree.ts';

/** The directory that a worktree is requested in, and the sandbox of the session that it is for. */
export interface WorktreeSource {
  directory: string;
  sandbox: Session['sandbox'];
}

/**
 * Creates a worktree. `finish` runs in the transaction that stores it; its result is returned. The caller holds the mutex
 * of the worktree's name.
 */
export async function createWorktree<T>(
  deps: WorktreeDependencies,
  repository: Repository,
  { directory, sandbox }: WorktreeSource,
  request: WorktreeRequest,
  finish: (tx: Writer, made: Worktree) => T,
): Promise<T> {
  const { db, store, gitContext, ids, clock, settings, failpoint } = deps;
  await undoEarlier(deps, repository, request.worktree_name);
  const checked = await gitContext.withRepositoryLock(repository, async () => {
    const { tip, ...base } = await baseOf(repository, directory, request);
    const found = newWorktree(request, {
      id: ids.next('wt'),
      root: gitContext.root,
      repoRoot: repository.root,
      policy: settings().deletion_policy_default,
      now: clock.now(),
      ...base,
    });
    await assertFree(found, repository, tip);
    return found;
  });
  const tip = checked.base_commit;
  const planned = await beginOperation(deps, { kind: 'create', worktree: checked, tip });
  failpoint('worktree.creating');
  return orUndo(deps, planned, 'cannot create the worktree', async () => {
    await createFiles(gitContext, planned, repository);
    const { patterns, script } = await deps.initScripts.committedIn(repository, {
      patterns: request.copy_included !== false && repository.root !== repository.commonDir,
      script: request.run_init_script !== false,
    });
    const toCopy = await toUse(deps, repository, request.copy_included, patterns);
    const included =
      'content' in toCopy
        ? await gitContext.withScratch(planned, (scratch) =>
            copyIncluded(repository, { worktree: planned, patterns: toCopy, scratch }),
          )
        : { ...planned.included, ...toCopy };
    failpoint('worktree.included');
    const toRun = await toUse(deps, repository, request.run_init_script, script);
    const init_script =
      'content' in toRun
        ? await gitContext.withScratch(planned, (scratch) =>
            runInitScript(deps, planned, toRun, { scratch, chosen: sandbox }),
          )
        : { ...planned.init_script, ...toRun };
    return db.transact((tx) => {
      const made: Worktree = { ...planned, included, init_script };
      store.create(tx, made);
      store.endOperation(tx, planned.id);
      return finish(tx, made);
    });
  });
}

/** Restores a cleaned worktree from its archive, under `name`. */
export async function restoreWorktree(
  deps: WorktreeDependencies,
  old: Worktree,
  name: string,
  saveResponse?: SaveResponse,
): Promise<Worktree> {
  const { db, store, gitContext, clock, failpoint } = deps;
  const repository = await repositoryOf(gitContext.git, old);
  await undoEarlier(deps, repository, name);
  const checked = renamed(old, name, gitContext.root);
  const archived = await gitContext.withRepositoryLock(repository, async () => {
    const branch = await commitOf(repository.git, `refs/heads/${checked.branch}`);
    await assertFree(checked, repository, branch);
    const found = await readArchive(repository, checked.id);
    if (found) return found;
    throw conflictError(
      `worktree ${checked.id} cannot be restored, because it has no archive: create another worktree`,
    );
  });
  const tip = archived.tip ?? archived.head;
  const planned = await beginOperation(deps, { kind: 'restore', worktree: checked, tip });
  failpoint('worktree.restoring');
  return orUndo(deps, planned, 'cannot restore the worktree', async () => {
    await restoreFiles(gitContext, planned, repository, archived);
    failpoint('worktree.restored');
    return db.transact((tx) => {
      const now: Worktree = { ...planned, status: 'retained', updated_at: clock.now() };
      store.move(tx, now, 'worktree.restored', {});
      store.endOperation(tx, planned.id);
      return now;
    }, saveResponse);
  });
}

/** Returns the repository and branch of a worktree of this name made from a directory. Throws `invalid`. */
export async function previewWorktree(
  git: Git,
  { directory, worktree_name }: { directory: string; worktree_name: string },
): Promise<{ repo_root: string; worktree_name: string; branch: string }> {
  const { root } = await findRepository(git, directory);
  const branch = branchFor({ worktree_name, source_session_id: '' });
  return { repo_root: root, worktree_name, branch };
}

/** Returns what a worktree starts from that is created now from a directory. Throws as {@link createWorktree}. */
export async function readBase(
  git: Git,
  directory: string,
  base_ref: string | null,
): Promise<{ repo_root: string; base_ref: string; base_commit: string }> {
  const repository = await findRepository(git, directory);
  const request = { base_ref, worktree_name: 'base', source_session_id: '' };
  const { baseRef, baseCommit } = await baseOf(repository, directory, request);
  return { repo_root: repository.root, base_ref: baseRef, base_commit: baseCommit };
}

/** Stores an operation before its first step, and returns its worktree, which has ports of its own from then on. */
function beginOperation(deps: WorktreeDependencies, operation: Operation): Promise<Worktree> {
  const { db, store, settings, logger, mutexes } = deps;
  const { worktree: planned } = operation;
  return mutexes.run('ports', async () => {
    const taken = await db.read((rx) => store.withPorts(rx, planned.id));
    const worktree = { ...planned, ...(await freePorts(settings(), planned, taken)) };
    if (worktree.port_base === null)
      logger.warn(
        { worktree_id: planned.id },
        'cannot allocate ports for a worktree: all blocks are in use',
      );
    await db.transact((tx) => store.operations.insert(tx, { ...operation, worktree }));
    return worktree;
  });
}

/**
 * Returns the commit that a worktree starts from: the one of `base_ref`, else the one checked out in `directory`; with
 * it the commit of the branch that the worktree is to have, if there is such a branch.
 */
async function baseOf(
  { git, commonDir }: Repository,
  directory: string,
  request: WorktreeRequest,
): Promise<{ baseRef: string; baseCommit: string; tip: string | null }> {
  const named = request.base_ref ?? null;
  // Each worktree has its own HEAD; a bare repository has only the one in its common directory.
  const isBare = (await realPath(directory)) === commonDir;
  const found = isBare ? null : await checkoutAround(directory);
  const checkout = git.at({ directory, gitDir: found?.gitDir ?? commonDir });
  const start = request.base_commit ?? named ?? 'HEAD';
  const names = [start, `refs/heads/${branchFor(request)}`];
  const [commit = null, tip = null] = await commitsOf(checkout, names);
  if (commit === null && named !== null)
    throw invalidError(
      `base_ref "${named}" is not a commit of ${directory}: name a branch, tag or commit`,
    );
  if (commit === null)
    throw invalidError(`the repository ${directory} has no commits yet: create the first commit`);
  if (named !== null) return { baseRef: named, baseCommit: commit, tip };
  const branch = await branchAt(checkout);
  return { baseRef: branch ?? commit, baseCommit: commit, tip };
}

/**
 * Returns content of a repository that is to be used, because the request demands it (`asked`) or a person has trusted
 * it; else why it is not used.
 */
async function toUse(
  { initScripts }: WorktreeDependencies,
  { root }: Repository,
  asked: boolean | null | undefined,
  found: Committed | null,
) {
  if (asked === false) return { status: 'off' as const };
  if (found === null) return { status: 'not_found' as const };
  const { sha256 } = found;
  if (asked === true || (await initScripts.isTrusted(root, sha256))) return found;
  return { status: 'skipped_untrusted' as const, sha256, how_to_allow: howToAllow(root) };
}

/**
 * Runs the steps of a stored operation. A step that fails has cleaned up after itself, so only the operation is
 * deleted; if only the final transaction fails, the finished worktree is removed first. If the server is stopping,
 * startup recovery does this instead.
 */
async function orUndo<T>(
  deps: WorktreeDependencies,
  worktree: Worktree,
  what: string,
  steps: () => Promise<T>,
): Promise<T> {
  const { stopping, logger } = deps;
  try {
    return await steps();
  } catch (error) {
    if (stopping.aborted)
      throw new AppError('shutting_down', 'the server is stopping: try again after the restart', {
        cause: error,
      });
    const isLeft = error instanceof NotDiscarded;
    const failure = isLeft ? error.cause : error;
    const undone = isLeft ? Promise.reject(error.undoing) : undo(deps, worktree);
    await undone.catch((undoing: unknown) =>
      logger.warn(
        { err: undoing, worktree_id: worktree.id },
        'cannot remove an unfinished worktree: the next creation of its name, or the next start, tries again',
      ),
    );
    const reason = reasonOf(failure);
    if (reason === null || failure instanceof AppError) throw failure;
    throw conflictError(`${what}: ${reason}`, { cause: failure });
  }
}

async function undo(
  { db, store, gitContext }: WorktreeDependencies,
  worktree: Worktree,
): Promise<void> {
  const operation = await db.read((rx) => store.operations.get(rx, worktree.id));
  const repository = await recordedRepository(gitContext.git, worktree.repo_root);
  if ((await isThere(worktree.path)) && operation)
    await discardFiles(gitContext, worktree, repository, operation.tip ?? '');
  await db.transact((tx) => store.endOperation(tx, worktree.id));
}

/**
 * Removes what an earlier creation or restore of this name has left, because it failed and could not be undone. If its
 * operation stayed, the next start would remove the new worktree.
 */
async function undoEarlier(
  { db, store, gitContext }: WorktreeDependencies,
  repository: Repository,
  name: string,
): Promise<void> {
  const begun = await db.read((rx) => store.cutOff(rx));
  for (const { kind, worktree, tip } of begun) {
    const isOfName = worktree.repo_root === repository.root && worktree.worktree_name === name;
    if (!isOfName || (kind !== 'create' && kind !== 'restore')) continue;
    await discardFiles(gitContext, worktree, repository, tip ?? '');
    await db.transact((tx) => store.endOperation(tx, worktree.id));
  }
}
