import type { Worktree } from '../../../api/worktrees.ts';
import type { Supervisor } from '../../../core/children/supervisor.ts';
import { AppError } from '../../../api/errors.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { Failpoint } from '../../../core/lib/failpoint.ts';
import type { Ids } from '../../../core/lib/ids.ts';
import type { Logger } from '../../../core/lib/log.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import type { Database } from '../../../core/store/database.ts';
import { isThere } from '../git/foreign.ts';
import type { Committed } from '../git/consent.ts';
import { copyIncluded, skippedFiles } from './included.ts';
import { runInitScript, skippedScript } from './init-script.ts';
import type { InitScripts } from './init-scripts.ts';
import { freePorts, type PortSettings } from './ports.ts';
import {
  branchAt,
  commitOf,
  commitsOf,
  gitDirOf,
  recordedRepository,
  realPath,
  refsOf,
  type Repository,
} from '../git/repository.ts';
import type { Operation, WorktreeStore } from './store.ts';
import { reasonOf } from './words.ts';
import { Checkouts } from './checkouts.ts';
import type { GitContext } from '../git/git-context.ts';
import {
  branchFor,
  newWorktree,
  noScript,
  nothingIncluded,
  renamed,
  type WorktreeRequest,
} from './worktree.ts';
import type { Writer } from '../../../core/store/transaction.ts';

/** The collaborators and settings that {@link Making} needs. */
export interface WorktreeCreatorDependencies {
  db: Database;
  store: WorktreeStore;
  gitContext: GitContext;
  supervisor: Supervisor;
  initScripts: InitScripts;
  clock: Clock;
  ids: Ids;
  failpoint: Failpoint;
  logger: Logger;
  settings: () => PortSettings & {
    init_script_path: string;
    deletion_policy_default: Worktree['deletion_policy'];
  };
  /** Aborts when the server stops and no step may continue. */
  stopping: AbortSignal;
}

/** Makes and restores worktrees. The caller holds the mutex of the worktree's name. */
export class WorktreeCreator {
  readonly #deps: WorktreeCreatorDependencies;
  readonly #checkouts: Checkouts;
  /** The mutex of choosing ports: what is chosen is stored before the next choice. */
  readonly #choosing = new OneAtATime();

  constructor(deps: WorktreeCreatorDependencies) {
    this.#deps = deps;
    this.#checkouts = new Checkouts(deps.gitContext);
  }

  /** Makes a worktree. `finish` runs in the transaction that stores it; its result is returned. */
  async make<T>(
    repository: Repository,
    directory: string,
    request: WorktreeRequest,
    finish: (tx: Writer, made: Worktree) => T,
  ): Promise<T> {
    const { db, store, gitContext, ids, clock, settings, failpoint } = this.#deps;
    const checked = await gitContext.withRepositoryLock(repository, async () => {
      const { tip, ...base } = await this.#base(repository, directory, request);
      const found = newWorktree(request, {
        id: ids.next('wt'),
        root: gitContext.root,
        repoRoot: repository.root,
        policy: settings().deletion_policy_default,
        now: clock.now(),
        ...base,
      });
      await this.#checkouts.assertFree(found, repository, tip);
      return found;
    });
    const planned = await this.#begin({
      kind: 'create',
      worktree: checked,
      tip: checked.base_commit,
    });
    failpoint('worktree.creating');
    return this.#orUndo(planned, 'cannot create the worktree', async () => {
      await this.#checkouts.add(planned, repository);
      const { patterns, script } = await this.#deps.initScripts.committedIn(repository, {
        patterns: request.copy_included !== false && repository.root !== repository.commonDir,
        script: request.run_init_script !== false,
      });
      const included = await this.#include(planned, repository, { request, patterns });
      failpoint('worktree.included');
      const init_script = await this.#initialise(planned, repository, { request, script });
      return db.transact((tx) => {
        const made: Worktree = { ...planned, included, init_script };
        store.create(tx, made);
        this.#forgetOperation(tx, planned);
        return finish(tx, made);
      });
    });
  }

  /** Stores an operation before its first step, and returns its worktree, which has ports of its own from then on. */
  #begin(operation: Operation): Promise<Worktree> {
    const { db, store, settings, logger } = this.#deps;
    const { worktree: planned } = operation;
    return this.#choosing.run('ports', async () => {
      const taken = await db.read((rx) => store.withPorts(rx, planned.id));
      const worktree = { ...planned, ...(await freePorts(settings(), planned, taken)) };
      if (worktree.port_base === null)
        logger.warn(
          { worktree_id: planned.id },
          'cannot allocate ports for a worktree: all blocks are in use',
        );
      await db.transact((tx) => store.operations.insert(tx, { ...operation, worktree }));
      return worktree;
    });
  }

  /**
   * Returns the commit that a worktree starts from: the one of `base_ref`, else the one checked out in `directory`; with
   * it the commit of the branch that the worktree is to have, if there is such a branch.
   */
  async #base(
    repository: Repository,
    directory: string,
    request: WorktreeRequest,
  ): Promise<{ baseRef: string; baseCommit: string; tip: string | null }> {
    const named = request.base_ref ?? null;
    const { git } = this.#deps.gitContext;
    // Each worktree has its own HEAD; a bare repository has only the one in its common directory.
    const { commonDir } = repository;
    const isBare = (await realPath(directory)) === commonDir;
    const gitDir = isBare ? commonDir : ((await gitDirOf(directory)) ?? commonDir);
    const location = { directory, gitDir };
    const names = [named ?? 'HEAD', `refs/heads/${branchFor(request)}`];
    const [commit = null, tip = null] = await commitsOf(git, location, names);
    if (commit === null && named !== null)
      throw new AppError(
        'invalid',
        `base_ref "${named}" is not a commit of ${directory}: name a branch, tag or commit`,
      );
    if (commit === null)
      throw new AppError(
        'invalid',
        `the repository ${directory} has no commits yet: create a commit, or set base_ref`,
      );
    if (named !== null) return { baseRef: named, baseCommit: commit, tip };
    const branch = await branchAt(git, location);
    return { baseRef: branch ?? commit, baseCommit: commit, tip };
  }

  /** Copies ignored files of the main worktree if the request demands it, or if the list of them is allowed. */
  async #include(
    worktree: Worktree,
    repository: Repository,
    about: { request: WorktreeRequest; patterns: Committed | null },
  ): Promise<Worktree['included']> {
    const { request, patterns } = about;
    const { copy_included } = request;
    const { initScripts, gitContext } = this.#deps;
    if (copy_included === false) return worktree.included;
    const { root } = repository;
    if (patterns === null) return nothingIncluded('not_found');
    const mayCopy = copy_included === true || (await initScripts.isTrusted(root, patterns.sha256));
    if (!mayCopy) return skippedFiles(patterns, root);
    return gitContext.withScratch(worktree, (scratch) =>
      copyIncluded(gitContext.git, { repository, worktree, patterns, scratch }),
    );
  }

  /** Runs the init script if the request demands it, or if its content is allowed. */
  async #initialise(
    worktree: Worktree,
    repository: Repository,
    about: { request: WorktreeRequest; script: Committed | null },
  ): Promise<Worktree['init_script']> {
    const { request, script } = about;
    const { run_init_script } = request;
    const { settings, initScripts, gitContext, stopping, supervisor, clock } = this.#deps;
    if (run_init_script === false) return worktree.init_script;
    if (script === null) return noScript('not_found');
    const mayRun =
      run_init_script === true || (await initScripts.isTrusted(repository.root, script.sha256));
    if (!mayRun) return skippedScript(script, repository.root);
    return gitContext.withScratch(worktree, (scratch) =>
      runInitScript(worktree, script, {
        supervisor,
        clock,
        scratch,
        name: settings().init_script_path,
        signal: stopping,
      }),
    );
  }

  /**
   * Runs the steps of a stored operation. A step that fails has cleaned up after itself, so only the operation is
   * deleted; if only the final transaction fails, the finished worktree is removed first. If the server is stopping,
   * startup recovery does this instead.
   */
  async #orUndo<T>(worktree: Worktree, what: string, steps: () => Promise<T>): Promise<T> {
    const { db, store, gitContext, stopping, logger } = this.#deps;
    try {
      return await steps();
    } catch (error) {
      if (stopping.aborted)
        throw new AppError('shutting_down', 'the server is stopping: try again after the restart', {
          cause: error,
        });
      try {
        const operation = await db.read((rx) => store.operations.get(rx, worktree.id));
        const repository = await recordedRepository(gitContext.git, worktree.repo_root);
        if ((await isThere(worktree.path)) && operation)
          await this.#checkouts.discard(worktree, repository, operation.tip ?? '');
        await db.transact((tx) => this.#forgetOperation(tx, worktree));
      } catch (undoing) {
        logger.warn(
          { err: undoing, worktree_id: worktree.id },
          'cannot remove an unfinished worktree: the next start tries again',
        );
      }
      const reason = reasonOf(error);
      if (reason === null || error instanceof AppError) throw error;
      throw new AppError('conflict', `${what}: ${reason}`, { cause: error });
    }
  }

  #forgetOperation(tx: Writer, { id }: Worktree): void {
    this.#deps.store.operations.deleteWhere(tx, 'id = ?', id);
  }

  /** Restores a cleaned worktree from its archive, under `name`. */
  async restore(old: Worktree, name: string, saveResponse: SaveResponse): Promise<Worktree> {
    const { db, store, gitContext, clock, failpoint } = this.#deps;
    const repository = await recordedRepository(gitContext.git, old.repo_root);
    if (!repository)
      throw new AppError(
        'conflict',
        `the repository ${old.repo_root} no longer exists: restore the repository first`,
      );
    const checked = renamed(old, name, gitContext.root);
    const archived = await gitContext.withRepositoryLock(repository, async () => {
      const ref = `refs/heads/${checked.branch}`;
      const branch = await commitOf(gitContext.git, refsOf(repository), ref);
      await this.#checkouts.assertFree(checked, repository, branch);
      return this.#checkouts.archived(checked, repository);
    });
    const tip = archived.tip ?? archived.head;
    const planned = await this.#begin({ kind: 'restore', worktree: checked, tip });
    failpoint('worktree.restoring');
    return this.#orUndo(planned, 'cannot restore the worktree', async () => {
      await this.#checkouts.restore(planned, repository, archived);
      failpoint('worktree.restored');
      return db.transact((tx) => {
        const now: Worktree = { ...planned, status: 'retained', updated_at: clock.now() };
        store.move(tx, now, 'worktree.restored');
        this.#forgetOperation(tx, planned);
        saveResponse(tx, now);
        return now;
      });
    });
  }
}
