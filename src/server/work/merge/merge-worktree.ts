import type { BodyOf } from '../../../api/endpoint.ts';
import type {
  MergeResult,
  mergeWorktree as mergeEndpoint,
  rebaseWorktree as rebaseEndpoint,
} from '../../../api/worktree-merge.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { conflictError } from '../../../api/errors.ts';
import { shortNameList } from '../../../core/lib/short-name-list.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { type Repository, repositoryOf } from '../git/repository.ts';
import type { WorktreeDependencies } from '../worktrees/dependencies.ts';
import type { MergeEvent, Operation } from '../worktrees/store.ts';
import { assertThere } from '../worktrees/worktree.ts';
import { completeMoves, PartialMoveError, makeMoves } from './moves.ts';
import { type MergePlanView, type Plan, planMerge, planRebase } from './plan.ts';
import { refuse } from './source.ts';

type Dependencies = Pick<
  WorktreeDependencies,
  'db' | 'store' | 'sessionStore' | 'gitContext' | 'clock' | 'assertRoom'
>;

/** A request to merge or rebase a worktree, with the steps in which the two differ. */
interface MergeRequest {
  worktree: Worktree;
  body: Pick<BodyOf<typeof mergeEndpoint>, 'dry_run' | 'expected_tree'>;
  saveResponse: SaveResponse | undefined;
  plan: (repository: Repository) => Promise<Plan>;
  event: (shown: MergePlanView, commit: string) => MergeEvent;
}

/** Merges the branch of a worktree, or shows the effect. The caller holds the mutex of the worktree's name. */
export function mergeWorktree(
  deps: Dependencies,
  worktree: Worktree,
  body: BodyOf<typeof mergeEndpoint>,
  saveResponse?: SaveResponse,
): Promise<MergeResult> {
  const asked = { request: body, now: deps.clock.now() };
  return apply(deps, {
    worktree,
    body,
    saveResponse,
    plan: (repository) => planMerge(deps.gitContext, worktree, repository, asked),
    event: ({ target: into, target_commit, how }, commit) => ({
      kind: 'worktree.merged',
      payload: { into, how, previous_commit: target_commit, commit },
    }),
  });
}

/** Writes the commits of a worktree again on top of a branch, in the same way. */
export function rebaseWorktree(
  deps: Dependencies,
  worktree: Worktree,
  body: BodyOf<typeof rebaseEndpoint>,
  saveResponse?: SaveResponse,
): Promise<MergeResult> {
  const asked = { request: body, now: deps.clock.now() };
  return apply(deps, {
    worktree,
    body,
    saveResponse,
    plan: (repository) => planRebase(deps.gitContext, worktree, repository, asked),
    event: ({ target: onto, target_commit, source_commit, how }, commit) => ({
      kind: 'worktree.rebased',
      payload: { onto, how, previous_commit: source_commit, commit },
      base: { base_ref: onto, base_commit: target_commit },
    }),
  });
}

async function apply(deps: Dependencies, request: MergeRequest): Promise<MergeResult> {
  const { db, store, gitContext, clock, assertRoom } = deps;
  const { worktree, body, saveResponse } = request;
  const { id } = worktree;
  assertThere(worktree);
  assertRoom();
  const repository = await repositoryOf(gitContext.git, worktree);
  return gitContext.withRepositoryLock(repository, async () => {
    await completeLeft(deps, worktree, repository);
    const plan = await request.plan(repository);
    const { shown, moves } = plan;
    shown.obstacles.unshift(...(await turnsIn(deps, worktree, shown)));
    shown.notes.push(...(await otherClaims(deps, worktree)));
    if (body.dry_run !== false || shown.outcome === 'nothing_to_do')
      return db.transact(() => ({ worktree, ...shown }), saveResponse);
    assertAsShown(shown, body.expected_tree ?? null);
    if (moves === null)
      throw conflictError('there is nothing left to merge: request the preview again');
    const commit = moves.moves.at(-1)?.to ?? '';
    const event = request.event(shown, commit);
    const stored = { id, ...moves };
    // Once they are stored, a crash is finished, or nothing of it has happened.
    await db.transact((tx) =>
      store.operations.insert(tx, {
        kind: 'move',
        worktree,
        tip: null,
        moves: stored,
        told: event,
      }),
    );
    try {
      await makeMoves(gitContext, repository, stored, async () => {
        refuse(await turnsIn(deps, worktree, shown));
        await plan.check();
      });
    } catch (error) {
      if (!(error instanceof PartialMoveError))
        await db.transact((tx) => store.endOperation(tx, id));
      throw error;
    }
    return db.transact((tx) => {
      const now = store.recordMerge(tx, id, event, clock.now());
      store.endOperation(tx, id);
      return { ...shown, outcome: 'done' as const, result_commit: commit, worktree: now };
    }, saveResponse);
  });
}

/** Throws `conflict` if a plan cannot be made true, or is not what the client saw. */
function assertAsShown(shown: MergePlanView, expectedTree: string | null): void {
  refuse(shown.obstacles);
  const { conflicts, conflict_in, result_tree } = shown;
  if (conflicts.length > 0) {
    const names = shortNameList(conflicts.map(({ path }) => path));
    const where = conflict_in === null ? '' : ` (commit ${conflict_in})`;
    throw conflictError(
      `merge conflicts in ${names}${where}, so nothing was changed: resolve the conflicts in the worktree first`,
    );
  }
  if (expectedTree !== null && expectedTree !== result_tree)
    throw conflictError(
      'the result of the merge has changed since the preview: request the preview again',
    );
}

/** Finishes moves that failed halfway, for instance because the disk was full. */
async function completeLeft(
  deps: Dependencies,
  { id }: Worktree,
  repository: Repository,
): Promise<void> {
  const { db, store } = deps;
  const operation = await db.read((rx) => store.operations.get(rx, id));
  if (operation?.kind !== 'move') return;
  const record = await completeOperation(deps, operation, repository);
  await db.transact((tx) => {
    record(tx);
    store.endOperation(tx, id);
  });
}

/**
 * Finishes the moves of an operation that failed or that a crash cut off; returns the change of rows that follows. The
 * caller holds the mutex of the repository.
 */
export async function completeOperation(
  { store, gitContext, clock }: Pick<Dependencies, 'store' | 'gitContext' | 'clock'>,
  { worktree, moves, told }: Operation,
  repository: Repository,
): Promise<(tx: Writer) => void> {
  const hasMoved = moves !== undefined && (await completeMoves(gitContext, repository, moves));
  return (tx) => {
    if (hasMoved && told) store.recordMerge(tx, worktree.id, told, clock.now());
  };
}

/** Says which sessions have a turn running in the worktree or where its target is checked out. */
function turnsIn(
  { db, store, sessionStore }: Dependencies,
  { id, path }: Worktree,
  { checkout }: MergePlanView,
): Promise<string[]> {
  return db.read((rx) => {
    const claiming = store
      .activeClaimsOn(rx, id)
      .map(({ session_id }) => sessionStore.session(rx, session_id));
    const directories = checkout === null ? [path] : [path, checkout];
    const inside = directories.flatMap((one) => sessionStore.openIn(rx, one));
    const busy = [...claiming, ...inside].filter(
      ({ status }) => status === 'running' || status === 'waiting_for_approval',
    );
    return [...new Set(busy.map((one) => one.id))].map(
      (one) => `a turn of session ${one} is running there: wait for it, or interrupt it`,
    );
  });
}

async function otherClaims(
  { db, store }: Dependencies,
  { id, source_session_id }: Worktree,
): Promise<string[]> {
  const claims = await db.read((rx) => store.activeClaimsOn(rx, id));
  const others = claims.filter(({ session_id }) => session_id !== source_session_id);
  return others.map(({ session_id }) => `session ${session_id} also claims the worktree`);
}
