import fs from 'node:fs/promises';
import path from 'node:path';
import type { Worktree } from '../../../api/worktrees.ts';
import { AppError } from '../../../api/errors.ts';
import { makeDirectory } from '../../../core/lib/make-directory.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { type Archived, archiveRef, fillFromArchive, readArchive } from './archive.ts';
import { openIsolatedGitDir, ownSettings } from '../git/isolated-git-dir.ts';
import { isThere } from '../git/foreign.ts';
import { removeTree } from '../git/remove-tree.ts';
import { adminDirectory, commitOf, refsOf, type Repository } from '../git/repository.ts';
import type { GitContext } from '../git/git-context.ts';

/** The disk limits checkouts, so running more of them at once is no faster. */
const CHECKOUTS_AT_ONCE = 4;

/** Names of branches that git accepts for sure; it is asked about all others. */
const PLAIN = /^\w[\w-]*(\/\w[\w-]*)*$/;

/**
 * Makes worktrees on the disk: branch, registration with git, and files. No row is read or written here. The server may
 * crash after any step, so each step can be repeated.
 */
export class Checkouts {
  readonly #gitContext: GitContext;
  /** One mutex for each of the `CHECKOUTS_AT_ONCE` checkouts that may run at once. */
  readonly #lanes = new OneAtATime();
  #count = 0;

  constructor(gitContext: GitContext) {
    this.#gitContext = gitContext;
  }

  /**
   * Throws `conflict` if the path or the branch exists already, `invalid` if git does not accept the branch name. `tip`
   * is the commit of a branch of that name, null for none.
   */
  async assertFree(
    { path: directory, branch }: Worktree,
    repository: Repository,
    tip: string | null,
  ): Promise<void> {
    const ref = `refs/heads/${branch}`;
    const isPlain = PLAIN.test(branch);
    const check = ['check-ref-format', ref];
    if (!isPlain && (await this.#gitContext.git.maybe(refsOf(repository), check)) === null)
      throw new AppError('invalid', `"${branch}" is not a valid branch name: choose another name`);
    if (tip !== null)
      throw new AppError(
        'conflict',
        `the branch ${branch} already exists: choose another worktree_name or branch_prefix`,
      );
    if (await isThere(directory))
      throw new AppError(
        'conflict',
        `the directory ${directory} already exists: move it to another place`,
      );
  }

  /**
   * Makes the branch and the worktree and checks out its files; holds the mutex of the repository for parts of that.
   * The repository's filters run only if a person has allowed them. If a step fails, everything made so far is removed.
   */
  async add(worktree: Worktree, repository: Repository): Promise<void> {
    const { base_commit: head, path: files } = worktree;
    await this.#make(worktree, repository, { commit: head, what: [worktree.branch] }, (adminDir) =>
      this.#gitContext.withScratch(worktree, async (scratch) => {
        const settings = await ownSettings(this.#gitContext.git, repository, adminDir);
        const filters = await this.#gitContext.trustedFilters(repository, settings);
        const about = { repository, adminDir, files, head, scratch, settings, filters };
        const location = await openIsolatedGitDir(about);
        const index = path.join(adminDir, 'index');
        await this.#gitContext.git.text({ ...location, index }, ['read-tree', '-m', '-u', head]);
      }),
    );
  }

  /** Makes the branch and the worktree again from its archive; holds the mutex of the repository for parts of that. */
  async restore(worktree: Worktree, repository: Repository, archived: Archived): Promise<void> {
    const { head, headRef, tip } = archived;
    // Git checks a branch out in one worktree only, so a worktree that was on any other ref gets its commit
    // detached.
    const wasOnBranch = head === tip && headRef === archived.branchRef;
    const what = wasOnBranch ? [worktree.branch] : ['--detach', head];
    const { path: files } = worktree;
    await this.#make(worktree, repository, { commit: tip ?? head, what }, (adminDir) =>
      this.#gitContext.withScratch(worktree, (scratch) =>
        fillFromArchive(this.#gitContext.git, { repository, adminDir, files, scratch }, archived),
      ),
    );
  }

  /** Returns what a worktree can be restored from. Throws `conflict` if it has no archive. */
  async archived(worktree: Worktree, repository: Repository): Promise<Archived> {
    const archived = await readArchive(this.#gitContext.git, repository, worktree.id);
    if (archived) return archived;
    throw new AppError(
      'conflict',
      `worktree ${worktree.id} cannot be restored, because it has no archive: create another worktree`,
    );
  }

  /**
   * Removes a half-made worktree; holds the mutex of the repository. Archives the commits that its branch has beyond
   * `expected`.
   */
  async discard(
    worktree: Worktree,
    repository: Repository | null,
    expected: string,
  ): Promise<void> {
    await removeTree(worktree.path);
    if (repository === null) return;
    await this.#gitContext.withRepositoryLock(repository, async () => {
      await this.#gitContext.forget(worktree, repository);
      const location = refsOf(repository);
      const tip = await commitOf(this.#gitContext.git, location, `refs/heads/${worktree.branch}`);
      if (tip === null) return;
      if (tip !== expected)
        await this.#gitContext.git.text(location, ['update-ref', archiveRef(worktree.id), tip]);
      await this.#gitContext.removeBranch(worktree, repository, tip);
    });
  }

  async #make(
    worktree: Worktree,
    repository: Repository,
    { commit, what }: { commit: string; what: readonly string[] },
    fill: (adminDir: string) => Promise<void>,
  ): Promise<void> {
    const zeroId = '0'.repeat(commit.length);
    const branch = ['update-ref', `refs/heads/${worktree.branch}`, commit, zeroId];
    const registering = await this.#gitContext.withRepositoryLock(repository, async () => {
      // From here on cadre owns the branch, and deletes it if a later step fails.
      await this.#gitContext.git.text(refsOf(repository), branch);
      return this.#register(worktree, repository, what).then(
        () => null,
        (error: unknown) => ({ error }),
      );
    });
    try {
      if (registering !== null) throw registering.error;
      this.#gitContext.failpoint('worktree.added');
      const adminDir = await adminDirectory(repository, worktree.path);
      if (adminDir === null)
        throw new AppError(
          'conflict',
          `the worktree ${worktree.path} was removed during its creation: try again`,
          { isTemporary: true },
        );
      await this.#inLane(() => fill(adminDir));
    } catch (error) {
      await this.discard(worktree, repository, commit);
      throw error;
    }
  }

  /** Registers a worktree with git, with its branch or a detached commit checked out, but without files. */
  async #register(
    { path: directory }: Worktree,
    repository: Repository,
    what: readonly string[],
  ): Promise<void> {
    const parent = path.dirname(directory);
    makeDirectory(parent);
    if ((await fs.realpath(parent)) !== parent)
      throw new AppError(
        'conflict',
        `the path ${parent} contains a symbolic link: move the link to another place`,
      );
    const flags = ['--quiet', '--no-checkout', ...what.slice(0, -1)];
    const add = ['worktree', 'add', ...flags, '--', directory, ...what.slice(-1)];
    await this.#gitContext.git.text(refsOf(repository), add);
    if ((await fs.realpath(directory)) !== directory)
      throw new AppError(
        'conflict',
        `the path ${directory} contains a symbolic link: move the link to another place`,
      );
  }

  /** Runs `work`, which writes files and moves no ref, with at most `CHECKOUTS_AT_ONCE` of its kind at once. */
  #inLane<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    return this.#lanes.run(String(this.#count % CHECKOUTS_AT_ONCE), work);
  }
}
