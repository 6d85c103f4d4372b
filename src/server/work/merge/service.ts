import type { BodyOf } from '../../../api/endpoint.ts';
import type { MergeResult, mergeWorktree, rebaseWorktree } from '../../../api/worktree-merge.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { AppError } from '../../../api/errors.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { Database } from '../../../core/store/database.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import type { Repository } from '../git/repository.ts';
import type { MergeEvent, WorktreeStore } from '../worktrees/store.ts';
import { assertThere } from '../worktrees/worktree.ts';
import type { GitContext } from '../git/git-context.ts';
import { planMerge, refuse } from './merge-plan.ts';
import { completeMoves, HalfMoved, makeMoves, type Moves } from './moves.ts';
import type { Plan, MergePlanView } from './plan.ts';
import { planRebase } from './rebase-plan.ts';
import { repositoryOf } from './merge-source.ts';

export interface MergeServiceDependencies {
  db: Database;
  store: WorktreeStore;
  sessionStore: SessionStore;
  gitContext: GitContext;
  clock: Clock;
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
}

/** What both kinds of requests have. */
type Request = Pick<BodyOf<typeof mergeWorktree>, 'dry_run' | 'expected_tree'>;

/** Merges and rebases worktrees. The caller holds the mutex of the worktree's name. */
export class MergeService {
  readonly #deps: MergeServiceDependencies;

  constructor(deps: MergeServiceDependencies) {
    this.#deps = deps;
  }

  merge(
    worktree: Worktree,
    request: BodyOf<typeof mergeWorktree>,
    saveResponse: SaveResponse,
  ): Promise<MergeResult> {
    const { gitContext, clock } = this.#deps;
    return this.#apply(worktree, request, saveResponse, {
      plan: (repository) =>
        planMerge(gitContext, worktree, repository, { request, now: clock.now() }),
      event: ({ target: into, target_commit, how }, commit) => ({
        kind: 'worktree.merged',
        payload: { into, how, previous_commit: target_commit, commit },
      }),
    });
  }

  rebase(
    worktree: Worktree,
    request: BodyOf<typeof rebaseWorktree>,
    saveResponse: SaveResponse,
  ): Promise<MergeResult> {
    const { gitContext, clock } = this.#deps;
    return this.#apply(worktree, request, saveResponse, {
      plan: (repository) =>
        planRebase(gitContext, worktree, repository, { request, now: clock.now() }),
      event: ({ target: onto, target_commit, source_commit, how }, commit) => ({
        kind: 'worktree.rebased',
        payload: { onto, how, previous_commit: source_commit, commit },
        base: { base_ref: onto, base_commit: target_commit },
      }),
    });
  }

  async #apply(
    worktree: Worktree,
    request: Request,
    saveResponse: SaveResponse,
    steps: {
      plan: (repository: Repository) => Promise<Plan>;
      event: (shown: MergePlanView, commit: string) => MergeEvent;
    },
  ): Promise<MergeResult> {
    const { db, store, gitContext, assertRoom } = this.#deps;
    assertThere(worktree);
    assertRoom();
    const repository = await repositoryOf(gitContext, worktree);
    return gitContext.withRepositoryLock(repository, async () => {
      await this.#completeLeft(worktree, repository);
      const { shown, moves, check } = await steps.plan(repository);
      shown.obstacles.unshift(...(await this.#turnsIn(worktree, shown)));
      shown.notes.push(...(await db.read((rx) => this.#claimsOn(rx, worktree))));
      const isAct = request.dry_run === false;
      if (!isAct || shown.outcome === 'nothing_to_do') {
        const answer = { worktree, ...shown };
        await db.transact((tx) => saveResponse(tx, answer));
        return answer;
      }
      refuse(shown.obstacles);
      refuseConflicts(shown);
      const { expected_tree = null } = request;
      if (expected_tree !== null && expected_tree !== shown.result_tree)
        throw new AppError(
          'conflict',
          'the result of the merge has changed since the preview: request the preview again',
        );
      if (moves === null)
        throw new AppError('conflict', 'there is nothing left to merge: request the preview again');
      const commit = moves.moves.at(-1)?.to ?? '';
      const event = steps.event(shown, commit);
      const all = { id: worktree.id, ...moves };
      await this.#move(worktree, repository, { all, event, shown, check });
      return db.transact((tx) => {
        const now = store.recordMerge(tx, worktree.id, event, this.#deps.clock.now());
        store.operations.deleteWhere(tx, 'id = ?', worktree.id);
        const done = { outcome: 'done' as const, result_commit: commit };
        const answer = { ...shown, ...done, worktree: now };
        saveResponse(tx, answer);
        return answer;
      });
    });
  }

  /** Finishes moves that failed halfway, for instance because the disk was full. */
  async #completeLeft({ id }: Worktree, repository: Repository): Promise<void> {
    const { db, store, gitContext, clock } = this.#deps;
    const operation = await db.read((rx) => store.operations.get(rx, id));
    if (operation?.kind !== 'move' || !operation.moves) return;
    const { moves, told: event } = operation;
    const hasMoved = await completeMoves(gitContext, repository, moves);
    await db.transact((tx) => {
      if (hasMoved && event) store.recordMerge(tx, id, event, clock.now());
      store.operations.deleteWhere(tx, 'id = ?', id);
    });
  }

  /** Stores the moves and makes them; a crash in between is finished, or nothing of it has happened. */
  async #move(
    worktree: Worktree,
    repository: Repository,
    about: {
      all: Moves;
      event: MergeEvent;
      shown: MergePlanView;
      check: () => Promise<void>;
    },
  ): Promise<void> {
    const { db, store, gitContext } = this.#deps;
    const { all: moves, event, shown, check } = about;
    await db.transact((tx) =>
      store.operations.insert(tx, { kind: 'move', worktree, tip: null, moves, told: event }),
    );
    try {
      await makeMoves(gitContext, repository, moves, async () => {
        refuse(await this.#turnsIn(worktree, shown));
        await check();
      });
    } catch (error) {
      if (!(error instanceof HalfMoved))
        await db.transact((tx) => store.operations.deleteWhere(tx, 'id = ?', worktree.id));
      throw error;
    }
  }

  /** Says which sessions have a turn running in the worktree or where its target is checked out. */
  #turnsIn(worktree: Worktree, { checkout }: MergePlanView): Promise<string[]> {
    const { db, store, sessionStore } = this.#deps;
    return db.read((rx) => {
      const claiming = store
        .activeClaimsOn(rx, worktree.id)
        .map(({ session_id }) => sessionStore.session(rx, session_id));
      const inside = [worktree.path, ...(checkout === null ? [] : [checkout])].flatMap((one) =>
        sessionStore.openIn(rx, one),
      );
      const busy = [...claiming, ...inside].filter(
        ({ status }) => status === 'running' || status === 'waiting_for_approval',
      );
      return [...new Set(busy.map(({ id }) => id))].map(
        (id) => `a turn of session ${id} is running there: wait for it, or interrupt it`,
      );
    });
  }

  #claimsOn(rx: Reader, { id, source_session_id }: Worktree): string[] {
    const others = this.#deps.store
      .activeClaimsOn(rx, id)
      .map(({ session_id }) => session_id)
      .filter((one) => one !== source_session_id);
    return others.map((one) => `session ${one} also claims the worktree`);
  }
}

function refuseConflicts({ conflicts, conflict_in }: MergePlanView): void {
  if (conflicts.length === 0) return;
  const names = conflicts.slice(0, 10).map(({ path }) => path);
  const more = conflicts.length > 10 ? ` and ${conflicts.length - 10} more` : '';
  const where = conflict_in === null ? '' : ` (commit ${conflict_in})`;
  throw new AppError(
    'conflict',
    `merge conflicts in ${names.join(', ')}${more}${where}, so nothing was changed: resolve the conflicts in the worktree first`,
  );
}
