import type { BodyOf, ResponseOf } from '../../../api/endpoint.ts';
import type { CleanupResult, releaseWorktree, Worktree } from '../../../api/worktrees.ts';
import { conflictError } from '../../../api/errors.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { nullUnlessShort } from '../../../core/lib/system-error.ts';
import { isThere } from '../git/foreign.ts';
import {
  adminDirectory,
  checkoutAround,
  recordedRepository,
  type Repository,
  repositoryOf,
} from '../git/repository.ts';
import type { OtherBranches } from '../git/unreachable-commits.ts';
import { hasArchive, writeArchive } from './archive.ts';
import type { WorktreeDependencies } from './dependencies.ts';
import {
  isAside,
  reasonNotToRemove,
  removeBranch,
  removeFiles,
  sweepFiles,
} from './worktree-files.ts';
import { isUsable, nestedMessage, reasonOf, unknownToGit } from './worktree.ts';
import { archiveRef, needsArchive, isClean, settingsIn, takeSnapshot } from './worktree-state.ts';

/** The result of a cleanup, without the fields that are read from the rows after it. */
type Outcome = Partial<CleanupResult> & Pick<CleanupResult, 'status' | 'diagnostics'>;

function outcome(status: Outcome['status'], ...diagnostics: string[]): Outcome {
  return { status, diagnostics };
}

/** Stores that a worktree was removed, and releases the claims that a missing worktree may still have. */
export function storeCleaned(
  { store, claims, clock }: Pick<WorktreeDependencies, 'store' | 'claims' | 'clock'>,
  tx: Writer,
  id: string,
  { archive_ref, reason }: Pick<Worktree, 'archive_ref'> & { reason: string | null },
): void {
  for (const { session_id } of store.activeClaimsOn(tx, id)) claims.release(tx, id, session_id);
  const cleaned: Worktree = {
    ...store.worktree(tx, id),
    status: 'cleaned',
    archive_ref,
    cleanup_due_at: null,
    updated_at: clock.now(),
  };
  store.move(tx, cleaned, 'worktree.cleaned', { reason });
}

/** Cleans up worktrees. The caller holds the mutex of the worktree's name. */
export class WorktreeCleanup {
  readonly #deps: WorktreeDependencies;
  /** The ids of worktrees whose cleanup is running or waiting for the mutex of their repository. */
  readonly #leaving = new Set<string>();

  constructor(deps: WorktreeDependencies) {
    this.#deps = deps;
  }

  /**
   * Releases a claim, and cleans up after the last one. The release stores that a cleanup is due, so that the next start
   * does it if the server dies in between.
   */
  async release(
    id: string,
    body: BodyOf<typeof releaseWorktree>,
    saveResponse?: SaveResponse,
  ): Promise<ResponseOf<typeof releaseWorktree>> {
    const { db, store, claims, clock } = this.#deps;
    const released = await db.transact((tx) => {
      const { worktree, claim } = claims.release(tx, id, body.session_id);
      const active_claims = store.activeClaimsOn(tx, id).length;
      const isLast = active_claims === 0 && worktree.status === 'retained';
      const isDue = isLast && (body.cleanup_if_last_claim ?? true);
      if (isLast && !isDue) store.move(tx, worktree, 'worktree.retained', {});
      const now = isDue ? { ...worktree, cleanup_due_at: clock.now() } : worktree;
      if (isDue) store.worktrees.update(tx, now);
      const answer = { worktree: now, claim, active_claims, cleanup: null };
      saveResponse?.(tx, answer);
      return { isDue, answer };
    });
    if (!released.isDue) return released.answer;
    const cleanup = await this.cleanUpReleased(id);
    const answer = { ...released.answer, worktree: cleanup.worktree, cleanup };
    // If the disk is full, the answer without the cleanup stays stored.
    return db.transact(() => answer, saveResponse).catch(() => answer);
  }

  /** Does the cleanup that is due. If it fails, the result contains the failure, and the cleanup stays due. */
  async cleanUpReleased(id: string): Promise<CleanupResult> {
    const { db, store, logger } = this.#deps;
    const reason = 'the last claim on the worktree was released';
    try {
      const result = await this.cleanUp(id, reason, { wasActive: true });
      if ((result.worktree.cleanup_due_at ?? null) === null) return result;
      // The cleanup has ended, also where it left the worktree as it is.
      return await db.transact((tx) => {
        const worktree = { ...store.worktree(tx, id), cleanup_due_at: null };
        store.worktrees.update(tx, worktree);
        return { ...result, worktree };
      });
    } catch (error) {
      logger.error({ err: error, worktree_id: id }, 'a due cleanup failed');
      const { message } = error as Error;
      const problem = `the cleanup failed, the next start of the server repeats it: ${message}`;
      return this.#resultOf(id, outcome('failed', problem));
    }
  }

  /**
   * Cleans up, or returns why not. A missing worktree is cleaned up under any policy, because only its branch is left;
   * with `anyway`, also if sessions claim it. With `wasActive`, the worktree had claims until now.
   */
  async cleanUp(
    id: string,
    reason: string | null,
    { anyway = false, wasActive = false } = {},
  ): Promise<CleanupResult> {
    const { db, store } = this.#deps;
    const done = await this.#cleanUp(id, reason, anyway);
    const { status, diagnostics } = done;
    const isRetained = status === 'retained_by_policy' && wasActive;
    if (isRetained || status === 'failed')
      await db.transact((tx) => {
        const now = store.worktree(tx, id);
        if (isRetained) store.move(tx, now, 'worktree.retained', {});
        else store.move(tx, now, 'worktree.cleanup_failed', { reason, diagnostics });
      });
    return this.#resultOf(id, done);
  }

  #resultOf(id: string, done: Outcome): Promise<CleanupResult> {
    const { db, store } = this.#deps;
    return db.read((rx) => {
      const worktree = store.worktree(rx, id);
      return {
        worktree,
        deleted_path: false,
        deleted_branch: false,
        archive_ref: worktree.archive_ref,
        active_claims: store.activeClaimsOn(rx, id).length,
        ...done,
      };
    });
  }

  async #cleanUp(id: string, reason: string | null, anyway: boolean): Promise<Outcome> {
    const { db, store, gitContext } = this.#deps;
    const found = await db.read((rx) => store.worktree(rx, id));
    if (found.status === 'cleaned') {
      const left = await this.deleteLeftoverBranch(found);
      const already = 'the worktree was already cleaned up';
      return outcome('cleaned', already, ...(left === null ? [] : [left]));
    }
    await this.noteIfMissing(found);
    const { worktree, users } = await db.read((rx) => ({
      worktree: store.worktree(rx, id),
      users: this.#usersOf(rx, found),
    }));
    const operation = await db.read((rx) => store.operations.get(rx, id));
    if (operation?.kind === 'move')
      return outcome(
        'failed',
        'a merge or rebase of the worktree is unfinished: merge it again first',
      );
    if (users.length > 0 && !anyway) return outcome('skipped_active_claims', ...users);
    if (worktree.deletion_policy === 'retain_on_last_claim' && worktree.status !== 'missing')
      return outcome('retained_by_policy', 'the deletion_policy is retain_on_last_claim');
    this.#leaving.add(id);
    try {
      const repository = await recordedRepository(gitContext.git, worktree.repo_root);
      if (!repository)
        return outcome('failed', `the repository ${worktree.repo_root} no longer exists`);
      const result = await gitContext.withRepositoryLock(repository, async () => {
        const obstacle = await reasonNotToRemove(gitContext, worktree, repository);
        if (obstacle !== null) return outcome('failed', obstacle);
        return this.#archiveAndRemove(worktree, repository, reason, anyway);
      });
      // Deleting files takes a while and touches no ref, so it runs without the mutex of the repository.
      const left = result.status === 'cleaned' ? await sweepFiles(gitContext, worktree) : [];
      return { ...result, diagnostics: [...result.diagnostics, ...left] };
    } catch (error) {
      const problem = reasonOf(error);
      if (problem === null) throw error;
      // If the files were already renamed, the operation stays, and the next start removes them.
      if (!(await isAside(gitContext, found)))
        await db.transact((tx) => store.endOperation(tx, found.id));
      await this.noteIfMissing(found);
      return outcome('failed', problem);
    } finally {
      this.#leaving.delete(id);
    }
  }

  /**
   * Deletes the branch of a cleaned worktree if that failed before, for instance because of a lock; returns why it
   * fails again, null if nothing is left. The operation is stored until then, so that startup recovery tries it too.
   */
  async deleteLeftoverBranch(worktree: Worktree): Promise<string | null> {
    const { db, store, gitContext } = this.#deps;
    const operation = await db.read((rx) => store.operations.get(rx, worktree.id));
    if (operation?.kind !== 'remove') return null;
    const { tip } = operation;
    const repository = await recordedRepository(gitContext.git, worktree.repo_root);
    const left =
      repository === null || tip === null
        ? null
        : await gitContext.withRepositoryLock(repository, () =>
            removeBranch(worktree, repository, tip),
          );
    if (left === null) await db.transact((tx) => store.endOperation(tx, worktree.id));
    return left;
  }

  /** Returns the current branches of the other worktrees of the same repository. */
  #beside(worktree: Worktree): Promise<OtherBranches> {
    const { db, store } = this.#deps;
    return db.read((rx) => {
      const others = store.othersOf(rx, worktree);
      const leaving = others.filter(({ id }) => this.#leaving.has(id));
      return {
        branches: others.map(({ branch }) => branch),
        leaving: leaving.map(({ branch }) => branch),
      };
    });
  }

  async #archiveAndRemove(
    worktree: Worktree,
    repository: Repository,
    reason: string | null,
    anyway: boolean,
  ): Promise<Outcome> {
    const { db, store, clock, gitContext } = this.#deps;
    const { id } = worktree;
    const beside = await this.#beside(worktree);
    const settings = await settingsIn(worktree, repository);
    const about = { beside, settings };
    const snapshot = await takeSnapshot(gitContext, worktree, repository, about);
    if (snapshot.nested.length > 0) return outcome('failed', nestedMessage(snapshot.nested));
    const isNeeded = needsArchive(snapshot);
    const { deletion_policy: policy, status } = worktree;
    if (!isClean(snapshot) && policy === 'delete_if_clean' && status !== 'missing')
      return outcome(
        'retained_by_policy',
        'the worktree contains work, and its deletion_policy is delete_if_clean',
      );
    const { tip } = snapshot;
    await db.transact((tx) => {
      // A start that could not finish a removal has left its operation.
      store.endOperation(tx, id);
      store.operations.insert(tx, { kind: 'remove', worktree, tip });
    });
    if (isNeeded) await writeArchive(gitContext, worktree, repository, snapshot);
    const users = await db.transact((tx) => {
      const archive_ref = archiveRef(id);
      const now: Worktree = { ...store.worktree(tx, id), archive_ref, updated_at: clock.now() };
      if (isNeeded) store.move(tx, now, 'worktree.archived', {});
      const left = anyway ? [] : this.#usersOf(tx, now);
      if (left.length > 0) store.endOperation(tx, id);
      return left;
    });
    if (users.length > 0) return outcome('skipped_active_claims', ...users);
    const removed = await removeFiles(gitContext, worktree, repository, { tip, ...about });
    const isKept = removed.hasArchive ?? (await hasArchive(repository, id));
    const archive_ref = isKept ? archiveRef(id) : null;
    await db.transact((tx) => {
      storeCleaned(this.#deps, tx, id, { archive_ref, reason });
      if (removed.left === null) store.endOperation(tx, id);
    });
    return {
      status: 'cleaned',
      deleted_path: removed.path,
      deleted_branch: removed.branch,
      diagnostics: removed.diagnostics,
    };
  }

  /** Returns one sentence for each session or process that claims a worktree or works in it. */
  #usersOf(rx: Reader, { id, path: directory }: Worktree): string[] {
    const { store, sessionStore, processes } = this.#deps;
    return [
      ...store
        .activeClaimsOn(rx, id)
        .map(({ session_id }) => `session ${session_id} claims the worktree`),
      ...sessionStore.openIn(rx, directory).map((one) => `session ${one.id} works in the worktree`),
      ...processes
        .unfinishedIn(rx, directory)
        .map((one) => `process ${one.process_id} runs in the worktree`),
    ];
  }

  /** Predicts the outcome of a cleanup from the rows alone; the files are not read. */
  fateOf(rx: Reader, worktree: Worktree): string {
    const { deletion_policy: policy } = worktree;
    const users = this.#usersOf(rx, worktree);
    if (users.length > 0) return `would be kept: ${users.join(', ')}`;
    if (policy === 'retain_on_last_claim') return `would be kept: its deletion_policy is ${policy}`;
    if (policy === 'delete_if_clean') return 'not claimed: would be removed if clean';
    return 'not claimed: would be archived and removed';
  }

  /** Throws `conflict` for a worktree whose files are there, but in which git cannot work. */
  async assertUsable(worktree: Worktree): Promise<void> {
    await this.noteIfMissing(worktree);
    const { path: directory } = worktree;
    if (!isUsable(worktree) || !(await isThere(directory))) return;
    const repository = await repositoryOf(this.#deps.gitContext.git, worktree);
    const known = await adminDirectory(repository, directory);
    const found = await checkoutAround(directory).catch(nullUnlessShort);
    if (known === null || found?.gitDir !== known)
      throw conflictError(
        `${unknownToGit(directory)}, remove the directory, or choose another worktree_name`,
      );
  }

  async noteIfMissing({ id, path: directory }: Worktree): Promise<void> {
    const { db, store, clock } = this.#deps;
    if (await isThere(directory)) return;
    await db.transact((tx) => {
      const now = store.worktree(tx, id);
      if (!isUsable(now)) return;
      const missing: Worktree = { ...now, status: 'missing', updated_at: clock.now() };
      store.move(tx, missing, 'worktree.missing', {});
    });
  }
}
