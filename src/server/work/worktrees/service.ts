import path from 'node:path';
import type { BodyOf, QueryOf, ResponseOf } from '../../../api/endpoint.ts';
import type {
  Claim,
  claimWorktree,
  CleanupResult,
  collectWorktrees,
  createWorktree as createEndpoint,
  getWorktree,
  listWorktrees,
  releaseWorktree,
  restoreWorktree as restoreEndpoint,
  Worktree,
  WorktreeDiagnostics,
} from '../../../api/worktrees.ts';
import type {
  MergeResult,
  mergeWorktree as mergeEndpoint,
  openPullRequest as pullRequestEndpoint,
  PullRequest,
  rebaseWorktree as rebaseEndpoint,
} from '../../../api/worktree-merge.ts';
import type { Session } from '../../../api/sessions.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import { conflictError } from '../../../api/errors.ts';
import { treeBytes } from '../../../core/lib/directory-size.ts';
import { assertOpen } from '../../conversations/sessions/session.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import { createWorktree, restoreWorktree, type WorktreeSource } from './create-worktree.ts';
import type { WorktreeDependencies } from './dependencies.ts';
import { mergeWorktree, rebaseWorktree } from '../merge/merge-worktree.ts';
import { openPullRequest } from '../merge/pull-request.ts';
import { WorktreeCleanup } from './worktree-cleanup.ts';
import { realPath } from '../../../core/lib/paths.ts';
import { asStorageFull } from '../git/git-failure.ts';
import { findRepository, type Repository } from '../git/repository.ts';
import { assertMatches, isUsable, type WorktreeRequest } from './worktree.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

/**
 * The use cases of worktrees. A mutex for each name in a repository serialises the work on it. Git is awaited between
 * transactions, and each step of git is stored as an operation before it runs.
 */
export class WorktreeService {
  readonly #deps: WorktreeDependencies;
  readonly #cleanup: WorktreeCleanup;

  constructor(deps: WorktreeDependencies) {
    this.#deps = deps;
    this.#cleanup = new WorktreeCleanup(deps);
  }

  /** Makes a worktree and claims it; if one of that name exists, claims that one. */
  create(
    request: WorktreeRequest,
    saveResponse?: SaveResponse,
  ): Promise<ResponseOf<typeof createEndpoint>> {
    const { claims, store } = this.#deps;
    const claimed = (tx: Writer, id: string, role: Claim['claim_role'], created: boolean) => {
      const claim = claims.make(tx, id, request.source_session_id, role);
      const answer = { ...store.worktree(tx, id), claim, created };
      saveResponse?.(tx, answer);
      return answer;
    };
    return this.#inTurnOfRequest(request, async (repository, from) => {
      const existing = await this.#findExisting(repository, request, (tx, { id }, held) =>
        claimed(tx, id, activeRole(held) ?? 'owner', false),
      );
      if (existing) return existing;
      return createWorktree(this.#deps, repository, from, request, (tx, { id }) =>
        claimed(tx, id, 'owner', true),
      );
    });
  }

  /**
   * Makes a worktree, or finds the one of that name, without claiming it: `use` makes the claim. No other work on the
   * worktree runs until `use` has ended. If `use` fails, a worktree made for it is removed again. `source` is the
   * source session where that is not stored yet.
   */
  use<T>(
    request: WorktreeRequest,
    use: (worktree: Worktree, created: boolean) => Promise<T>,
    source?: Session,
  ): Promise<T> {
    const work = async (repository: Repository, from: WorktreeSource): Promise<T> => {
      const existing = await this.#findExisting(repository, request, (_tx, worktree) => worktree);
      if (existing) return use(existing, false);
      const made = await createWorktree(this.#deps, repository, from, request, (tx, worktree) => {
        const unclaimed: Worktree = { ...worktree, status: 'retained' };
        this.#deps.store.worktrees.update(tx, unclaimed);
        return unclaimed;
      });
      this.#deps.failpoint('worktree.made');
      try {
        return await use(made, true);
      } catch (error) {
        await this.#undo(made.id, 'the request that created the worktree failed');
        throw error;
      }
    };
    return this.#inTurnOfRequest(request, work, source);
  }

  /** Removes the worktrees that the previous run of the server made for a {@link use} that it did not finish. */
  async undoUnused(): Promise<void> {
    const { db, store } = this.#deps;
    for (const { id } of await db.read((rx) => store.neverClaimed(rx)))
      await this.#inTurnOf(id, async () => {
        const isUnused = await db.read((rx) => store.claimsOn(rx, id).length === 0);
        if (isUnused) await this.#undo(id, 'the server died before the worktree was used');
      });
  }

  async get(id: string): Promise<ResponseOf<typeof getWorktree>> {
    const { db, store } = this.#deps;
    return db.read((rx) => ({ ...store.worktree(rx, id), claims: store.claimsOn(rx, id) }));
  }

  async list(query: QueryOf<typeof listWorktrees>): Promise<RecordPage<Worktree>> {
    const { db, store } = this.#deps;
    const { limit, cursor, repo_root, ...filters } = query;
    const root = repo_root === undefined ? undefined : await realPath(repo_root);
    return db.read((rx) =>
      store.worktrees.page(rx, { ...filters, repo_root: root }, limit, cursor),
    );
  }

  /** Claims a worktree for a session. Throws `conflict` if it is missing or cleaned. */
  async claim(
    id: string,
    body: BodyOf<typeof claimWorktree>,
    saveResponse?: SaveResponse,
  ): Promise<Claim> {
    const { db, claims } = this.#deps;
    return this.#inTurnOf(id, async (worktree) => {
      await this.#cleanup.assertUsable(worktree);
      const role = body.claim_role ?? undefined;
      return db.transact((tx) => claims.make(tx, id, body.session_id, role), saveResponse);
    });
  }

  /** Releases a claim; after the last one the worktree is cleaned up, unless the request declines that. */
  release(
    id: string,
    body: BodyOf<typeof releaseWorktree>,
    saveResponse?: SaveResponse,
  ): Promise<ResponseOf<typeof releaseWorktree>> {
    return this.#inTurnOf(id, () => this.#cleanup.release(id, body, saveResponse));
  }

  /** Does the cleanups that were due when the last run died. */
  async resumeCleanups(): Promise<void> {
    const { db, store } = this.#deps;
    for (const { id } of await db.read((rx) => store.dueForCleanup(rx)))
      await this.cleanUpReleased(id);
  }

  /** Does the cleanup that is due for a worktree. */
  cleanUpReleased(id: string): Promise<CleanupResult> {
    return this.#inTurnOf(id, () => this.#cleanup.cleanUpReleased(id));
  }

  cleanUp(id: string, reason: string | null): Promise<CleanupResult> {
    return this.#inTurnOf(id, () => this.#cleanup.cleanUp(id, reason));
  }

  /** Merges the branch of a worktree into another one, or shows what that would do. */
  merge(
    id: string,
    request: BodyOf<typeof mergeEndpoint>,
    saveResponse?: SaveResponse,
  ): Promise<MergeResult> {
    return this.#inTurnOf(id, (worktree) =>
      mergeWorktree(this.#deps, worktree, request, saveResponse),
    );
  }

  /** Writes the commits of a worktree again on top of a branch, or shows what that would do. */
  rebase(
    id: string,
    request: BodyOf<typeof rebaseEndpoint>,
    saveResponse?: SaveResponse,
  ): Promise<MergeResult> {
    return this.#inTurnOf(id, (worktree) =>
      rebaseWorktree(this.#deps, worktree, request, saveResponse),
    );
  }

  /** Opens a pull request for the branch of a worktree, or shows what that would do. */
  openPullRequest(
    id: string,
    request: BodyOf<typeof pullRequestEndpoint>,
    saveResponse?: SaveResponse,
  ): Promise<PullRequest> {
    return this.#inTurnOf(id, (worktree) =>
      openPullRequest(this.#deps, worktree, request, saveResponse),
    );
  }

  /** Restores a worktree from its archive, under its own name or another. */
  async restore(
    id: string,
    { name }: BodyOf<typeof restoreEndpoint>,
    saveResponse?: SaveResponse,
  ): Promise<Worktree> {
    this.#deps.assertRoom();
    return this.#inTurnOf(
      id,
      (old) => this.#restore(id, name ?? old.worktree_name, saveResponse),
      name,
    );
  }

  /** Cleans up all worktrees without a claim; with `dry_run` it only lists them. */
  async collect(
    body: BodyOf<typeof collectWorktrees>,
  ): Promise<ResponseOf<typeof collectWorktrees>> {
    const { db, store } = this.#deps;
    const retained = await db.read((rx) => store.retained(rx));
    const worktrees = [];
    for (const { id, path: directory, status } of retained) {
      const bytes = await treeBytes(directory);
      if (body.dry_run ?? true) {
        const why = await db.read((rx) => this.#cleanup.fateOf(rx, store.worktree(rx, id)));
        worktrees.push({ id, status, bytes, reason: why });
        continue;
      }
      const { worktree, status: outcome, diagnostics } = await this.cleanUp(id, 'gc');
      const reason = [outcome, ...diagnostics].join('; ');
      worktrees.push({ id, status: worktree.status, bytes, reason });
    }
    return { worktrees };
  }

  diagnostics(): WorktreeDiagnostics {
    const { db, store } = this.#deps;
    const { byStatus, activeClaims, underWay } = db.peek((rx) => store.counts(rx));
    const count = (status: Worktree['status']) => byStatus.get(status) ?? 0;
    return {
      active: count('active'),
      retained: count('retained'),
      cleaned: count('cleaned'),
      missing: count('missing'),
      active_claims: activeClaims,
      under_way: underWay,
    };
  }

  /** Resolves when no work on a worktree is running or waiting. */
  idle(): Promise<void> {
    return this.#deps.mutexes.idle();
  }

  /** Runs `work` holding the mutexes of a stored worktree: of its id, of its name, and of `name` in its repository. */
  async #inTurnOf<T>(
    id: string,
    work: (worktree: Worktree) => Promise<T>,
    name?: string | null,
  ): Promise<T> {
    const { db, store } = this.#deps;
    const now = () => db.read((rx) => store.worktree(rx, id));
    const { repo_root, worktree_name } = await now();
    const names = [worktree_name, name ?? worktree_name].map((one) => nameKey(repo_root, one));
    const done = await this.#holding([id, ...names], async () => {
      const worktree = await now();
      const isRenamed = worktree.worktree_name !== worktree_name;
      return isRenamed ? null : { result: await work(worktree) };
    });
    // A restore renamed the worktree while this waited. The mutexes are free by now, so the next try can acquire the
    // mutex of the new name.
    return done === null ? this.#inTurnOf(id, work, name) : done.result;
  }

  /** Acquires mutexes in sorted order, so that no two calls deadlock. Throws `storage_full` if the disk is full. */
  #holding<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const [first, ...rest] = [...new Set(names)].toSorted();
    if (first !== undefined) return this.#deps.mutexes.run(first, () => this.#holding(rest, work));
    return work().catch((error: unknown) => {
      throw asStorageFull(error);
    });
  }

  /** Runs `work` holding the mutex of the requested name; passes the repository and the source of the request. */
  async #inTurnOfRequest<T>(
    request: WorktreeRequest,
    work: (repository: Repository, from: WorktreeSource) => Promise<T>,
    source?: Session,
  ): Promise<T> {
    const { db, sessionStore, gitContext, assertRoom } = this.#deps;
    assertRoom();
    const session =
      source ?? (await db.read((rx) => sessionStore.session(rx, request.source_session_id)));
    assertOpen(session);
    const directory = path.resolve(session.cwd, request.repo_root ?? '.');
    const isNamed = (request.repo_root ?? null) !== null;
    const repository = await findRepository(gitContext.git, directory, { isNamed });
    return this.#holding([nameKey(repository.root, request.worktree_name)], () =>
      work(repository, { directory, sandbox: session.sandbox }),
    );
  }

  /** Runs `take` in a transaction, with the worktree of that name and the session's claim; null without such a worktree. */
  async #findExisting<T>(
    { root }: Repository,
    request: WorktreeRequest,
    take: (tx: Writer, worktree: Worktree, claim: Claim | undefined) => T,
  ): Promise<T | null> {
    const { db, store } = this.#deps;
    const holding = (rx: Reader) => store.holding(rx, root, request.worktree_name);
    const found = await db.read(holding);
    if (found) await this.#cleanup.assertUsable(found);
    const taken = await db.transact((tx) => {
      const worktree = holding(tx);
      if (!worktree || !isUsable(worktree)) return null;
      assertMatches(worktree, request);
      return take(tx, worktree, store.claim(tx, worktree.id, request.source_session_id));
    });
    // The name is free once the work that is left under it is archived.
    if (taken === null && found) await this.#clearName(found.id);
    return taken;
  }

  /**
   * Cleans up a worktree whose use failed, whatever its deletion_policy; work in it is still archived. If that fails,
   * the next start tries again. The caller holds the mutex of the worktree's name.
   */
  async #undo(id: string, reason: string): Promise<void> {
    const { db, store, logger } = this.#deps;
    try {
      await db.transact((tx) => {
        const worktree = store.worktree(tx, id);
        store.worktrees.update(tx, { ...worktree, deletion_policy: 'delete_on_last_claim' });
      });
      await this.#cleanup.cleanUp(id, reason);
    } catch (error) {
      logger.error({ err: error, worktree_id: id }, 'cannot remove an unused worktree');
    }
  }

  async #clearName(id: string): Promise<void> {
    const { db, store } = this.#deps;
    const worktree = await db.read((rx) => store.worktree(rx, id));
    if (worktree.status === 'missing')
      await this.#cleanup.cleanUp(id, 'a new worktree has the same name', { anyway: true });
    await this.#assertNothingLeft(worktree);
  }

  /** Throws `conflict` if the branch of a removed worktree still exists and cannot be deleted. */
  async #assertNothingLeft(worktree: Worktree): Promise<void> {
    const left = await this.#cleanup.deleteLeftoverBranch(worktree);
    if (left !== null)
      throw conflictError(
        `cannot use the name of a removed worktree again, because ${left}: try again`,
        { isTemporary: true },
      );
  }

  async #restore(id: string, name: string, saveResponse?: SaveResponse): Promise<Worktree> {
    const { db, store } = this.#deps;
    const found = await db.read((rx) => store.worktree(rx, id));
    await this.#cleanup.noteIfMissing(found);
    if ((await db.read((rx) => store.worktree(rx, id))).status === 'missing') {
      const reason = 'the worktree is being restored';
      const { status, diagnostics } = await this.#cleanup.cleanUp(id, reason, { anyway: true });
      if (status !== 'cleaned')
        throw conflictError(
          `cannot restore worktree ${id}, because its work could not be archived: ${diagnostics.join('; ')}`,
        );
    }
    const old = await db.read((rx) => store.worktree(rx, id));
    if (old.status !== 'cleaned')
      throw conflictError(
        `cannot restore worktree ${id}, which is ${old.status}: only a cleaned or missing worktree can be restored`,
      );
    await this.#assertNothingLeft(old);
    return restoreWorktree(this.#deps, old, name, saveResponse);
  }
}

function activeRole(claim: Claim | undefined): Claim['claim_role'] | undefined {
  return claim?.released_at === null ? claim.claim_role : undefined;
}

function nameKey(repoRoot: string, name: string): string {
  return `${repoRoot}\0${name}`;
}
