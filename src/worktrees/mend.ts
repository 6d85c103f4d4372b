import fs from 'node:fs';
import type { Logger } from '../lib/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Claims } from './claims.ts';
import { isThere } from './foreign.ts';
import { knownRepository } from './repository.ts';
import type { Operation, WorktreeStore } from './store.ts';
import type { Workshop } from './workshop.ts';

/** Puts right what a crash left of worktrees: first the files, then, in recovery's transaction, the rows. */
export class WorktreeMender {
  readonly #store: WorktreeStore;
  readonly #claims: Claims;
  readonly #sessions: SessionStore;
  readonly #workshop: Workshop;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(given: {
    store: WorktreeStore;
    claims: Claims;
    sessions: SessionStore;
    workshop: Workshop;
    clock: Clock;
    logger: Logger;
  }) {
    this.#store = given.store;
    this.#claims = given.claims;
    this.#sessions = given.sessions;
    this.#workshop = given.workshop;
    this.#clock = given.clock;
    this.#logger = given.logger;
  }

  /** Finishes or takes back what was cut off; answers the changes of rows that follow. */
  async mendFiles(): Promise<(() => void)[]> {
    const changes: (() => void)[] = [];
    for (const operation of this.#store.cutOff()) {
      const worktree_id = operation.worktree.id;
      try {
        const change = await this.#mend(operation);
        changes.push(change, () => this.#store.operations.deleteWhere('id = ?', worktree_id));
      } catch (error) {
        const message =
          'what a crash left of a worktree could not be mended: the next start tries again';
        this.#logger.warn({ err: error, worktree_id }, message);
      }
    }
    await this.#workshop
      .sweep()
      .catch((error: unknown) =>
        this.#logger.warn(
          { err: error },
          'what was left of removed worktrees could not be removed',
        ),
      );
    return changes;
  }

  /** Releases the claims of closed sessions, and notes which worktrees are missing. */
  reconcile(): { claims_released: string[]; worktrees_missing: string[] } {
    const claims_released = this.#store
      .claimants()
      .filter((id) => this.#sessions.session(id).status === 'closed')
      .flatMap((id) => this.#claims.releaseAllOf(id));
    const missing = this.#store.present().filter(({ path }) => !fs.existsSync(path));
    for (const worktree of missing)
      this.#store.move(
        { ...worktree, status: 'missing', updated_at: this.#clock.now() },
        'worktree.missing',
      );
    return { claims_released, worktrees_missing: missing.map(({ id }) => id) };
  }

  async #mend({ kind, worktree, tip }: Operation): Promise<() => void> {
    const repository = await knownRepository(this.#workshop.git, worktree.repo_root);
    if (kind !== 'remove') {
      await this.#workshop.discard(worktree, repository, tip ?? '');
      return () => undefined;
    }
    const hasBegun =
      (await this.#workshop.aside(worktree)) !== null || !(await isThere(worktree.path));
    if (hasBegun) {
      if (!repository) throw new Error(`the repository ${worktree.repo_root} is gone`);
      // Of those that were being removed beside it, nobody can say any more whether they go.
      const branches = this.#store.beside(worktree).map(({ branch }) => branch);
      const beside = { branches, leaving: branches };
      const { left } = await this.#workshop.alone(repository, () =>
        this.#workshop.remove(worktree, repository, { tip, beside }),
      );
      if (left !== null) throw new Error(left);
      await this.#workshop.sweepOf(worktree);
    }
    const archive_ref = repository && (await this.#workshop.archiveOf(worktree, repository));
    return () => {
      const updated_at = this.#clock.now();
      const now = { ...this.#store.worktree(worktree.id), archive_ref, updated_at };
      if (hasBegun)
        this.#store.move({ ...now, status: 'cleaned' }, 'worktree.cleaned', { reason: 'recovery' });
      else this.#store.worktrees.update(now);
    };
  }
}
