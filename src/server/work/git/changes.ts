import fs from 'node:fs/promises';
import path from 'node:path';
import type { FileChange } from '../../../api/diffs.ts';
import { entryKindOf, readLog } from './foreign.ts';
import { bytePath, type Git, quoted } from './git.ts';
import {
  copyIndex,
  type FiltersOf,
  type IsolatedGit,
  openIsolatedGitDir,
  type Setting,
} from './isolated-git-dir.ts';
import type { Repository } from './repository.ts';

/**
 * The file in git's own directory for a worktree that lists the ignored files which were copied into it. They stay
 * ignored even if its `.gitignore` no longer says so: what may be secret must not be archived.
 */
export const INCLUDED = 'cadre-included';

/** A directory with the files of a commit: the main worktree of a repository, or another one. */
export interface CheckoutLocation {
  /** Git's own directory for the checkout. */
  gitDir: string;
  files: string;
}

/** Parts of a checkout that may be gone. */
type PossibleCheckout = { [K in keyof CheckoutLocation]: CheckoutLocation[K] | null };

/** A checkout that git can work on, with an index of cadre's own. */
export interface OpenCheckout extends IsolatedGit {
  /** Names of files that are excluded from the checkout and do not exist. */
  absent: string[];
  /** The entries of the index as `git ls-files -s -z` prints them; null if git was not asked for them. */
  listed: string[] | null;
}

/** Opens a checkout that has the commit `head`. `scratch` is an empty directory. */
export async function openCheckout(
  repository: Repository,
  checkout: PossibleCheckout,
  about: {
    head: string | null;
    scratch: string;
    filters?: FiltersOf;
    settings?: readonly Setting[] | undefined;
  },
): Promise<OpenCheckout> {
  const opened = await openIsolatedGitDir(repository, { ...checkout, ...about });
  return { ...opened, ...(await copyIndex(opened.isolated, checkout.gitDir, about.head)) };
}

/** A file that differs from the index, and whether it exists. */
export interface ChangedFile {
  name: string;
  isThere: boolean;
}

/** How a checkout differs from its commit and its index. Names have one character for each byte. */
export interface CheckoutStatus {
  /** Tracked files that differ from the commit, in the index or on the disk. */
  tracked: string[];
  /** Files that git does not know; copies of included files are ignored instead. */
  untracked: string[];
  /** Files that differ from the index, untracked ones included. */
  changed: ChangedFile[];
  conflicts: string[];
  ignored: string[];
  /** Repositories inside the checkout that git does not know as submodules. */
  nested: string[];
  /** Whether there are more changes than were read. */
  isCut: boolean;
}

export const UNCHANGED: CheckoutStatus = {
  tracked: [],
  untracked: [],
  changed: [],
  conflicts: [],
  ignored: [],
  nested: [],
  isCut: false,
};

const STATUS = [
  'status',
  '--porcelain=v2',
  '-z',
  '--untracked-files=all',
  '--no-renames',
  '--ignore-submodules=all',
];

/** Reads how an open checkout differs from its commit and its index. */
export async function readStatus(
  isolated: Git,
  { gitDir, files }: Pick<PossibleCheckout, 'gitDir'> & Pick<CheckoutLocation, 'files'>,
  { withIgnored = false, maxBytes }: { withIgnored?: boolean; maxBytes?: number } = {},
): Promise<CheckoutStatus> {
  const included = new Set(gitDir === null ? [] : (await readLog(gitDir, INCLUDED)).split('\0'));
  const args = [...STATUS, `--ignored=${withIgnored ? 'matching' : 'no'}`];
  const { text, isCut } =
    maxBytes === undefined
      ? { text: await isolated.bytes(args), isCut: false }
      : await isolated.upTo(maxBytes, args);
  const found: CheckoutStatus = structuredClone({ ...UNCHANGED, isCut });
  // Each entry ends with a NUL, so the rest is empty or was cut off.
  for (const line of text.split('\0').slice(0, -1)) addEntry(found, line, included);
  // A repository may have replaced a tracked file.
  for (const { name } of found.changed)
    if ((await entryKindOf(bytePath(files, `${name}/.git`))) !== null) found.nested.push(name);
  return found;
}

function addEntry(found: CheckoutStatus, line: string, included: ReadonlySet<string>): void {
  const fields = line.split(' ');
  const [kind = '', xy = '', sub = ''] = fields;
  const name = fields.slice({ '1': 8, u: 10 }[kind] ?? 1).join(' ');
  if (kind === '!' || (kind === '?' && included.has(name))) found.ignored.push(name);
  else if (kind === '?' && name.endsWith('/')) found.nested.push(name.slice(0, -1));
  else if (kind === '?') {
    found.untracked.push(name);
    found.changed.push({ name, isThere: true });
  } else {
    found.tracked.push(name);
    if (kind === 'u') found.conflicts.push(name);
    const isThere = kind === 'u' ? fields[6] !== '000000' : xy[1] !== 'D';
    // Submodules are examined separately.
    const isChanged = kind === 'u' || !(sub.startsWith('S') || xy[1] === '.');
    if (isChanged) found.changed.push({ name, isThere });
  }
}

/** Returns index lines for files as they are on the disk, byte for byte, without filters or line-ending conversion. */
export async function entriesOf(
  isolated: Git,
  files: string,
  changed: readonly ChangedFile[],
): Promise<string[]> {
  const scratch = path.dirname(isolated.location.index ?? '');
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
  const names = existing.map(({ from }) => from);
  const shas = await objectIdsOf(isolated, names, ['-w']);
  const zeros = '0'.repeat(shas[0]?.length ?? 40);
  return [
    ...deleted.map((name) => `0 ${zeros}\t${name}`),
    ...existing.map(({ name, mode }, at) => `${mode} ${shas[at]}\t${name}`),
  ];
}

/** Returns the object ids of files; with the flag `-w`, the objects are written. */
export async function objectIdsOf(
  isolated: Git,
  names: readonly string[],
  flags: readonly string[] = [],
): Promise<string[]> {
  if (names.length === 0) return [];
  const paths = names.map((name) => `${quoted(name)}\n`).join('');
  const args = ['hash-object', ...flags, '--no-filters', '--stdin-paths'];
  return (await isolated.bytes(args, paths)).trimEnd().split('\n');
}

/** A file that differs between two trees; names have one character for each byte. */
export type TreeChange = Pick<
  FileChange,
  | 'path'
  | 'old_path'
  | 'status'
  | 'old_mode'
  | 'new_mode'
  | 'old_blob'
  | 'new_blob'
  | 'additions'
  | 'deletions'
>;

/** Returns the files that differ between two commits or trees, if asked with the number of changed lines. */
export async function changesBetween(
  { git }: Pick<Repository, 'git'>,
  [from, to]: readonly [from: string, to: string],
  { withLines = false }: { withLines?: boolean } = {},
): Promise<TreeChange[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', ...(withLines ? ['--numstat'] : [])];
  args.push('--no-renames', '--no-abbrev', '--no-ext-diff', '--no-textconv', from, to);
  return readChanges(await git.bytes(args));
}

const STATUSES: Record<string, FileChange['status']> = {
  A: 'added',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type_changed',
};

/** Reads the output of `git diff-tree --raw --numstat -z`. Entries that were cut off are left out. */
export function readChanges(output: string): TreeChange[] {
  const words = output.split('\0');
  const changes: TreeChange[] = [];
  let at = 0;
  while (words[at]?.startsWith(':')) {
    const [, oldMode = '', newMode = '', oldBlob = '', newBlob = '', letter = ''] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])/.exec(words[at] ?? '') ?? [];
    const isRenamed = letter === 'R' || letter === 'C';
    const [first, second] = [words[at + 1] ?? '', words[at + 2] ?? ''];
    at += isRenamed ? 3 : 2;
    changes.push({
      path: isRenamed ? second : first,
      old_path: isRenamed ? first : null,
      status: STATUSES[letter] ?? 'modified',
      old_mode: unlessZero(oldMode),
      new_mode: unlessZero(newMode),
      old_blob: unlessZero(oldBlob),
      new_blob: unlessZero(newBlob),
      additions: null,
      deletions: null,
    });
  }
  const counts = readCounts(words.slice(at));
  return changes.map((change) => ({ ...change, ...counts.get(change.path) }));
}

type Counts = Pick<TreeChange, 'additions' | 'deletions'>;

/** Reads the lines of numstat: `ADDED TAB DELETED TAB NAME`, or an empty name and two more words for a renamed file. */
function readCounts(words: readonly string[]): Map<string, Counts> {
  const counts = new Map<string, Counts>();
  for (let at = 0; at < words.length; at += 1) {
    const [, added = '', deleted = '', name = ''] =
      /^(\d+|-)\t(\d+|-)\t([\s\S]*)$/.exec(words[at] ?? '') ?? [];
    if (added === '') continue;
    const file = name === '' ? (words[at + 2] ?? '') : name;
    if (name === '') at += 2;
    if (added !== '-') counts.set(file, { additions: Number(added), deletions: Number(deleted) });
  }
  return counts;
}

function unlessZero(text: string): string | null {
  return /^0*$/.test(text) ? null : text;
}
