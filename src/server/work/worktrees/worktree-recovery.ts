import fs from 'node:fs';
import type { Writer } from '../../../core/store/transaction.ts';
import { isThere } from '../git/foreign.ts';
import { recordedRepository } from '../git/repository.ts';
import { completeOperation } from '../merge/merge-worktree.ts';
import { hasArchive } from './archive.ts';
import type { WorktreeDependencies } from './dependencies.ts';
import type { Operation } from './store.ts';
import { storeCleaned } from './worktree-cleanup.ts';
import { discardFiles, isAside, removeFiles, sweepFiles } from './worktree-files.ts';
import { archiveRef } from './worktree-state.ts';

type Dependencies = Pick<
  WorktreeDependencies,
  'db' | 'store' | 'claims' | 'sessionStore' | 'gitContext' | 'clock' | 'logger'
>;

interface Repair {
  /** Changes the rows. */
  change: (tx: Writer) => void;
  /** The part that could not be repaired, so that the next start tries again; null if nothing is left. */
  left: string | null;
}

const NOTHING_TO_REPAIR: Repair = { change: () => undefined, left: null };

/** Repairs worktrees after a crash: first the files, then, in the transaction of startup recovery, the rows. */
export class WorktreeRecovery {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Finishes or undoes the operations that the crash interrupted; returns the changes of rows for that. */
  async recoverFiles(): Promise<((tx: Writer) => void)[]> {
    const { db, store, gitContext, logger } = this.#deps;
    const changes: ((tx: Writer) => void)[] = [];
    for (const operation of db.peek((rx) => store.cutOff(rx))) {
      const worktree_id = operation.worktree.id;
      try {
        const { change, left } = await this.#recover(operation);
        changes.push(change);
        if (left === null) changes.push((tx) => store.endOperation(tx, worktree_id));
        else logger.warn({ worktree_id }, `${left}: the next start tries again`);
      } catch (error) {
        const message = 'cannot repair a worktree after a crash: the next start tries again';
        logger.warn({ err: error, worktree_id }, message);
      }
    }
    await gitContext
      .sweep()
      .catch((error: unknown) =>
        logger.warn({ err: error }, 'cannot delete the files of removed worktrees'),
      );
    return changes;
  }

  /** Releases the claims of closed sessions, and marks the worktrees whose directories are missing. */
  reconcile(tx: Writer): { claims_released: string[]; worktrees_missing: string[] } {
    const { store, sessionStore, claims, clock } = this.#deps;
    const claims_released = store
      .claimants(tx)
      .filter((id) => sessionStore.session(tx, id).status === 'closed')
      .flatMap((id) => claims.releaseAllOf(tx, id));
    const missing = store.present(tx).filter(({ path }) => !fs.existsSync(path));
    const gone = { status: 'missing' as const, updated_at: clock.now() };
    for (const worktree of missing)
      store.move(tx, { ...worktree, ...gone }, 'worktree.missing', {});
    return { claims_released, worktrees_missing: missing.map(({ id }) => id) };
  }

  async #recover(operation: Operation): Promise<Repair> {
    const { db, store, gitContext, clock } = this.#deps;
    const { kind, worktree, tip } = operation;
    // A server that could not undo its operation may have given the directory to another worktree.
    const { id, path } = worktree;
    const present = db.peek((rx) => store.present(rx));
    if (kind !== 'move' && present.some((other) => other.path === path && other.id !== id))
      return kind === 'remove'
        ? { ...NOTHING_TO_REPAIR, left: `the directory ${path} belongs to another worktree` }
        : NOTHING_TO_REPAIR;
    const repository = await recordedRepository(gitContext.git, worktree.repo_root);
    if (kind === 'move') {
      // Its disk may not be mounted yet, and the indexes of its checkouts are locked until the moves are complete.
      if (repository === null)
        return {
          ...NOTHING_TO_REPAIR,
          left: `the repository ${worktree.repo_root} no longer exists`,
        };
      const complete = () => completeOperation(this.#deps, operation, repository);
      const change = await gitContext.withRepositoryLock(repository, complete);
      return { change, left: null };
    }
    if (kind !== 'remove') {
      await discardFiles(gitContext, worktree, repository, tip ?? '');
      return NOTHING_TO_REPAIR;
    }
    let left: string | null = null;
    const hasBegun = (await isAside(gitContext, worktree)) || !(await isThere(worktree.path));
    if (hasBegun) {
      if (!repository) throw new Error(`the repository ${worktree.repo_root} no longer exists`);
      // The crash lost which other worktrees were being removed, so all of them count as leaving.
      const others = db.peek((rx) => store.othersOf(rx, worktree));
      const branches = others.map(({ branch }) => branch);
      const beside = { branches, leaving: branches };
      ({ left } = await gitContext.withRepositoryLock(repository, () =>
        removeFiles(gitContext, worktree, repository, { tip, beside }),
      ));
      await sweepFiles(gitContext, worktree);
    }
    const isKept = repository !== null && (await hasArchive(repository, worktree.id));
    const archive_ref = isKept ? archiveRef(worktree.id) : null;
    const change = (tx: Writer) => {
      const stored = store.worktree(tx, worktree.id);
      if (hasBegun && stored.status !== 'cleaned')
        storeCleaned(this.#deps, tx, worktree.id, { archive_ref, reason: 'recovery' });
      else store.worktrees.update(tx, { ...stored, archive_ref, updated_at: clock.now() });
    };
    return { change, left };
  }
}
