import type { BodyOf, ResponseOf } from '../../../api/endpoint.ts';
import type { CleanupResult, releaseWorktree, Worktree } from '../../../api/worktrees.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { Database } from '../../../core/store/database.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { Claims } from './claims.ts';
import type { WorktreeCleanup } from './worktree-cleanup.ts';
import type { WorktreeStore } from './store.ts';

interface ReleasesDependencies {
  db: Database;
  store: WorktreeStore;
  claims: Claims;
  cleanup: WorktreeCleanup;
  clock: Clock;
}

/**
 * Releases claims, and cleans up after the last one. That a cleanup is due is stored with the release, so that the next
 * start does it if the server dies in between. The caller holds the mutex of the worktree's name.
 */
export class Releases {
  readonly #deps: ReleasesDependencies;

  constructor(deps: ReleasesDependencies) {
    this.#deps = deps;
  }

  async release(
    id: string,
    body: BodyOf<typeof releaseWorktree>,
    saveResponse: SaveResponse,
  ): Promise<ResponseOf<typeof releaseWorktree>> {
    const { db, store, claims, clock } = this.#deps;
    const released = await db.transact((tx) => {
      const { worktree, claim } = claims.release(tx, id, body.session_id);
      const active_claims = store.activeClaimsOn(tx, id).length;
      const isLast = active_claims === 0 && worktree.status === 'retained';
      const isDue = isLast && (body.cleanup_if_last_claim ?? true);
      if (isLast && !isDue) store.move(tx, worktree, 'worktree.retained');
      const now = isDue ? { ...worktree, cleanup_due_at: clock.now() } : worktree;
      if (isDue) store.worktrees.update(tx, now);
      const answer = { worktree: now, claim, active_claims, cleanup: null };
      saveResponse(tx, answer);
      return { isDue, answer };
    });
    if (!released.isDue) return released.answer;
    const cleanup = await this.cleanUp(id);
    const answer = { ...released.answer, worktree: cleanup.worktree, cleanup };
    await db.transact((tx) => saveResponse(tx, answer));
    return answer;
  }

  /** Cleans up a worktree whose last claim was released. */
  async cleanUp(id: string): Promise<CleanupResult> {
    const { db, cleanup } = this.#deps;
    const result = await cleanup.cleanUp(id, 'the last claim on the worktree was released', {
      wasActive: true,
    });
    if ((result.worktree.cleanup_due_at ?? null) === null) return result;
    return db.transact((tx) => ({ ...result, worktree: this.#settled(tx, id) }));
  }

  /** Stores that the cleanup has ended, also where it left the worktree as it is. */
  #settled(tx: Writer, id: string): Worktree {
    const { store } = this.#deps;
    const settled = { ...store.worktree(tx, id), cleanup_due_at: null };
    store.worktrees.update(tx, settled);
    return settled;
  }
}
