import type { FileChange } from '../../../api/diffs.ts';
import { entryKindOf, readLog } from './foreign.ts';
import { bytePath, type Git } from './git.ts';
import {
  copyIndex,
  type FiltersOf,
  type IsolatedGit,
  openIsolatedGitDir,
  type Setting,
} from './isolated-git-dir.ts';
import { writeBlobs } from './private-copies.ts';
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
  const existing = changed.filter(({ isThere }) => isThere).map(({ name }) => name);
  const blobs = await writeBlobs(isolated, files, existing);
  const blobOf = new Map(existing.map((name, at) => [name, blobs[at] ?? null]));
  const zeros = '0'.repeat(blobs.find((one) => one !== null)?.sha.length ?? 40);
  const [deleted, written]: [string[], string[]] = [[], []];
  for (const { name } of changed) {
    const blob = blobOf.get(name);
    if (blob) written.push(`${blob.mode} ${blob.sha}\t${name}`);
    else deleted.push(`0 ${zeros}\t${name}`);
  }
  // Removals first, because a file may take the place of a directory.
  return [...deleted, ...written];
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
