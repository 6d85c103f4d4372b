import type { CleanupResult, Worktree } from '../api/worktrees.ts';
import type { Clock } from '../lib/clock.ts';
import type { ProcessStore } from '../processes/store.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import { archiveRef } from './archive.ts';
import type { Claims } from './claims.ts';
import { isThere } from './foreign.ts';
import type { Beside } from './own-commits.ts';
import { knownRepository, type Repository } from './repository.ts';
import { holdsWork, isClean } from './snapshot.ts';
import type { WorktreeStore } from './store.ts';
import { reasonOf, saidOfInner } from './words.ts';
import type { Workshop } from './workshop.ts';

interface Dependencies {
  db: Database;
  store: WorktreeStore;
  claims: Claims;
  sessionStore: SessionStore;
  processes: ProcessStore;
  workshop: Workshop;
  clock: Clock;
}

interface How {
  /** Whoever claims it: nothing is there any more for them. */
  anyway?: boolean;
  /** That it had claims until now: where it stays, that is told. */
  wasActive?: boolean;
}

/** How a cleanup ended, of the worktree as it is then. */
type Outcome = Partial<CleanupResult> & Pick<CleanupResult, 'status'>;

/** How worktrees go. Whoever calls it has seen to it that nothing else is done with the name meanwhile. */
export class Removal {
  readonly #given: Dependencies;
  /** The ids of those whose cleanup was begun, or waits for its turn. */
  readonly #leaving = new Set<string>();

  constructor(given: Dependencies) {
    this.#given = given;
  }

  /** Cleans up, or says why not. A missing one goes whatever its policy is: only its branch is left of it. */
  async cleanUp(
    id: string,
    reason: string | null,
    { anyway = false, wasActive = false }: How = {},
  ): Promise<CleanupResult> {
    const { db, store, workshop } = this.#given;
    const found = await db.read(() => store.worktree(id));
    if (found.status === 'cleaned') {
      const left = await this.finishLeft(found);
      const diagnostics = ['it had been cleaned up', ...(left === null ? [] : [left])];
      return this.#result(id, { status: 'cleaned', diagnostics });
    }
    await this.noteIfMissing(found);
    const { worktree, users } = await db.read(() => ({
      worktree: store.worktree(id),
      users: this.#usersOf(found),
    }));
    if (users.length > 0 && !anyway)
      return this.#result(id, { status: 'skipped_active_claims', diagnostics: users });
    if (worktree.deletion_policy === 'retain_on_last_claim' && worktree.status !== 'missing')
      return this.#retain(id, wasActive, 'its deletion_policy is retain_on_last_claim');
    this.#leaving.add(id);
    try {
      const repository = await knownRepository(workshop.git, worktree.repo_root);
      if (!repository)
        return await this.#fail(id, reason, `its repository ${worktree.repo_root} is gone`);
      const result = await workshop.alone(repository, async () => {
        const obstacle = await workshop.obstacle(worktree, repository);
        if (obstacle !== null) return this.#fail(id, reason, obstacle);
        return this.#archiveAndRemove(worktree, repository, reason, { anyway, wasActive });
      });
      // Files take a while, and concern no ref.
      const left = result.status === 'cleaned' ? await workshop.sweepOf(worktree) : [];
      return { ...result, diagnostics: [...result.diagnostics, ...left] };
    } catch (error) {
      const said = reasonOf(error);
      if (said === null) throw error;
      // What lies aside is for the next start.
      if ((await workshop.aside(found)) === null)
        await db.transact(() => this.#forgetOperation(found));
      await this.noteIfMissing(found);
      return await this.#fail(id, reason, said);
    } finally {
      this.#leaving.delete(id);
    }
  }

  /**
   * Deletes the branch of a cleaned worktree that could not be deleted with it, because of a lock for one; answers why
   * it still cannot be, null where nothing is left. Its operation stays until then, so that a start tries it, too.
   */
  async finishLeft(worktree: Worktree): Promise<string | null> {
    const { db, store, workshop } = this.#given;
    const operation = await db.read(() => store.operations.get(worktree.id));
    if (operation?.kind !== 'remove') return null;
    const { tip } = operation;
    const repository = await knownRepository(workshop.git, worktree.repo_root);
    const left =
      repository === null || tip === null
        ? null
        : await workshop.alone(repository, () => workshop.removeBranch(worktree, repository, tip));
    if (left === null) await db.transact(() => this.#forgetOperation(worktree));
    return left;
  }

  /** The branches of the worktrees beside one, as they are just now. */
  #beside(worktree: Worktree): Promise<Beside> {
    const { db, store } = this.#given;
    return db.read(() => {
      const others = store.beside(worktree);
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
    { anyway, wasActive }: Required<How>,
  ): Promise<CleanupResult> {
    const { db, store, claims, workshop, clock } = this.#given;
    const { id } = worktree;
    const beside = await this.#beside(worktree);
    const snapshot = await workshop.look(worktree, repository, beside);
    if (snapshot.nested.length > 0) return this.#fail(id, reason, saidOfInner(snapshot.nested));
    const isNeeded = holdsWork(snapshot);
    const { deletion_policy: policy, status } = worktree;
    if (!isClean(snapshot) && policy === 'delete_if_clean' && status !== 'missing')
      return this.#retain(
        id,
        wasActive,
        'it holds work, and its deletion_policy is delete_if_clean',
      );
    const { tip } = snapshot;
    await db.transact(() => store.operations.insert({ kind: 'remove', worktree, tip }));
    if (isNeeded) await workshop.archive(worktree, repository, snapshot);
    const users = await db.transact(() => {
      const archive_ref = archiveRef(id);
      const now: Worktree = { ...store.worktree(id), archive_ref, updated_at: clock.now() };
      if (isNeeded) store.move(now, 'worktree.archived');
      const left = anyway ? [] : this.#usersOf(now);
      if (left.length > 0) this.#forgetOperation(now);
      return left;
    });
    if (users.length > 0)
      return this.#result(id, { status: 'skipped_active_claims', diagnostics: users });
    const removed = await workshop.remove(worktree, repository, { tip, beside });
    const archive_ref = await workshop.archiveOf(worktree, repository);
    await db.transact(() => {
      for (const { session_id } of store.activeClaimsOn(id)) claims.release(id, session_id);
      const cleaned: Worktree = {
        ...store.worktree(id),
        status: 'cleaned',
        archive_ref,
        updated_at: clock.now(),
      };
      store.clean(cleaned, reason);
      if (removed.left === null) this.#forgetOperation(cleaned);
    });
    return this.#result(id, {
      status: 'cleaned',
      deleted_path: removed.path,
      deleted_branch: removed.branch,
      diagnostics: removed.diagnostics,
    });
  }

  async #retain(id: string, wasActive: boolean, why: string): Promise<CleanupResult> {
    const { db, store } = this.#given;
    if (wasActive) await db.transact(() => store.move(store.worktree(id), 'worktree.retained'));
    return this.#result(id, { status: 'retained_by_policy', diagnostics: [why] });
  }

  async #fail(id: string, reason: string | null, why: string): Promise<CleanupResult> {
    const { db, store } = this.#given;
    const diagnostics = [why];
    await db.transact(() => store.failCleanup(store.worktree(id), reason, diagnostics));
    return this.#result(id, { status: 'failed', diagnostics });
  }

  #forgetOperation({ id }: Worktree): void {
    this.#given.store.operations.deleteWhere('id = ?', id);
  }

  #result(id: string, outcome: Outcome): Promise<CleanupResult> {
    const { db, store } = this.#given;
    return db.read(() => {
      const worktree = store.worktree(id);
      return {
        worktree,
        deleted_path: false,
        deleted_branch: false,
        archive_ref: worktree.archive_ref,
        active_claims: store.activeClaimsOn(id).length,
        diagnostics: [],
        ...outcome,
      };
    });
  }

  /** Who needs a worktree, in words: whoever claims it, and whoever works in it. */
  #usersOf({ id, path: place }: Worktree): string[] {
    const { store, sessionStore, processes } = this.#given;
    return [
      ...store.activeClaimsOn(id).map(({ session_id }) => `session ${session_id} claims it`),
      ...sessionStore.openIn(place).map((one) => `session ${one.id} works in it`),
      ...processes.unfinishedIn(place).map((one) => `process ${one.process_id} works in it`),
    ];
  }

  /** What a cleanup would do, as far as that is known without a look at the files. */
  fateOf(worktree: Worktree): string {
    const { deletion_policy: policy } = worktree;
    const users = this.#usersOf(worktree);
    if (users.length > 0) return `it would stay: ${users.join(', ')}`;
    if (policy === 'retain_on_last_claim') return `it would stay: its deletion_policy is ${policy}`;
    if (policy === 'delete_if_clean') return 'nobody claims it: it would go if it is clean';
    return 'nobody claims it: it would go, its work archived';
  }

  /** Writes that a worktree is missing, where its path is gone. */
  async noteIfMissing({ id, path: place }: Worktree): Promise<void> {
    const { db, store, clock } = this.#given;
    if (await isThere(place)) return;
    await db.transact(() => {
      const now = store.worktree(id);
      if (now.status !== 'active' && now.status !== 'retained') return;
      store.move({ ...now, status: 'missing', updated_at: clock.now() }, 'worktree.missing');
    });
  }
}
