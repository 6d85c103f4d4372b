import fs from 'node:fs/promises';
import path from 'node:path';
import { isOn, openIsolatedGitDir, type Setting } from '../git/isolated-git-dir.ts';
import { entryKindOf, readLog, readNote } from '../git/foreign.ts';
import type { Git, GitLocation } from '../git/git.ts';
import { copyIndex } from '../git/index-copy.ts';
import { type OtherBranches, unreachableCommits } from '../git/unreachable-commits.ts';
import { refIn, type Repository } from '../git/repository.ts';
import { readHeads } from './heads.ts';
import { bytePath, nulTerminated, quoted } from '../git/names.ts';

/** A file in conflict has up to three versions; a tree holds each below this directory and its stage number. */
export const CONFLICTS = '.cadre-conflicts';

/**
 * The file in git's own directory for a worktree that lists the ignored files which were copied into it. They stay
 * ignored even if its `.gitignore` no longer says so: what may be secret must not be archived.
 */
export const INCLUDED = 'cadre-included';

/** The current directories of a worktree, and the settings that apply to it. */
interface WorktreeState {
  repository: Repository;
  branch: string;
  /** The name of the ref of its archive. */
  archiveRef: string;
  beside: OtherBranches;
  /** Git's own directory for it; null if git has no such worktree any more. */
  adminDir: string | null;
  /** The directory of its files; null if they are gone. */
  files: string | null;
  settings: readonly Setting[];
  /** The filters of the repository that a person has allowed; git needs them to find the files that have changed. */
  filters: readonly Setting[];
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

/** Whether the worktree has to be archived, because it holds something that no lasting ref reaches. */
export function hasUnsavedWork({
  own,
  isCommitted,
}: Pick<Snapshot, 'own' | 'isCommitted'>): boolean {
  return own.length > 0 || !isCommitted;
}

/** Whether the worktree is clean in the sense of `delete_if_clean`: everything in it exists elsewhere too. */
export function isClean({ isAlone, isCommitted }: Snapshot): boolean {
  return !isAlone && isCommitted;
}

/**
 * Takes a snapshot of a worktree, which is only read: programs that work in it notice nothing, and locks that are held
 * or were left behind do not prevent it. `scratch` is an empty directory.
 */
export async function takeSnapshot(
  git: Git,
  state: WorktreeState,
  scratch: string,
): Promise<Snapshot> {
  const { branch, adminDir, files } = state;
  const starts = await readHeads(git, { ...state, more: state.archiveRef });
  const { tip, head, tree, main, more: archive } = starts;
  const headRef = adminDir === null ? `refs/heads/${branch}` : await refIn(adminDir);
  const isolated = await openIsolatedGitDir({ ...state, head, scratch });
  const { absent, listed } = await copyIndex(git, isolated, { adminDir, head });
  const included = new Set(
    adminDir === null ? [] : (await readLog(adminDir, INCLUDED)).split('\0'),
  );
  const changes = files === null ? noChanges : await changesIn(git, isolated, files, included);
  const staged = await stagedTree(git, isolated, changes.conflicts);
  const asGitSees =
    files === null || changes.changed.length > 0 || changes.conflicts.length > 0
      ? files && (await filesTree(git, isolated, files, changes.changed))
      : staged;
  const committed = tree ?? (await headTree(git, isolated, head));
  const { own, isAlone } = await unreachableCommits(git, { ...state, main }, [head, tip]);
  const isCommitted = staged === committed && (asGitSees ?? committed) === committed;
  const mustBeKept = asGitSees !== null && hasUnsavedWork({ own, isCommitted });
  return {
    head,
    headRef,
    tip,
    archive,
    staged,
    files: mustBeKept
      ? await rawTree(git, isolated, files ?? '', { changes, absent, asGitSees, listed })
      : asGitSees,
    sparse: adminDir === null ? null : await sparseOf(state.settings, adminDir, absent),
    own,
    isAlone,
    isCommitted,
    ignored: changes.ignored,
    nested: changes.nested,
  };
}

export interface Changed {
  name: string;
  isThere: boolean;
}

export interface Changes {
  /** Files that differ from the index, and whether each exists. */
  changed: Changed[];
  conflicts: string[];
  ignored: string[];
  /** Repositories that git lists as one untracked directory. */
  nested: string[];
}

const noChanges: Changes = { changed: [], conflicts: [], ignored: [], nested: [] };

/** Finds what differs from the index. Untracked files of `included` count as ignored. */
async function changesIn(
  git: Git,
  location: GitLocation,
  files: string,
  included: ReadonlySet<string>,
): Promise<Changes> {
  const output = await git.bytes(location, [...STATUS, '--ignored=matching']);
  return readStatus(output.split('\0'), files, included);
}

/** Lists what differs from the index, in the form that `readStatus` takes. */
export const STATUS = [
  'status',
  '--porcelain=v2',
  '-z',
  '--untracked-files=all',
  '--no-renames',
  '--ignore-submodules=all',
];

/** Reads the entries of that list. Untracked files of `included` count as ignored. */
export async function readStatus(
  entries: readonly string[],
  files: string,
  included: ReadonlySet<string>,
): Promise<Changes> {
  const found: Changes = { changed: [], conflicts: [], ignored: [], nested: [] };
  for (const line of entries.filter(Boolean)) {
    const fields = line.split(' ');
    const [kind = '', xy = '', sub = ''] = fields;
    const name = fields.slice({ '1': 8, u: 10 }[kind] ?? 1).join(' ');
    if (kind === '!' || (kind === '?' && included.has(name))) found.ignored.push(name);
    else if (kind === '?' && name.endsWith('/')) found.nested.push(name.slice(0, -1));
    else if (kind === '?') found.changed.push({ name, isThere: true });
    // Submodules are examined separately.
    else if (sub.startsWith('S') || xy[1] === '.') continue;
    else if (kind === 'u') {
      found.conflicts.push(name);
      found.changed.push({ name, isThere: fields[6] !== '000000' });
    } else found.changed.push({ name, isThere: xy[1] !== 'D' });
  }
  // A repository may have replaced a tracked file.
  for (const { name } of found.changed)
    if ((await entryKindOf(bytePath(files, `${name}/.git`))) !== null) found.nested.push(name);
  return found;
}

/** Writes the tree of the staged files; the versions of files in conflict are below `CONFLICTS`. */
async function stagedTree(
  git: Git,
  location: GitLocation,
  conflicts: readonly string[],
): Promise<string> {
  if (conflicts.length === 0) return git.text(location, ['write-tree']);
  const index = await copyIndexAs(location, 'staged');
  const stages = (await git.bytes(location, ['ls-files', '-u', '-z'])).split('\0').filter(Boolean);
  const zeros = '0'.repeat(stages[0]?.split(' ')[1]?.length ?? 40);
  const entries = stages.map((line) => {
    const [, mode = '', sha = '', stage = '', name = ''] =
      /^(\d+) ([0-9a-f]+) (\d)\t([\s\S]*)$/.exec(line) ?? [];
    return `${mode} ${sha}\t${CONFLICTS}/${stage}/${name}`;
  });
  const removals = conflicts.map((name) => `0 ${zeros}\t${name}`);
  await git.text(
    index,
    ['update-index', '-z', '--index-info'],
    nulTerminated([...removals, ...entries]),
  );
  return git.text(index, ['write-tree']);
}

/** Writes the tree of the index with these files as they are on the disk, byte for byte. */
async function filesTree(
  git: Git,
  location: GitLocation,
  files: string,
  changed: readonly Changed[],
): Promise<string> {
  const index = await copyIndexAs(location, 'files');
  if (changed.length > 0) {
    const entries = await entriesOf(git, location, files, changed);
    await git.text(index, ['update-index', '-z', '--index-info'], nulTerminated(entries));
  }
  return git.text(index, ['write-tree']);
}

/** Returns index lines for files as they are on the disk, byte for byte, without filters or line-ending conversion. */
export async function entriesOf(
  git: Git,
  location: GitLocation,
  files: string,
  changed: readonly Changed[],
  signal?: AbortSignal,
): Promise<string[]> {
  const scratch = path.dirname(location.index ?? '');
  const existing: { name: string; mode: string; from: string }[] = [];
  const deleted: string[] = [];
  for (const { name, isThere } of changed) {
    // A name that contains a symbolic link would reach a file of another directory.
    const kind = isThere ? await entryKindOf(bytePath(files, name)) : null;
    if (kind === 'link') {
      const target = path.join(scratch, `link-${existing.length}`);
      await fs.writeFile(target, await fs.readlink(bytePath(files, name), 'buffer'));
      existing.push({ name, mode: '120000', from: Buffer.from(target).toString('latin1') });
    } else if (kind === 'file') {
      const { mode } = await fs.lstat(bytePath(files, name));
      existing.push({ name, mode: mode & 0o100 ? '100755' : '100644', from: name });
    } else deleted.push(name);
  }
  const shas = await objectIdsOf(
    git,
    location,
    existing.map(({ from }) => from),
    ['-w'],
    signal,
  );
  const zeros = '0'.repeat(shas[0]?.length ?? 40);
  return [
    ...deleted.map((name) => `0 ${zeros}\t${name}`),
    ...existing.map(({ name, mode }, at) => `${mode} ${shas[at]}\t${name}`),
  ];
}

/**
 * Writes the tree of all files, byte for byte. Git reports a file as unchanged if filters or line-ending conversion
 * explain its bytes; those files are added with the bytes on the disk. Without such files, this is the tree that git
 * sees.
 */
async function rawTree(
  git: Git,
  location: GitLocation,
  files: string,
  {
    changes,
    absent,
    asGitSees,
    listed,
  }: {
    changes: Changes;
    absent: readonly string[];
    asGitSees: string;
    listed: readonly string[] | null;
  },
): Promise<string> {
  const left = new Set([...changes.changed.map(({ name }) => name), ...absent]);
  const entries = (listed ?? (await git.bytes(location, ['ls-files', '-s', '-z'])).split('\0'))
    .map((line) => /^100\d{3} ([0-9a-f]+) 0\t([\s\S]*)$/.exec(line))
    .flatMap((found) => (found ? [{ sha: found[1], name: found[2] ?? '' }] : []))
    .filter(({ name }) => !left.has(name));
  const shas = await objectIdsOf(
    git,
    location,
    entries.map(({ name }) => name),
    [],
  );
  const converted = entries
    .filter(({ sha }, at) => sha !== shas[at])
    .map(({ name }) => ({ name, isThere: true }));
  if (converted.length === 0) return asGitSees;
  return filesTree(git, location, files, [...changes.changed, ...converted]);
}

/** Returns the object ids of files; with `-w` among the flags, the objects are written. */
async function objectIdsOf(
  git: Git,
  location: GitLocation,
  names: readonly string[],
  flags: readonly string[],
  signal?: AbortSignal,
): Promise<string[]> {
  if (names.length === 0) return [];
  const paths = names.map((name) => `${quoted(name)}\n`).join('');
  const args = ['hash-object', ...flags, '--no-filters', '--stdin-paths'];
  return (await git.bytes(location, args, paths, signal)).trimEnd().split('\n');
}

async function headTree(git: Git, location: GitLocation, head: string | null): Promise<string> {
  return head === null
    ? git.text(location, ['hash-object', '-t', 'tree', '--stdin'], '')
    : git.text(location, ['rev-parse', '--verify', `${head}^{tree}`]);
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

/** Makes another copy of the index, and returns the location that uses it. */
async function copyIndexAs(location: GitLocation, name: string): Promise<GitLocation> {
  const index = path.join(path.dirname(location.index ?? ''), name);
  await fs.copyFile(location.index ?? '', index);
  return { ...location, index };
}
