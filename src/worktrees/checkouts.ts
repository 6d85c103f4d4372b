import fs from 'node:fs';
import path from 'node:path';
import type { Worktree } from '../api/worktrees.ts';
import { AppError } from '../errors.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import { type Archived, archiveRef, fillFromArchive, readArchive } from './archive.ts';
import { openBench, ownSettings } from './bench.ts';
import { isThere } from './foreign.ts';
import { removeTree } from './remove-tree.ts';
import { adminDirectory, commitOf, refsOf, type Repository } from './repository.ts';
import type { Workshop } from './workshop.ts';

/** Checkouts are mostly the disk's work, and more of them at once are no faster. */
const CHECKOUTS_AT_ONCE = 4;

/**
 * Makes worktrees on the disk: branch, registration at git and files. No row is read or written here. Every step may be
 * the last one before a crash, and can be repeated after it.
 */
export class Checkouts {
  readonly #workshop: Workshop;
  /** Files are written in `CHECKOUTS_AT_ONCE` lanes. */
  readonly #lanes = new OneAtATime();
  #count = 0;

  constructor(workshop: Workshop) {
    this.#workshop = workshop;
  }

  /** Throws `conflict` where the path or the branch is taken, `invalid` where the branch can have no such name. */
  async assertFree({ path: place, branch }: Worktree, repository: Repository): Promise<void> {
    const ref = `refs/heads/${branch}`;
    if ((await this.#workshop.git.maybe(refsOf(repository), ['check-ref-format', ref])) === null)
      throw new AppError('invalid', `"${branch}" cannot be the name of a branch: choose another`);
    if ((await commitOf(this.#workshop.git, refsOf(repository), ref)) !== null)
      throw new AppError(
        'conflict',
        `branch ${branch} exists already: choose another worktree_name or branch_prefix`,
      );
    if (await isThere(place))
      throw new AppError('conflict', `${place} exists already: move it away`);
  }

  /**
   * Makes branch and worktree, and fills it, in turns of its own. Filters of the repository run where they are trusted.
   * Where a step fails, nothing is left.
   */
  async add(worktree: Worktree, repository: Repository): Promise<void> {
    const { base_commit: head, path: files } = worktree;
    await this.#make(worktree, repository, { commit: head, what: [worktree.branch] }, (adminDir) =>
      this.#workshop.withScratch(worktree, async (scratch) => {
        const settings = await ownSettings(this.#workshop.git, repository, adminDir);
        const filters = await this.#workshop.trustedFilters(repository, settings);
        const about = { repository, adminDir, files, head, scratch, settings, filters };
        const place = await openBench(about);
        const index = path.join(adminDir, 'index');
        await this.#workshop.git.text({ ...place, index }, ['read-tree', '-m', '-u', head]);
      }),
    );
  }

  /** Makes branch and worktree again, with all that was archived, in turns of its own. */
  async restore(worktree: Worktree, repository: Repository): Promise<void> {
    const archived = await this.#archived(worktree, repository);
    const { head, headRef, tip } = archived;
    // Only one worktree can have a branch checked out: of others, it has the commit.
    const wasOnBranch = head === tip && headRef === archived.branchRef;
    const what = wasOnBranch ? [worktree.branch] : ['--detach', head];
    const { path: files } = worktree;
    await this.#make(worktree, repository, { commit: tip ?? head, what }, (adminDir) =>
      this.#workshop.withScratch(worktree, (scratch) =>
        fillFromArchive(this.#workshop.git, { repository, adminDir, files, scratch }, archived),
      ),
    );
  }

  /** Where the branch of a restored worktree will stand. Throws `conflict` where nothing was archived. */
  async restorable(worktree: Worktree, repository: Repository): Promise<string> {
    const { head, tip } = await this.#archived(worktree, repository);
    return tip ?? head;
  }

  /** Takes a half-made worktree away, in a turn of its own. Commits that its branch has beyond `expected` are archived. */
  async discard(
    worktree: Worktree,
    repository: Repository | null,
    expected: string,
  ): Promise<void> {
    await removeTree(worktree.path);
    if (repository === null) return;
    await this.#workshop.alone(repository, async () => {
      await this.#workshop.forget(worktree, repository);
      const place = refsOf(repository);
      const tip = await commitOf(this.#workshop.git, place, `refs/heads/${worktree.branch}`);
      if (tip === null) return;
      if (tip !== expected)
        await this.#workshop.git.text(place, ['update-ref', archiveRef(worktree.id), tip]);
      await this.#workshop.removeBranch(worktree, repository, tip);
    });
  }

  async #archived(worktree: Worktree, repository: Repository): Promise<Archived> {
    const archived = await readArchive(this.#workshop.git, repository, worktree.id);
    if (archived) return archived;
    throw new AppError(
      'conflict',
      `worktree ${worktree.id} has no archive to restore it from: create another`,
    );
  }

  async #make(
    worktree: Worktree,
    repository: Repository,
    { commit, what }: { commit: string; what: readonly string[] },
    fill: (adminDir: string) => Promise<void>,
  ): Promise<void> {
    const none = '0'.repeat(commit.length);
    const branch = ['update-ref', `refs/heads/${worktree.branch}`, commit, none];
    const registering = await this.#workshop.alone(repository, async () => {
      // From here on the branch is ours, and goes with what fails.
      await this.#workshop.git.text(refsOf(repository), branch);
      return this.#register(worktree, repository, what).then(
        () => null,
        (error: unknown) => ({ error }),
      );
    });
    try {
      if (registering !== null) throw registering.error;
      this.#workshop.failpoint('worktree.added');
      const adminDir = await adminDirectory(repository, worktree.path);
      if (adminDir === null)
        throw new AppError(
          'conflict',
          `${worktree.path} was removed while the worktree was made: try again`,
        );
      await this.#inLane(() => fill(adminDir));
    } catch (error) {
      await this.discard(worktree, repository, commit);
      throw error;
    }
  }

  /** Makes a worktree without files that has the branch, or a commit, checked out. */
  async #register(
    { path: place }: Worktree,
    repository: Repository,
    what: readonly string[],
  ): Promise<void> {
    const parent = path.dirname(place);
    fs.mkdirSync(parent, { recursive: true, mode: 0o700 });
    if (fs.realpathSync(parent) !== parent)
      throw new AppError(
        'conflict',
        `${parent} is a symbolic link, or lies behind one: move it away`,
      );
    const flags = ['--quiet', '--no-checkout', ...what.slice(0, -1)];
    const add = ['worktree', 'add', ...flags, '--', place, ...what.slice(-1)];
    await this.#workshop.git.text(refsOf(repository), add);
    if (fs.realpathSync(place) !== place)
      throw new AppError(
        'conflict',
        `${place} is a symbolic link, or lies behind one: move it away`,
      );
  }

  /** Runs `work`, which writes files and moves no ref, in one of a few lanes. */
  #inLane<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    return this.#lanes.run(String(this.#count % CHECKOUTS_AT_ONCE), work);
  }
}
