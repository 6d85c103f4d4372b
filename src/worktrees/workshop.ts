import fs from 'node:fs';
import path from 'node:path';
import type { Worktree } from '../api/worktrees.ts';
import { AppError } from '../errors.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import {
  type Archived,
  archiveRef,
  fillFromArchive,
  readArchive,
  writeArchive,
} from './archive.ts';
import { filtersIn, openBench, ownSettings, type Setting } from './bench.ts';
import { filtersText, sha256Of } from './consent.ts';
import { assertFiles, assertGitDirectory, isThere, kindOf, readNote } from './foreign.ts';
import { type Git, GitFailure } from './git.ts';
import type { Beside } from './own-commits.ts';
import { removeTree } from './remove-tree.ts';
import {
  adminDirectory,
  branchesAlike,
  checkoutsOf,
  commitOf,
  linkOf,
  refIn,
  refsOf,
  type Repository,
} from './repository.ts';
import { holdsWork, type Snapshot, takeSnapshot } from './snapshot.ts';
import { unsavedSubmodules } from './submodules.ts';
import { saidOfIgnored, saidOfInner } from './words.ts';

/** Checkouts are mostly the disk's work, and more of them at once are no faster. */
const CHECKOUTS_AT_ONCE = 4;

/** What a removal took away. */
export interface Removed {
  path: boolean;
  branch: boolean;
  /** Why the branch could not be deleted, and so is to be deleted later; null where there is nothing left to do. */
  left: string | null;
  diagnostics: string[];
}

interface WorkshopDependencies {
  git: Git;
  root: string;
  scratch: string;
  failpoint: Failpoint;
  /** Whether somebody has allowed the commands of this digest for a repository. */
  isTrusted: (repoRoot: string, sha256: string) => Promise<boolean>;
}

/**
 * What is done with files and git, without a row: every step of it may be the last before a crash, and be taken
 * again after it.
 */
export class Workshop {
  readonly git: Git;
  /** Where all worktrees are. */
  readonly root: string;
  readonly #given: WorkshopDependencies;
  /** What reads or moves the refs of a repository is done one after the other, by its directory of refs. */
  readonly #repositories = new OneAtATime();
  /** Files are written beside that, so many worktrees at once. */
  readonly #checkouts = new OneAtATime();
  #checkoutCount = 0;

  constructor(given: WorkshopDependencies) {
    for (const directory of [given.root, given.scratch])
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.git = given.git;
    this.root = fs.realpathSync(given.root);
    this.#given = given;
  }

  /** Throws `conflict` where a place or a branch is taken, `invalid` where the branch can have no such name. */
  async assertFree({ path: place, branch }: Worktree, repository: Repository): Promise<void> {
    const ref = `refs/heads/${branch}`;
    if ((await this.git.maybe(refsOf(repository), ['check-ref-format', ref])) === null)
      throw new AppError('invalid', `"${branch}" cannot be the name of a branch: take another`);
    if ((await commitOf(this.git, refsOf(repository), ref)) !== null)
      throw new AppError(
        'conflict',
        `there is a branch ${branch} already: take another worktree_name or branch_prefix`,
      );
    if (await isThere(place))
      throw new AppError('conflict', `${place} is there already: move it away`);
  }

  /**
   * Runs what reads or moves the refs of a repository: nothing else does that meanwhile. Do not call it, nor what says
   * that it waits for its turn, from within `work`.
   */
  alone<T>({ commonDir }: Repository, work: () => Promise<T>): Promise<T> {
    return this.#repositories.run(commonDir, work);
  }

  /**
   * Makes branch and worktree, and fills it, in turns of its own. Filters of the repository run where they are trusted.
   * What fails leaves nothing.
   */
  async add(worktree: Worktree, repository: Repository): Promise<void> {
    const { base_commit: head, path: files } = worktree;
    await this.#make(worktree, repository, { commit: head, what: [worktree.branch] }, (adminDir) =>
      this.withScratch(worktree, async (scratch) => {
        const settings = await ownSettings(this.git, repository, adminDir);
        const filters = await this.#trustedFilters(repository, settings);
        const about = { repository, adminDir, files, head, scratch, settings, filters };
        const place = await openBench(about);
        const index = path.join(adminDir, 'index');
        await this.git.text({ ...place, index }, ['read-tree', '-m', '-u', head]);
      }),
    );
  }

  /** Makes them again, with all that was archived, in turns of its own. */
  async restore(worktree: Worktree, repository: Repository): Promise<void> {
    const archived = await this.#archived(worktree, repository);
    const { head, headRef, tip } = archived;
    // Only one worktree can have a branch checked out: of others, it has the commit.
    const wasOnBranch = head === tip && headRef === archived.branchRef;
    const what = wasOnBranch ? [worktree.branch] : ['--detach', head];
    const { path: files } = worktree;
    await this.#make(worktree, repository, { commit: tip ?? head, what }, (adminDir) =>
      this.withScratch(worktree, (scratch) =>
        fillFromArchive(this.git, { repository, adminDir, files, scratch }, archived),
      ),
    );
  }

  /** The filters of a repository, where somebody has allowed them; else none. */
  async #trustedFilters(
    repository: Repository,
    settings: readonly Setting[],
  ): Promise<readonly Setting[]> {
    const filters = filtersIn(settings);
    if (filters.length === 0) return [];
    const isTrusted = await this.#given.isTrusted(repository.root, sha256Of(filtersText(filters)));
    return isTrusted ? filters : [];
  }

  /** Where the branch of a restored worktree will stand. Throws `conflict` where nothing was archived. */
  async restorable(worktree: Worktree, repository: Repository): Promise<string> {
    const { head, tip } = await this.#archived(worktree, repository);
    return tip ?? head;
  }

  async #archived(worktree: Worktree, repository: Repository): Promise<Archived> {
    const archived = await readArchive(this.git, repository, worktree.id);
    if (archived) return archived;
    throw new AppError(
      'conflict',
      `nothing of worktree ${worktree.id} was archived that it could be made of: create another`,
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
    const registering = await this.alone(repository, async () => {
      // From here on the branch is ours, and goes with what fails.
      await this.git.text(refsOf(repository), branch);
      return this.#register(worktree, repository, what).then(
        () => null,
        (error: unknown) => ({ error }),
      );
    });
    try {
      if (registering !== null) throw registering.error;
      this.#given.failpoint('worktree.added');
      const adminDir = await adminDirectory(repository, worktree.path);
      if (adminDir === null) throw new AppError('conflict', `${worktree.path} was taken away`);
      await this.#beside(() => fill(adminDir));
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
      throw new AppError('conflict', `${parent} leads elsewhere: move it away`);
    const flags = ['--quiet', '--no-checkout', ...what.slice(0, -1)];
    const add = ['worktree', 'add', ...flags, '--', place, ...what.slice(-1)];
    await this.git.text(refsOf(repository), add);
    if (fs.realpathSync(place) !== place)
      throw new AppError('conflict', `${place} leads elsewhere: move it away`);
  }

  /** Runs what needs a directory of ours for a while. */
  async withScratch<T>({ id }: Worktree, work: (scratch: string) => Promise<T>): Promise<T> {
    const scratch = await fs.promises.mkdtemp(path.join(this.#given.scratch, `${id}-`));
    try {
      return await work(scratch);
    } finally {
      await fs.promises.rm(scratch, { recursive: true, force: true });
    }
  }

  /** Writes the files of a worktree, which moves no ref: some of that is done at once. */
  #beside<T>(work: () => Promise<T>): Promise<T> {
    this.#checkoutCount += 1;
    return this.#checkouts.run(String(this.#checkoutCount % CHECKOUTS_AT_ONCE), work);
  }

  /** Takes a half-made worktree away, in a turn of its own. Commits that its branch has beyond `expected` are archived. */
  async discard(
    worktree: Worktree,
    repository: Repository | null,
    expected: string,
  ): Promise<void> {
    await removeTree(worktree.path);
    if (repository === null) return;
    await this.alone(repository, async () => {
      await this.#forget(worktree, repository);
      const place = refsOf(repository);
      const tip = await commitOf(this.git, place, `refs/heads/${worktree.branch}`);
      if (tip === null) return;
      if (tip !== expected)
        await this.git.text(place, ['update-ref', archiveRef(worktree.id), tip]);
      await this.removeBranch(worktree, repository, tip);
    });
  }

  /** What keeps a worktree from being removed, whatever else it holds; null: nothing. */
  async obstacle(worktree: Worktree, repository: Repository): Promise<string | null> {
    const { path: files } = worktree;
    if (!(await isThere(files))) return null;
    const adminDir = await adminDirectory(repository, files);
    const locked = adminDir && (await readNote(adminDir, 'locked'));
    if (locked !== null) {
      const reason = locked.trim();
      return `it is locked${reason ? ` (${reason})` : ''}: git worktree unlock ${files}`;
    }
    const link = path.join(files, '.git');
    const kind = await kindOf(link);
    if (kind === null) return null;
    const target = kind === 'directory' ? null : await linkOf(files);
    if (target === null || path.dirname(target) !== path.join(repository.commonDir, 'worktrees'))
      return `${link} is another repository, which no archive can keep: move it away`;
    await this.#assertReadable(files, adminDir);
    const unsaved = await this.withScratch(worktree, (scratch) =>
      unsavedSubmodules(this.git, { repository, adminDir, files, scratch }),
    );
    return unsaved.length > 0 ? saidOfInner(unsaved) : null;
  }

  /** All that a worktree holds, wherever its files are just now. */
  async look(
    worktree: Worktree,
    repository: Repository,
    beside: Beside,
    files: string = worktree.path,
  ): Promise<Snapshot> {
    const adminDir = await adminDirectory(repository, worktree.path, files);
    const there = (await isThere(files)) ? files : null;
    await this.#assertReadable(there, adminDir);
    const settings = await ownSettings(this.git, repository, adminDir);
    const filters = await this.#trustedFilters(repository, settings);
    const { branch } = worktree;
    const alike = await branchesAlike(repository, worktree.path);
    const passing = {
      ...beside,
      branches: [...beside.branches, ...alike.filter((one) => one !== branch)],
    };
    const state = {
      repository,
      branch,
      beside: passing,
      adminDir,
      files: there,
      settings,
      filters,
    };
    return this.withScratch(worktree, (scratch) => takeSnapshot(this.git, state, scratch));
  }

  async #assertReadable(files: string | null, adminDir: string | null): Promise<void> {
    if (adminDir !== null) {
      await assertGitDirectory(adminDir);
      // Of a HEAD that is no file, git says only that there is no repository.
      await refIn(adminDir);
    }
    if (files !== null) await assertFiles(files);
  }

  async archive(worktree: Worktree, repository: Repository, snapshot: Snapshot): Promise<void> {
    await writeArchive(this.git, repository, worktree, snapshot);
    this.#given.failpoint('worktree.archived');
  }

  /**
   * Removes a worktree of which all was archived. It is put aside first: who would write into it from then on finds
   * no path. What came in between is archived, too; then what lies aside gets a name that says so, and git forgets it.
   * The files themselves are left for `sweepOf`.
   */
  async remove(
    worktree: Worktree,
    repository: Repository,
    { tip, beside }: { tip: string | null; beside: Beside },
  ): Promise<Removed> {
    const aside = path.join(this.#removed, worktree.id);
    const removed: Removed = { path: false, branch: false, left: null, diagnostics: [] };
    const done = `${aside}.archived`;
    if (await isThere(worktree.path)) {
      await removeTree(done);
      fs.renameSync(worktree.path, aside);
    }
    this.#given.failpoint('worktree.aside');
    let last = tip;
    if (!(await isThere(done))) {
      const snapshot = await this.#keepAll(worktree, repository, { aside, beside });
      if (snapshot.ignored.length > 0) removed.diagnostics.push(saidOfIgnored(snapshot.ignored));
      last = snapshot.tip;
      if (await isThere(aside)) fs.renameSync(aside, done);
    }
    removed.path = await isThere(done);
    await this.#forget(worktree, repository);
    const others = await checkoutsOf(repository, worktree.branch);
    if (others.length > 0)
      removed.diagnostics.push(
        `branch ${worktree.branch} stays: it is checked out in ${others[0]}`,
      );
    else if (last !== null) {
      removed.left = await this.removeBranch(worktree, repository, last);
      removed.branch = removed.left === null;
      if (removed.left !== null) removed.diagnostics.push(removed.left);
    }
    return removed;
  }

  /** Removes the files of a worktree that was removed; answers what is to be said of that. */
  async sweepOf({ id }: Worktree): Promise<string[]> {
    const done = path.join(this.#removed, `${id}.archived`);
    try {
      await removeTree(done);
      return [];
    } catch (error) {
      return [
        `${done} could not be removed (${(error as Error).message}): the next start tries again`,
      ];
    } finally {
      this.#given.failpoint('worktree.removed');
    }
  }

  /** Where the files of a worktree lie while it is being removed; null where they do not. */
  async aside({ id }: Worktree): Promise<string | null> {
    const aside = path.join(this.#removed, id);
    for (const place of [aside, `${aside}.archived`]) if (await isThere(place)) return place;
    return null;
  }

  /** Takes away what earlier runs were about to remove when they ended. */
  async sweep(): Promise<void> {
    for (const name of fs.readdirSync(this.#given.scratch))
      await removeTree(path.join(this.#given.scratch, name));
    for (const name of fs.readdirSync(this.#removed))
      if (name.endsWith('.archived')) await removeTree(path.join(this.#removed, name));
  }

  /** The archive that a worktree has in its repository; null where it has none. */
  async archiveOf({ id }: Worktree, repository: Repository): Promise<string | null> {
    const commit = await commitOf(this.git, refsOf(repository), archiveRef(id));
    return commit === null ? null : archiveRef(id);
  }

  /**
   * Makes sure that all of what lies aside is archived, and of commits and index where nothing does; where that cannot
   * be, it goes back to its place.
   */
  async #keepAll(
    worktree: Worktree,
    repository: Repository,
    { aside, beside }: { aside: string; beside: Beside },
  ): Promise<Snapshot> {
    try {
      const snapshot = await this.look(worktree, repository, beside, aside);
      if (snapshot.nested.length > 0) throw new AppError('conflict', saidOfInner(snapshot.nested));
      if (holdsWork(snapshot) && !(await this.#isKept(worktree, repository, snapshot)))
        await this.archive(worktree, repository, snapshot);
      return snapshot;
    } catch (error) {
      if (await isThere(aside)) fs.renameSync(aside, worktree.path);
      throw error;
    }
  }

  /** Whether the newest archive has all that a snapshot has. */
  async #isKept(
    worktree: Worktree,
    repository: Repository,
    { head, headRef, tip, staged, files, sparse }: Snapshot,
  ): Promise<boolean> {
    const kept = await readArchive(this.git, repository, worktree.id);
    if (kept?.tip !== tip) return false;
    // What an earlier try has removed and had git forget was looked at then.
    if (files === null && (await adminDirectory(repository, worktree.path)) === null) return true;
    const isFiles = files === null || kept.files === files;
    const isSparse = JSON.stringify(kept.sparse) === JSON.stringify(sparse);
    const isHead = kept.head === head && kept.headRef === headRef;
    return isFiles && isSparse && isHead && kept.staged === staged;
  }

  /** Has git forget a worktree whose files are gone. */
  async #forget({ path: place }: Worktree, repository: Repository): Promise<void> {
    if ((await adminDirectory(repository, place)) === null) return;
    const remove = ['worktree', 'remove', '--force', '--force', '--', place];
    await this.git.text(refsOf(repository), remove);
  }

  /** Deletes the branch where it still stands at `tip`; answers why it could not be, null where it was. */
  async removeBranch(
    { branch }: Worktree,
    repository: Repository,
    tip: string,
  ): Promise<string | null> {
    const place = refsOf(repository);
    try {
      await this.git.text(place, ['update-ref', '-d', `refs/heads/${branch}`, tip]);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      return `branch ${branch} stays (${error.message})`;
    }
    await this.git.maybe(place, ['config', '--local', '--remove-section', `branch.${branch}`]);
    return null;
  }

  /** Where worktrees are put aside: on their own disk, since they are renamed. */
  get #removed(): string {
    const directory = path.join(this.root, '.removed');
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    return directory;
  }
}
