import type { Worktree } from '../../../api/worktrees.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import type { Database } from '../../../core/store/database.ts';
import type { WorktreeStore } from './store.ts';

/** Runs work on worktrees one after the other: a mutex for each id, and for each name of a repository. */
export class WorktreeTurns {
  readonly #deps: { db: Database; store: WorktreeStore };
  readonly #mutexes = new OneAtATime();

  constructor(deps: { db: Database; store: WorktreeStore }) {
    this.#deps = deps;
  }

  /** Resolves when no work is running or waiting. */
  idle(): Promise<void> {
    return this.#mutexes.idle();
  }

  /** Runs `work` holding the mutex of a name in a repository. */
  ofName<T>(repoRoot: string, name: string, work: () => Promise<T>): Promise<T> {
    return this.#holding([turnOf(repoRoot, name)], work);
  }

  /**
   * Runs `work` holding the mutexes of a stored worktree: of its id, of its name, and of `name` in the same repository.
   */
  async ofWorktree<T>(
    id: string,
    work: (worktree: Worktree) => Promise<T>,
    name?: string | null,
  ): Promise<T> {
    const { db, store } = this.#deps;
    const now = () => db.read((rx) => store.worktree(rx, id));
    const { repo_root, worktree_name } = await now();
    const names = [worktree_name, name ?? worktree_name].map((one) => turnOf(repo_root, one));
    const done = await this.#holding([id, ...names], async () => {
      const worktree = await now();
      const isRenamed = worktree.worktree_name !== worktree_name;
      return isRenamed ? null : { result: await work(worktree) };
    });
    // A restore renamed the worktree while this waited. The mutexes are released by now, because they are not
    // reentrant; so that of the new name can be acquired.
    return done === null ? this.ofWorktree(id, work, name) : done.result;
  }

  /** Acquires the mutexes in sorted order, so that no two calls deadlock. */
  #holding<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const [first, ...rest] = [...new Set(names)].toSorted();
    if (first === undefined) return work();
    return this.#mutexes.run(first, () => this.#holding(rest, work));
  }
}

function turnOf(repoRoot: string, name: string): string {
  return `${repoRoot}\0${name}`;
}
