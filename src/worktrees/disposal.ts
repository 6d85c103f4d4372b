import fs from 'node:fs';
import path from 'node:path';
import type { Worktree } from '../api/worktrees.ts';
import { AppError } from '../errors.ts';
import { archiveRef, readArchive, writeArchive } from './archive.ts';
import { ownSettings } from './bench.ts';
import { assertFiles, assertGitDirectory, isThere, kindOf, readNote } from './foreign.ts';
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
import { ignoredMessage, nestedMessage } from './words.ts';
import type { Workshop } from './workshop.ts';

/** What a removal took away. */
export interface Removed {
  path: boolean;
  branch: boolean;
  /** Why the branch could not be deleted, and so is to be deleted later; null where there is nothing left to do. */
  left: string | null;
  diagnostics: string[];
}

/**
 * Removes worktrees from the disk, after all of their work was archived. No row is read or written here. Every step
 * may be the last one before a crash, and can be repeated after it.
 */
export class Disposal {
  readonly #workshop: Workshop;

  constructor(workshop: Workshop) {
    this.#workshop = workshop;
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
    const unsaved = await this.#workshop.withScratch(worktree, (scratch) =>
      unsavedSubmodules(this.#workshop.git, { repository, adminDir, files, scratch }),
    );
    return unsaved.length > 0 ? nestedMessage(unsaved) : null;
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
    const settings = await ownSettings(this.#workshop.git, repository, adminDir);
    const filters = await this.#workshop.trustedFilters(repository, settings);
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
    return this.#workshop.withScratch(worktree, (scratch) =>
      takeSnapshot(this.#workshop.git, state, scratch),
    );
  }

  async archive(worktree: Worktree, repository: Repository, snapshot: Snapshot): Promise<void> {
    await writeArchive(this.#workshop.git, repository, worktree, snapshot);
    this.#workshop.failpoint('worktree.archived');
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
    const aside = path.join(this.#workshop.asideDirectory, worktree.id);
    const removed: Removed = { path: false, branch: false, left: null, diagnostics: [] };
    const done = `${aside}.archived`;
    if (await isThere(worktree.path)) {
      await removeTree(done);
      fs.renameSync(worktree.path, aside);
    }
    this.#workshop.failpoint('worktree.aside');
    let last = tip;
    if (!(await isThere(done))) {
      const snapshot = await this.#keepAll(worktree, repository, { aside, beside });
      if (snapshot.ignored.length > 0) removed.diagnostics.push(ignoredMessage(snapshot.ignored));
      last = snapshot.tip;
      if (await isThere(aside)) fs.renameSync(aside, done);
    }
    removed.path = await isThere(done);
    await this.#workshop.forget(worktree, repository);
    const others = await checkoutsOf(repository, worktree.branch);
    if (others.length > 0)
      removed.diagnostics.push(
        `branch ${worktree.branch} stays: it is checked out in ${others[0]}`,
      );
    else if (last !== null) {
      removed.left = await this.#workshop.removeBranch(worktree, repository, last);
      removed.branch = removed.left === null;
      if (removed.left !== null) removed.diagnostics.push(removed.left);
    }
    return removed;
  }

  /** Removes the files of a worktree that was removed; answers what is to be said of that. */
  async sweepOf({ id }: Worktree): Promise<string[]> {
    const done = path.join(this.#workshop.asideDirectory, `${id}.archived`);
    try {
      await removeTree(done);
      return [];
    } catch (error) {
      return [
        `${done} could not be removed (${(error as Error).message}): the next start tries again`,
      ];
    } finally {
      this.#workshop.failpoint('worktree.removed');
    }
  }

  /** Where the files of a worktree lie while it is being removed; null where they do not. */
  async aside({ id }: Worktree): Promise<string | null> {
    const aside = path.join(this.#workshop.asideDirectory, id);
    for (const place of [aside, `${aside}.archived`]) if (await isThere(place)) return place;
    return null;
  }

  /** The archive that a worktree has in its repository; null where it has none. */
  async archiveOf({ id }: Worktree, repository: Repository): Promise<string | null> {
    const commit = await commitOf(this.#workshop.git, refsOf(repository), archiveRef(id));
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
      if (snapshot.nested.length > 0)
        throw new AppError('conflict', nestedMessage(snapshot.nested));
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
    const kept = await readArchive(this.#workshop.git, repository, worktree.id);
    if (kept?.tip !== tip) return false;
    // What an earlier try has removed and had git forget was looked at then.
    if (files === null && (await adminDirectory(repository, worktree.path)) === null) return true;
    const isFiles = files === null || kept.files === files;
    const isSparse = JSON.stringify(kept.sparse) === JSON.stringify(sparse);
    const isHead = kept.head === head && kept.headRef === headRef;
    return isFiles && isSparse && isHead && kept.staged === staged;
  }

  async #assertReadable(files: string | null, adminDir: string | null): Promise<void> {
    if (adminDir !== null) {
      await assertGitDirectory(adminDir);
      // Of a HEAD that is no file, git says only that there is no repository.
      await refIn(adminDir);
    }
    if (files !== null) await assertFiles(files);
  }
}
