import fs from 'node:fs';
import type { Logger } from '../lib/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Claims } from './claims.ts';
import { isThere } from './foreign.ts';
import { knownRepository } from './repository.ts';
import type { Operation, WorktreeStore } from './store.ts';
import type { Workshop } from './workshop.ts';

interface WorktreeMenderDependencies {
  store: WorktreeStore;
  claims: Claims;
  sessionStore: SessionStore;
  workshop: Workshop;
  clock: Clock;
  logger: Logger;
}

/** Puts right what a crash left of worktrees: first the files, then, in recovery's transaction, the rows. */
export class WorktreeMender {
  readonly #given: WorktreeMenderDependencies;

  constructor(given: WorktreeMenderDependencies) {
    this.#given = given;
  }

  /** Finishes or takes back what was cut off; answers the changes of rows that follow. */
  async mendFiles(): Promise<(() => void)[]> {
    const changes: (() => void)[] = [];
    for (const operation of this.#given.store.cutOff()) {
      const worktree_id = operation.worktree.id;
      try {
        const change = await this.#mend(operation);
        changes.push(change, () => this.#given.store.operations.deleteWhere('id = ?', worktree_id));
      } catch (error) {
        const message =
          'what a crash left of a worktree could not be mended: the next start tries again';
        this.#given.logger.warn({ err: error, worktree_id }, message);
      }
    }
    await this.#given.workshop
      .sweep()
      .catch((error: unknown) =>
        this.#given.logger.warn(
          { err: error },
          'what was left of removed worktrees could not be removed',
        ),
      );
    return changes;
  }

  /** Releases the claims of closed sessions, and notes which worktrees are missing. */
  reconcile(): { claims_released: string[]; worktrees_missing: string[] } {
    const claims_released = this.#given.store
      .claimants()
      .filter((id) => this.#given.sessionStore.session(id).status === 'closed')
      .flatMap((id) => this.#given.claims.releaseAllOf(id));
    const missing = this.#given.store.present().filter(({ path }) => !fs.existsSync(path));
    for (const worktree of missing)
      this.#given.store.move(
        { ...worktree, status: 'missing', updated_at: this.#given.clock.now() },
        'worktree.missing',
      );
    return { claims_released, worktrees_missing: missing.map(({ id }) => id) };
  }

  async #mend({ kind, worktree, tip }: Operation): Promise<() => void> {
    const repository = await knownRepository(this.#given.workshop.git, worktree.repo_root);
    if (kind !== 'remove') {
      await this.#given.workshop.discard(worktree, repository, tip ?? '');
      return () => undefined;
    }
    const hasBegun =
      (await this.#given.workshop.aside(worktree)) !== null || !(await isThere(worktree.path));
    if (hasBegun) {
      if (!repository) throw new Error(`the repository ${worktree.repo_root} is gone`);
      // Of those that were being removed beside it, nobody can say any more whether they go.
      const branches = this.#given.store.beside(worktree).map(({ branch }) => branch);
      const beside = { branches, leaving: branches };
      const { left } = await this.#given.workshop.alone(repository, () =>
        this.#given.workshop.remove(worktree, repository, { tip, beside }),
      );
      if (left !== null) throw new Error(left);
      await this.#given.workshop.sweepOf(worktree);
    }
    const archive_ref = repository && (await this.#given.workshop.archiveOf(worktree, repository));
    return () => {
      const updated_at = this.#given.clock.now();
      const now = { ...this.#given.store.worktree(worktree.id), archive_ref, updated_at };
      if (hasBegun) this.#given.store.clean({ ...now, status: 'cleaned' }, 'recovery');
      else this.#given.store.worktrees.update(now);
    };
  }
}
