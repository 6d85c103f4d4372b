import fs from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '../../../core/lib/replace-file.ts';
import type { SkippedFile } from '../../../api/diffs.ts';
import {
  type ChangedFile,
  type CheckoutStatus,
  entriesOf,
  openCheckout,
  readStatus,
} from '../git/changes.ts';
import { bytePath, type Git, nulTerminated, quotedPath, toText } from '../git/git.ts';
import { type FiltersOf, openIsolatedGitDir } from '../git/isolated-git-dir.ts';
import type { Repository } from '../git/repository.ts';
import type { SessionCheckout } from './session-checkout.ts';

/** The maximum size of a changed file, and of all changed files together, in bytes. */
const FILE_BYTES = 32 * 1024 * 1024;
const TOTAL_BYTES = 256 * 1024 * 1024;
const MAX_FILES = 10_000;
/** The maximum size of git's list of changed files, in bytes. */
const LIST_BYTES = 8 * 1024 * 1024;
/** The maximum number of attempts, because files may disappear while they are read. */
const ATTEMPTS = 3;

/** Attributes of a repository that would run a program, hide a change, or change what is read. */
const NO_ATTRIBUTES = '* -text !eol !crlf -ident !filter !working-tree-encoding !diff\n';

/** The directories and settings of a reading. */
interface Reading {
  scratch: string;
  objects: string;
  /** Further object directories from which the returned git reads. */
  alternates?: readonly string[];
  filters: FiltersOf;
  signal: AbortSignal;
}

/** The current files of a checkout, as a tree. */
interface FilesNow {
  tree: string;
  /** Git that can read the tree, with the objects of the repository beside it. */
  git: Git;
  leftOut: SkippedFile[];
  /** Whether there are more changes than were read. */
  isCut: boolean;
}

/**
 * Reads the files of a checkout, and writes nothing to it: changed and untracked files as they are on the disk, byte for
 * byte, the others as they are committed. Writes objects to the directory `objects`; `scratch` is an empty directory. Both
 * belong to cadre. Throws GitFailure, also if `signal` aborts, and ForeignFileError.
 */
export async function readFilesNow(checkout: SessionCheckout, about: Reading): Promise<FilesNow> {
  for (let attempt = 1; ; attempt += 1) {
    const scratch = path.join(about.scratch, `attempt-${attempt}`);
    await fs.mkdir(scratch, { mode: 0o700 });
    try {
      return await readOnce(checkout, { ...about, scratch });
    } catch (error) {
      if (attempt === ATTEMPTS || about.signal.aborted) throw error;
    }
  }
}

async function readOnce(checkout: SessionCheckout, about: Reading): Promise<FilesNow> {
  const { repository, files, head } = checkout;
  const { scratch, objects, filters, alternates = [] } = about;
  const { isolated } = await openCheckout(repository, checkout, { head, scratch, filters });
  const status = await readStatus(isolated, checkout, { maxBytes: LIST_BYTES });
  const git = await withObjects(repository, isolated, objects, alternates);
  const { taken, leftOut } = await withinLimits(files, status);
  if (taken.length > 0) {
    const entries = await entriesOf(git, files, taken);
    await git.text(['update-index', '-z', '--index-info'], nulTerminated(entries));
  }
  const unmerged = status.conflicts.filter((name) => !taken.some((one) => one.name === name));
  const forget = ['update-index', '-z', '--force-remove', '--stdin'];
  if (unmerged.length > 0) await git.text(forget, nulTerminated(unmerged));
  const tree = await git.text(['write-tree']);
  return { tree, git, leftOut, isCut: status.isCut || taken.length === MAX_FILES };
}

/** Chooses the changed files that are read, by their sizes and their number. */
async function withinLimits(
  files: string,
  { changed, nested }: CheckoutStatus,
): Promise<{ taken: ChangedFile[]; leftOut: SkippedFile[] }> {
  const leftOut: SkippedFile[] = nested.map((name) => leave(name, 'repository', null));
  const isNested = new Set(nested);
  const taken: ChangedFile[] = [];
  let total = 0;
  for (const one of changed) {
    if (isNested.has(one.name)) continue;
    const found = one.isThere ? await fs.lstat(bytePath(files, one.name)).catch(() => null) : null;
    const size = found?.isFile() ? found.size : 0;
    if (size > FILE_BYTES) leftOut.push(leave(one.name, 'large', size));
    else if (taken.length === MAX_FILES || total + size > TOTAL_BYTES)
      leftOut.push(leave(one.name, 'limit', size));
    else {
      taken.push(one);
      total += size;
    }
  }
  return { taken, leftOut };
}

function leave(name: string, reason: SkippedFile['reason'], bytes: number | null): SkippedFile {
  return { path: toText(name), reason, bytes };
}

/** Returns git that can read trees whose objects are in a repository and in object directories of cadre. */
export async function openTrees(
  repository: Repository,
  { scratch, alternates }: { scratch: string; alternates: readonly string[] },
): Promise<Git> {
  const { isolated } = await openIsolatedGitDir(repository, { scratch });
  return withObjects(repository, isolated, path.join(scratch, 'objects'), alternates);
}

/**
 * Returns git with a directory for objects of cadre, beside which it finds the objects of the repository and of the
 * directories `alternates`. From here on, attributes of the repository count for nothing.
 */
async function withObjects(
  { commonDir }: Repository,
  isolated: Git,
  objects: string,
  alternates: readonly string[],
): Promise<Git> {
  await fs.mkdir(path.join(objects, 'info'), { recursive: true, mode: 0o700 });
  const others = [path.join(commonDir, 'objects'), ...alternates];
  const lines = others.map((one) => `${quotedPath(one)}\n`).join('');
  replaceFile(path.join(objects, 'info/alternates'), lines);
  const { location } = isolated;
  await fs.appendFile(path.join(location.gitDir ?? '', 'info/attributes'), `\n${NO_ATTRIBUTES}`);
  return isolated.with({ objects });
}
