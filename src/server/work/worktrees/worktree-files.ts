import fs from 'node:fs/promises';
import path from 'node:path';
import type { Worktree } from '../../../api/worktrees.ts';
import { AppError } from '../../../api/errors.ts';
import { archiveRef, readArchive, writeArchive } from './archive.ts';
import { ownSettings, type Setting } from '../git/isolated-git-dir.ts';
import { assertFiles, assertGitDirectory, isThere, entryKindOf, readNote } from '../git/foreign.ts';
import type { OtherBranches } from '../git/unreachable-commits.ts';
import { removeTree } from '../git/remove-tree.ts';
import {
  adminDirectory,
  branchesAlike,
  checkoutsOf,
  commitOf,
  linkOf,
  refIn,
  refsOf,
  type Repository,
} from '../git/repository.ts';
import { hasUnsavedWork, type Snapshot, takeSnapshot } from './worktree-state.ts';
import { unsavedSubmodules } from '../git/submodules.ts';
import { ignoredMessage, nestedMessage } from './words.ts';
import type { GitContext } from '../git/git-context.ts';

/** What is known before a snapshot is taken. */
interface SnapshotFacts {
  beside: OtherBranches;
  /** The settings that apply in the worktree; without them git is asked. */
  settings?: readonly Setting[];
}

/** The parts of a worktree that a removal deleted. */
export interface Removed {
  path: boolean;
  branch: boolean;
  /** Why the branch could not be deleted, so that it is tried again later; null if nothing is left to delete. */
  left: string | null;
  /** Whether the worktree has an archive; null if nothing was left to look at. */
  hasArchive: boolean | null;
  diagnostics: string[];
}

/**
 * Removes worktrees from the disk once all of their work is archived. No row is read or written here. The server may
 * crash after any step, so each step can be repeated.
 */
export class WorktreeFiles {
  readonly #gitContext: GitContext;

  constructor(gitContext: GitContext) {
    this.#gitContext = gitContext;
  }

  /** Returns why a worktree cannot be removed at all; null if nothing prevents it. */
  async reasonNotToRemove(worktree: Worktree, repository: Repository): Promise<string | null> {
    const { path: files } = worktree;
    if (!(await isThere(files))) return null;
    const adminDir = await adminDirectory(repository, files);
    const locked = adminDir && (await readNote(adminDir, 'locked'));
    if (locked !== null) {
      const reason = locked.trim();
      return `the worktree is locked${reason ? ` (${reason})` : ''}: git worktree unlock ${files}`;
    }
    const link = path.join(files, '.git');
    const kind = await entryKindOf(link);
    if (kind === null) return null;
    const target = kind === 'directory' ? null : await linkOf(files);
    if (target === null || path.dirname(target) !== path.join(repository.commonDir, 'worktrees'))
      return `${link} belongs to another repository, which an archive cannot hold: move it away`;
    await this.#assertReadable(files, adminDir);
    const unsaved = await this.#gitContext.withScratch(worktree, (scratch) =>
      unsavedSubmodules(this.#gitContext.git, { repository, adminDir, files, scratch }),
    );
    return unsaved.length > 0 ? nestedMessage(unsaved) : null;
  }

  /** Returns the settings that apply in a worktree. */
  async settingsOf({ path: files }: Worktree, repository: Repository): Promise<Setting[]> {
    const adminDir = await adminDirectory(repository, files);
    await this.#assertReadable(null, adminDir);
    return ownSettings(this.#gitContext.git, repository, adminDir);
  }

  /** Takes a snapshot of a worktree, whose files are in the directory `files`. */
  async snapshotOf(
    worktree: Worktree,
    repository: Repository,
    { beside, settings: known }: SnapshotFacts,
    files: string = worktree.path,
  ): Promise<Snapshot> {
    const adminDir = await adminDirectory(repository, worktree.path, files);
    const existingFiles = (await isThere(files)) ? files : null;
    await this.#assertReadable(existingFiles, adminDir);
    const settings = known ?? (await ownSettings(this.#gitContext.git, repository, adminDir));
    const filters = await this.#gitContext.trustedFilters(repository, settings);
    const { branch } = worktree;
    const alike = await branchesAlike(repository, worktree.path);
    const passing = {
      ...beside,
      branches: [...beside.branches, ...alike.filter((one) => one !== branch)],
    };
    const state = {
      repository,
      branch,
      archiveRef: archiveRef(worktree.id),
      beside: passing,
      adminDir,
      files: existingFiles,
      settings,
      filters,
    };
    return this.#gitContext.withScratch(worktree, (scratch) =>
      takeSnapshot(this.#gitContext.git, state, scratch),
    );
  }

  async archive(worktree: Worktree, repository: Repository, snapshot: Snapshot): Promise<void> {
    await writeArchive(this.#gitContext.git, repository, worktree, snapshot);
    this.#gitContext.failpoint('worktree.archived');
  }

  /**
   * Removes a worktree whose content is archived. It is renamed out of the way first, so that no process finds it by
   * its path and writes to it. Changes made since the snapshot are archived too; then the directory is renamed to mark
   * it as archived, and git's registration is removed. `sweepOf` deletes the files.
   */
  async remove(
    worktree: Worktree,
    repository: Repository,
    { tip, ...facts }: { tip: string | null } & SnapshotFacts,
  ): Promise<Removed> {
    const aside = path.join(this.#gitContext.asideDirectory, worktree.id);
    const removed: Removed = {
      path: false,
      branch: false,
      left: null,
      hasArchive: null,
      diagnostics: [],
    };
    const done = `${aside}.archived`;
    if (await isThere(worktree.path)) {
      await removeTree(done);
      await fs.rename(worktree.path, aside);
    }
    this.#gitContext.failpoint('worktree.aside');
    let last = tip;
    if (!(await isThere(done))) {
      const rest = await this.#archiveRest(worktree, repository, { aside, ...facts });
      const { snapshot } = rest;
      removed.hasArchive = rest.hasArchive;
      if (snapshot.ignored.length > 0) removed.diagnostics.push(ignoredMessage(snapshot.ignored));
      last = snapshot.tip;
      if (await isThere(aside)) await fs.rename(aside, done);
    }
    removed.path = await isThere(done);
    await this.#gitContext.forget(worktree, repository);
    const others = await checkoutsOf(repository, worktree.branch);
    if (others.length > 0)
      removed.diagnostics.push(
        `branch ${worktree.branch} was kept: it is checked out in ${others[0]}`,
      );
    else if (last !== null) {
      removed.left = await this.#gitContext.removeBranch(worktree, repository, last);
      removed.branch = removed.left === null;
      if (removed.left !== null) removed.diagnostics.push(removed.left);
    }
    return removed;
  }

  /** Deletes the files of a removed worktree; returns a diagnostic if that fails. */
  async sweepOf({ id }: Worktree): Promise<string[]> {
    const done = path.join(this.#gitContext.asideDirectory, `${id}.archived`);
    try {
      await removeTree(done);
      return [];
    } catch (error) {
      return [`cannot remove ${done} (${(error as Error).message}): the next start tries again`];
    } finally {
      this.#gitContext.failpoint('worktree.removed');
    }
  }

  /** Returns the directory that a worktree being removed was renamed to; null if there is none. */
  async aside({ id }: Worktree): Promise<string | null> {
    const aside = path.join(this.#gitContext.asideDirectory, id);
    for (const candidate of [aside, `${aside}.archived`])
      if (await isThere(candidate)) return candidate;
    return null;
  }

  /** Whether a worktree has an archive. */
  async hasArchive({ id }: Worktree, repository: Repository): Promise<boolean> {
    return (await commitOf(this.#gitContext.git, refsOf(repository), archiveRef(id))) !== null;
  }

  /**
   * Makes sure that the content of the renamed worktree is archived, or only its commits and index if its files are
   * gone; says whether it has an archive then. If that fails, renames the directory back.
   */
  async #archiveRest(
    worktree: Worktree,
    repository: Repository,
    { aside, ...facts }: { aside: string } & SnapshotFacts,
  ): Promise<{ snapshot: Snapshot; hasArchive: boolean }> {
    try {
      const snapshot = await this.snapshotOf(worktree, repository, facts, aside);
      if (snapshot.nested.length > 0)
        throw new AppError('conflict', nestedMessage(snapshot.nested));
      const isNeeded = hasUnsavedWork(snapshot);
      if (isNeeded && !(await this.#isArchived(worktree, repository, snapshot)))
        await this.archive(worktree, repository, snapshot);
      return { snapshot, hasArchive: isNeeded || snapshot.archive !== null };
    } catch (error) {
      if (await isThere(aside)) await fs.rename(aside, worktree.path);
      throw error;
    }
  }

  /** Whether the newest archive holds everything that a snapshot holds. */
  async #isArchived(
    worktree: Worktree,
    repository: Repository,
    { head, headRef, tip, archive, staged, files, sparse }: Snapshot,
  ): Promise<boolean> {
    if (archive === null) return false;
    const archived = await readArchive(this.#gitContext.git, repository, worktree.id);
    if (archived?.tip !== tip) return false;
    // The files and git's registration are gone, so an earlier attempt has already compared them.
    if (files === null && (await adminDirectory(repository, worktree.path)) === null) return true;
    const isFiles = files === null || archived.files === files;
    const isSparse = JSON.stringify(archived.sparse) === JSON.stringify(sparse);
    const isHead = archived.head === head && archived.headRef === headRef;
    return isFiles && isSparse && isHead && archived.staged === staged;
  }

  async #assertReadable(files: string | null, adminDir: string | null): Promise<void> {
    if (adminDir !== null) {
      await assertGitDirectory(adminDir);
      // If HEAD is not a regular file, git only reports that there is no repository; `refIn` names the file.
      await refIn(adminDir);
    }
    if (files !== null) await assertFiles(files);
  }
}
