import fs from 'node:fs/promises';
import path from 'node:path';
import type { Worktree } from '../../../api/worktrees.ts';
import {
  type ChangedFile,
  entriesOf,
  type OpenCheckout,
  openCheckout,
  readStatus,
  UNCHANGED,
} from '../git/changes.ts';
import { assertFiles, assertGitDirectory, isThere, readNote } from '../git/foreign.ts';
import type { GitContext } from '../git/git-context.ts';
import { type Git, nulTerminated } from '../git/git.ts';
import { isOn, ownSettings, type Setting } from '../git/isolated-git-dir.ts';
import { blobIdsOf } from '../git/private-copies.ts';
import {
  adminDirectory,
  branchesAlike,
  type Heads,
  readHeads,
  refIn,
  type Repository,
} from '../git/repository.ts';
import { type OtherBranches, unreachableCommits } from '../git/unreachable-commits.ts';

export function archiveRef(worktreeId: string): string {
  return `refs/cadre/archive/${worktreeId}`;
}

/** A file in conflict has up to three versions; a tree holds each below this directory and its stage number. */
export const CONFLICTS = '.cadre-conflicts';

/** The facts that a snapshot of a worktree needs beside its files. */
export interface SnapshotFacts {
  beside: OtherBranches;
  /** The settings that apply in the worktree; without them git is asked. */
  settings?: readonly Setting[];
}

/** A sparse checkout: the working directory has only some of the files. */
export interface Sparse {
  /** The sparse-checkout patterns; null if there are none. */
  patterns: string | null;
  isCone: boolean;
  /** Names of files that are excluded from the checkout and do not exist. */
  absent: string[];
}

/** The content of a worktree, as objects in its repository. */
export interface Snapshot {
  head: string | null;
  /** The branch that is checked out; null: none. */
  headRef: string | null;
  /** The commit that the worktree's own branch points to; null: no such branch. */
  tip: string | null;
  /** The commit of its newest archive; null: no archive. */
  archive: string | null;
  /** The tree of the staged files, including conflicts. */
  staged: string;
  /** The tree of the files on the disk, byte for byte; null if they are gone. */
  files: string | null;
  /** Null if the checkout is not sparse. */
  sparse: Sparse | null;
  /** The tips of the commits that no lasting ref reaches. */
  own: string[];
  /** Whether some of those are in no other worktree either, or only in one that is being removed. */
  isAlone: boolean;
  isCommitted: boolean;
  /** Names of ignored files, which the snapshot leaves out. */
  ignored: string[];
  /** Repositories inside the worktree that git does not know as submodules. */
  nested: string[];
}

/**
 * Whether the removal of the worktree writes an archive. A worktree with content that no lasting ref reaches needs one. So
 * does a worktree with an earlier archive: without a new archive, a restore would return the earlier content.
 */
export function needsArchive({
  own,
  isCommitted,
  archive,
  files,
}: Pick<Snapshot, 'own' | 'isCommitted' | 'archive' | 'files'>): boolean {
  return own.length > 0 || !isCommitted || (archive !== null && files !== null);
}

/** Whether the worktree is clean in the sense of `delete_if_clean`: everything in it exists elsewhere too. */
export function isClean({ isAlone, isCommitted }: Snapshot): boolean {
  return !isAlone && isCommitted;
}

export async function settingsIn(
  { path: files }: Worktree,
  repository: Repository,
): Promise<Setting[]> {
  const adminDir = await adminDirectory(repository, files);
  await assertReadable(null, adminDir);
  return ownSettings(repository, adminDir);
}

/**
 * Takes a snapshot of a worktree, which is only read: programs that work in it notice nothing, and locks that are held
 * or were left behind do not prevent it. `at` is the directory of its files.
 */
export async function takeSnapshot(
  gitContext: GitContext,
  worktree: Worktree,
  repository: Repository,
  { beside, settings }: SnapshotFacts,
  at: string = worktree.path,
): Promise<Snapshot> {
  const { branch, path: directory } = worktree;
  const gitDir = await adminDirectory(repository, directory, at);
  const location = { gitDir, files: (await isThere(at)) ? at : null };
  await assertReadable(location.files, gitDir);
  const alike = (await branchesAlike(repository, directory)).filter((one) => one !== branch);
  const passing = { ...beside, branches: [...beside.branches, ...alike] };
  return gitContext.withScratch(worktree, async (scratch) => {
    const refs = { branch, adminDir: gitDir };
    const heads = await readHeads(repository, { ...refs, more: archiveRef(worktree.id) });
    const headRef = gitDir === null ? `refs/heads/${branch}` : await refIn(gitDir);
    const filters = gitContext.filtersOf(repository);
    const about = { head: heads.head, scratch, filters, settings };
    const opened = await openCheckout(repository, location, about);
    const { tip, head, main, more: archive } = heads;
    const reachability = { ...refs, repository, beside: passing, main };
    const own = await unreachableCommits(reachability, [head, tip]);
    const content = await contentOf(opened, location, { heads, own: own.own });
    const sparse = gitDir === null ? null : await sparseOf(opened.settings, gitDir, opened.absent);
    return { head, headRef, tip, archive, sparse, ...own, ...content };
  });
}

/** Writes the trees of a worktree: the index, and all files byte for byte if they have to be kept. */
async function contentOf(
  opened: OpenCheckout,
  { gitDir, files }: { gitDir: string | null; files: string | null },
  { heads, own }: { heads: Heads; own: string[] },
): Promise<Pick<Snapshot, 'staged' | 'files' | 'isCommitted' | 'ignored' | 'nested'>> {
  const { isolated } = opened;
  const status =
    files === null
      ? UNCHANGED
      : await readStatus(isolated, { gitDir, files }, { withIgnored: true });
  const { changed, conflicts, ignored, nested } = status;
  const staged = await stagedTree(isolated, conflicts);
  const isAsStaged = files !== null && changed.length === 0 && conflicts.length === 0;
  const asGitSees = isAsStaged ? staged : files && (await filesTree(isolated, files, changed));
  const committed = heads.tree ?? (await headTree(isolated, heads.head));
  const isCommitted = staged === committed && (asGitSees ?? committed) === committed;
  const found = { staged, isCommitted, ignored, nested };
  const about = { own, isCommitted, archive: heads.more, files: asGitSees };
  if (files === null || asGitSees === null || !needsArchive(about))
    return { ...found, files: asGitSees };
  return { ...found, files: await rawTree(opened, files, { changed, asGitSees }) };
}

/** Throws `conflict` if git would block on a file of a worktree, and the error of the system if git could not read a directory. */
export async function assertReadable(files: string | null, adminDir: string | null): Promise<void> {
  if (adminDir !== null) {
    await assertGitDirectory(adminDir);
    // If HEAD is not a regular file, git only reports that there is no repository; `refIn` names the file.
    await refIn(adminDir);
  }
  // The removal of a worktree must not leave out a file from its archive.
  if (files !== null) await assertFiles(files, { isWhole: true });
}

/** Writes the tree of the staged files; the versions of files in conflict are below `CONFLICTS`. */
async function stagedTree(isolated: Git, conflicts: readonly string[]): Promise<string> {
  if (conflicts.length === 0) return isolated.text(['write-tree']);
  const stages = await isolated.entries(['ls-files', '-u', '-z']);
  const zeros = '0'.repeat(stages[0]?.split(' ')[1]?.length ?? 40);
  const entries = stages.map((line) => {
    const [, mode = '', sha = '', stage = '', name = ''] =
      /^(\d+) ([0-9a-f]+) (\d)\t([\s\S]*)$/.exec(line) ?? [];
    return `${mode} ${sha}\t${CONFLICTS}/${stage}/${name}`;
  });
  const removals = conflicts.map((name) => `0 ${zeros}\t${name}`);
  return treeWith(isolated, 'staged', [...removals, ...entries]);
}

/** Writes the tree of the index with these files as they are on the disk, byte for byte. */
async function filesTree(
  isolated: Git,
  files: string,
  changed: readonly ChangedFile[],
): Promise<string> {
  return treeWith(isolated, 'files', await entriesOf(isolated, files, changed));
}

/** Writes the tree of the index with these entries, in another copy of the index. */
async function treeWith(isolated: Git, copy: string, entries: readonly string[]): Promise<string> {
  const { index = '' } = isolated.location;
  const own = path.join(path.dirname(index), copy);
  await fs.copyFile(index, own);
  const git = isolated.with({ index: own });
  const put = ['update-index', '-z', '--index-info'];
  if (entries.length > 0) await git.text(put, nulTerminated(entries));
  return git.text(['write-tree']);
}

/**
 * Writes the tree of all files, byte for byte. Git reports a file as unchanged if filters or line-ending conversion
 * explain its bytes; those files are added with the bytes on the disk. Without such files, this is the tree that git
 * sees.
 */
async function rawTree(
  { isolated, absent, listed }: OpenCheckout,
  files: string,
  { changed, asGitSees }: { changed: readonly ChangedFile[]; asGitSees: string },
): Promise<string> {
  const left = new Set([...changed.map(({ name }) => name), ...absent]);
  const entries = (listed ?? (await isolated.entries(['ls-files', '-s', '-z'])))
    .map((line) => /^100\d{3} ([0-9a-f]+) 0\t([\s\S]*)$/.exec(line))
    .flatMap((found) => (found ? [{ sha: found[1], name: found[2] ?? '' }] : []))
    .filter(({ name }) => !left.has(name));
  const names = entries.map(({ name }) => name);
  const shas = await blobIdsOf(files, names, asGitSees.length);
  const converted = entries
    .filter(({ sha }, at) => sha !== shas[at])
    .map(({ name }) => ({ name, isThere: true }));
  if (converted.length === 0) return asGitSees;
  return filesTree(isolated, files, [...changed, ...converted]);
}

async function headTree(git: Git, head: string | null): Promise<string> {
  return head === null
    ? git.text(['hash-object', '-t', 'tree', '--stdin'], '')
    : git.text(['rev-parse', '--verify', `${head}^{tree}`]);
}

/** Returns the state of a sparse checkout; null if the checkout is complete. */
async function sparseOf(
  settings: readonly Setting[],
  adminDir: string,
  absent: string[],
): Promise<Sparse | null> {
  const isSparse = isOn(settings, 'core.sparsecheckout');
  if (!isSparse && absent.length === 0) return null;
  return {
    patterns: isSparse ? ((await readNote(adminDir, 'info/sparse-checkout')) ?? '') : null,
    isCone: isOn(settings, 'core.sparsecheckoutcone'),
    absent,
  };
}
