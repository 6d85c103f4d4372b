import fs from 'node:fs';
import path from 'node:path';
import type { Failpoint } from '../../../core/lib/failpoint.ts';
import { removeLinksOfRepository } from '../../../core/children/sandbox/link-sweep.ts';
import { makeDirectory } from '../../../core/lib/make-directory.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { removeTree } from '../../../core/lib/remove-tree.ts';
import { filtersIn, type FiltersOf } from './isolated-git-dir.ts';
import { filtersText, sha256Of } from './consent.ts';
import type { Git } from './git.ts';
import type { Repository } from './repository.ts';

/** The disk limits checkouts, so more of them at once would take as long. */
const CHECKOUTS_AT_ONCE = 4;

interface GitContextDependencies {
  git: Git;
  root: string;
  scratch: string;
  failpoint: Failpoint;
  /** Whether a person has allowed the commands of this digest for a repository. */
  isTrusted: (repoRoot: string, sha256: string) => Promise<boolean>;
}

/** Git, the directories of worktrees, and the mutexes of repositories and checkouts. It uses no rows. */
export class GitContext {
  readonly git: Git;
  /** The directory of all worktrees. */
  readonly root: string;
  readonly failpoint: Failpoint;
  readonly #deps: GitContextDependencies;
  /** A mutex for each repository, by its common directory, for work that reads or moves refs. */
  readonly #repositories = new OneAtATime();
  readonly #checkouts = new OneAtATime();
  #checkoutCount = 0;

  constructor(deps: GitContextDependencies) {
    for (const directory of [deps.root, deps.scratch]) makeDirectory(directory);
    this.git = deps.git;
    this.root = fs.realpathSync(deps.root);
    this.failpoint = deps.failpoint;
    this.#deps = deps;
  }

  /**
   * Runs `work`, which reads or moves the refs of a repository, holding that repository's mutex. The mutex is not
   * reentrant: `work` must not call this, nor a method that acquires the mutex itself, for the same repository.
   */
  withRepositoryLock<T>({ commonDir }: Repository, work: () => Promise<T>): Promise<T> {
    return this.#repositories.run(commonDir, async () => {
      await removeLinksOfRepository(commonDir);
      return work();
    });
  }

  /** Runs `work`, which writes the files of a new checkout and moves no ref, with a few of its kind at once. */
  inCheckoutLane<T>(work: () => Promise<T>): Promise<T> {
    this.#checkoutCount += 1;
    return this.#checkouts.run(String(this.#checkoutCount % CHECKOUTS_AT_ONCE), work);
  }

  /** Runs `work` with an empty directory, which is removed afterwards. */
  async withScratch<T>({ id }: { id: string }, work: (scratch: string) => Promise<T>): Promise<T> {
    const scratch = await fs.promises.mkdtemp(path.join(this.#deps.scratch, `${id}-`));
    try {
      return await work(scratch);
    } finally {
      await removeTree(scratch);
    }
  }

  /** Returns the filters of a repository if a person has allowed them; else none. */
  filtersOf({ root }: Repository): FiltersOf {
    return async (settings) => {
      const filters = filtersIn(settings);
      if (filters.length === 0) return [];
      const isTrusted = await this.#deps.isTrusted(root, sha256Of(filtersText(filters)));
      return isTrusted ? filters : [];
    };
  }

  /** Removes the scratch directories and archived files that earlier runs left. */
  async sweep(): Promise<void> {
    for (const name of fs.readdirSync(this.#deps.scratch))
      await removeTree(path.join(this.#deps.scratch, name));
    for (const name of fs.readdirSync(this.asideDirectory))
      if (name.endsWith('.archived')) await removeTree(path.join(this.asideDirectory, name));
  }

  /** The directory that worktrees are renamed into before they are removed; it is on the same file system. */
  get asideDirectory(): string {
    const directory = path.join(this.root, '.removed');
    makeDirectory(directory);
    return directory;
  }
}
