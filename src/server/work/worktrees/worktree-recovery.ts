import fs from 'node:fs';
import type { Logger } from '../../../core/lib/log.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { Database } from '../../../core/store/database.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { Claims } from './claims.ts';
import { isThere } from '../git/foreign.ts';
import { completeMoves } from '../merge/moves.ts';
import { recordedRepository, type Repository } from '../git/repository.ts';
import type { Operation, WorktreeStore } from './store.ts';
import { Checkouts } from './checkouts.ts';
import { archiveRef } from './archive.ts';
import { WorktreeFiles } from './worktree-files.ts';
import type { GitContext } from '../git/git-context.ts';
import type { Writer } from '../../../core/store/transaction.ts';

interface WorktreeRecoveryDependencies {
  db: Database;
  store: WorktreeStore;
  claims: Claims;
  sessionStore: SessionStore;
  gitContext: GitContext;
  clock: Clock;
  logger: Logger;
}

/** Repairs worktrees after a crash: first the files, then, in the transaction of startup recovery, the rows. */
export class WorktreeRecovery {
  readonly #deps: WorktreeRecoveryDependencies;
  readonly #worktreeFiles: WorktreeFiles;

  constructor(deps: WorktreeRecoveryDependencies) {
    this.#deps = deps;
    this.#worktreeFiles = new WorktreeFiles(deps.gitContext);
  }

  /**
   * Finishes or undoes the operations that the crash interrupted; returns the changes of rows that follow from that.
   */
  async recoverFiles(): Promise<((tx: Writer) => void)[]> {
    const { db, store, gitContext, logger } = this.#deps;
    const changes: ((tx: Writer) => void)[] = [];
    for (const operation of db.peek((rx) => store.cutOff(rx))) {
      const worktree_id = operation.worktree.id;
      try {
        const change = await this.#recover(operation);
        changes.push(change, (tx) => store.operations.deleteWhere(tx, 'id = ?', worktree_id));
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
    const claims_released = this.#deps.store
      .claimants(tx)
      .filter((id) => this.#deps.sessionStore.session(tx, id).status === 'closed')
      .flatMap((id) => this.#deps.claims.releaseAllOf(tx, id));
    const missing = this.#deps.store.present(tx).filter(({ path }) => !fs.existsSync(path));
    for (const worktree of missing)
      this.#deps.store.move(
        tx,
        { ...worktree, status: 'missing', updated_at: this.#deps.clock.now() },
        'worktree.missing',
      );
    return { claims_released, worktrees_missing: missing.map(({ id }) => id) };
  }

  async #recover(operation: Operation): Promise<(tx: Writer) => void> {
    const { kind, worktree, tip } = operation;
    const repository = await recordedRepository(this.#deps.gitContext.git, worktree.repo_root);
    if (kind === 'move') return this.#completeMove(operation, repository);
    if (kind !== 'remove') {
      await new Checkouts(this.#deps.gitContext).discard(worktree, repository, tip ?? '');
      return () => undefined;
    }
    const hasBegun =
      (await this.#worktreeFiles.aside(worktree)) !== null || !(await isThere(worktree.path));
    if (hasBegun) {
      if (!repository) throw new Error(`the repository ${worktree.repo_root} no longer exists`);
      // The crash lost which other worktrees were being removed, so all of them count as leaving.
      const branches = this.#deps.db
        .peek((rx) => this.#deps.store.othersOf(rx, worktree))
        .map(({ branch }) => branch);
      const beside = { branches, leaving: branches };
      const { left } = await this.#deps.gitContext.withRepositoryLock(repository, () =>
        this.#worktreeFiles.remove(worktree, repository, { tip, beside }),
      );
      if (left !== null) throw new Error(left);
      await this.#worktreeFiles.sweepOf(worktree);
    }
    const hasArchive =
      repository !== null && (await this.#worktreeFiles.hasArchive(worktree, repository));
    const archive_ref = hasArchive ? archiveRef(worktree.id) : null;
    return (tx) => {
      const updated_at = this.#deps.clock.now();
      const now = { ...this.#deps.store.worktree(tx, worktree.id), archive_ref, updated_at };
      if (hasBegun) this.#deps.store.clean(tx, { ...now, status: 'cleaned' }, 'recovery');
      else this.#deps.store.worktrees.update(tx, now);
    };
  }

  async #completeMove(
    { worktree, moves, told }: Operation,
    repository: Repository | null,
  ): Promise<(tx: Writer) => void> {
    if (!repository || !moves || !told) return () => undefined;
    const { store, clock, gitContext } = this.#deps;
    const hasMoved = await gitContext.withRepositoryLock(repository, () =>
      completeMoves(gitContext, repository, moves),
    );
    return (tx) => {
      if (hasMoved) store.recordMerge(tx, worktree.id, told, clock.now());
    };
  }
}
