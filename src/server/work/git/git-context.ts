import fs from 'node:fs';
import path from 'node:path';
import type { Worktree } from '../../../api/worktrees.ts';
import type { Failpoint } from '../../../core/lib/failpoint.ts';
import { makeDirectory } from '../../../core/lib/make-directory.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { filtersIn, type Setting } from './isolated-git-dir.ts';
import { filtersText, sha256Of } from './consent.ts';
import { readNote } from './foreign.ts';
import { type Git, GitFailure } from './git.ts';
import { removeTree } from './remove-tree.ts';
import { adminDirectory, refsOf, type Repository } from './repository.ts';

interface GitContextDependencies {
  git: Git;
  root: string;
  scratch: string;
  failpoint: Failpoint;
  /** Whether a person has allowed the commands of this digest for a repository. */
  isTrusted: (repoRoot: string, sha256: string) => Promise<boolean>;
}

/**
 * Shared by making and removing worktrees: git, the directories, and a mutex for each repository. No row is read or
 * written here.
 */
export class GitContext {
  readonly git: Git;
  /** The directory of all worktrees. */
  readonly root: string;
  readonly failpoint: Failpoint;
  readonly #deps: GitContextDependencies;
  /** A mutex for each repository, by its common directory, for work that reads or moves refs. */
  readonly #repositories = new OneAtATime();

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
    return this.#repositories.run(commonDir, work);
  }

  /** Runs `work` with an empty directory, which is removed afterwards. */
  async withScratch<T>({ id }: { id: string }, work: (scratch: string) => Promise<T>): Promise<T> {
    const scratch = await fs.promises.mkdtemp(path.join(this.#deps.scratch, `${id}-`));
    try {
      return await work(scratch);
    } finally {
      await fs.promises.rm(scratch, { recursive: true, force: true });
    }
  }

  /** Returns the filters of a repository if a person has allowed them; else none. */
  async trustedFilters(
    repository: Repository,
    settings: readonly Setting[],
  ): Promise<readonly Setting[]> {
    const filters = filtersIn(settings);
    if (filters.length === 0) return [];
    const isTrusted = await this.#deps.isTrusted(repository.root, sha256Of(filtersText(filters)));
    return isTrusted ? filters : [];
  }

  /** Removes git's registration of a worktree whose files are gone. */
  async forget({ path: directory }: Worktree, repository: Repository): Promise<void> {
    if ((await adminDirectory(repository, directory)) === null) return;
    const remove = ['worktree', 'remove', '--force', '--force', '--', directory];
    await this.git.text(refsOf(repository), remove);
  }

  /** Deletes the branch if it still points to `tip`; returns why it could not be deleted, null if it was. */
  async removeBranch(
    { branch }: Worktree,
    repository: Repository,
    tip: string,
  ): Promise<string | null> {
    const location = refsOf(repository);
    try {
      await this.git.text(location, ['update-ref', '-d', `refs/heads/${branch}`, tip]);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      return `branch ${branch} was kept (${error.message})`;
    }
    // Few repositories have settings of branches, and git takes longer to say so than it takes to look.
    const config = await readNote(repository.commonDir, 'config').catch(() => '[branch');
    if (/\[\s*branch/i.test(config ?? ''))
      await this.git.maybe(location, ['config', '--local', '--remove-section', `branch.${branch}`]);
    return null;
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
