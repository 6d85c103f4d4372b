import fs from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '../../../core/lib/replace-file.ts';
import type { LeftOut } from '../../../api/diffs.ts';
import { openIsolatedGitDir, ownSettings, type Setting } from '../git/isolated-git-dir.ts';
import { readLog } from '../git/foreign.ts';
import type { Git, GitLocation } from '../git/git.ts';
import { copyIndex } from '../git/index-copy.ts';
import { bytePath, nulTerminated, quoted } from '../git/names.ts';
import {
  type Changed,
  type Changes,
  entriesOf,
  INCLUDED,
  readStatus,
  STATUS,
} from '../worktrees/worktree-state.ts';
import type { Repository } from '../git/repository.ts';
import type { Checkout } from './checkout.ts';

/** The maximum size of a changed file, and of all changed files together, in bytes. */
const FILE_BYTES = 32 * 1024 * 1024;
const TOTAL_BYTES = 256 * 1024 * 1024;
/** The maximum number of changed files. */
const MAX_FILES = 10_000;
/** The maximum size of git's list of changed files, in bytes. */
const LIST_BYTES = 8 * 1024 * 1024;
/** How often files are read again that vanished while they were read. */
const ATTEMPTS = 3;

/** Attributes of a repository that would run a program, hide a change, or change what is read. */
const NO_ATTRIBUTES = '* -text !eol !crlf -ident !filter !working-tree-encoding !diff\n';

/** Where files are read to, and with what. */
interface Reading {
  scratch: string;
  objects: string;
  /** Directories of more objects that the answer is to have beside its own. */
  lent?: readonly string[];
  filters: FiltersOf;
  signal: AbortSignal;
}

/** The files of a checkout as they are, as a tree among objects of ours. */
export interface FilesNow {
  tree: string;
  /** Where the tree can be read, with the objects of the repository beside it. */
  location: GitLocation;
  leftOut: LeftOut[];
  /** Whether there are more changes than were read. */
  isCut: boolean;
}

/**
 * Reads the files of a checkout, which nothing is written to: changed files and untracked ones as they are on the disk,
 * byte for byte, the others as they are committed. Objects are written to `objects`, a directory of ours; `scratch` is an
 * empty one. Throws GitFailure if `signal` aborts.
 */
export async function readFilesNow(
  git: Git,
  checkout: Checkout,
  about: Reading,
): Promise<FilesNow> {
  for (let attempt = 1; ; attempt += 1) {
    const scratch = path.join(about.scratch, `attempt-${attempt}`);
    await fs.mkdir(scratch, { mode: 0o700 });
    try {
      return await readOnce(git, checkout, { ...about, scratch });
    } catch (error) {
      if (attempt === ATTEMPTS || about.signal.aborted) throw error;
    }
  }
}

/** Returns the filters of a repository that a person has allowed. */
export type FiltersOf = (settings: readonly Setting[]) => Promise<readonly Setting[]>;

async function readOnce(git: Git, checkout: Checkout, about: Reading): Promise<FilesNow> {
  const { repository, adminDir, files, head } = checkout;
  const { scratch, objects, signal, lent = [] } = about;
  const settings = await ownSettings(git, repository, adminDir);
  const filters = await about.filters(settings);
  const isolated = await openIsolatedGitDir({ ...checkout, scratch, settings, filters });
  await copyIndex(git, isolated, { adminDir, head });
  const included = new Set((await readLog(adminDir, INCLUDED)).split('\0'));
  const { changes, isCut } = await changesOf(git, isolated, files, { included, signal });
  await lendObjects(objects, [path.join(repository.commonDir, 'objects'), ...lent]);
  const location = { ...isolated, objects };
  const { taken, leftOut } = await withinLimits(files, changes);
  await ignoreAttributes(isolated);
  if (taken.length > 0) {
    const entries = await entriesOf(git, location, files, taken, signal);
    const update = ['update-index', '-z', '--index-info'];
    await git.text(location, update, nulTerminated(entries), signal);
  }
  const unmerged = changes.conflicts.filter((name) => !taken.some((one) => one.name === name));
  if (unmerged.length > 0)
    await git.text(
      location,
      ['update-index', '-z', '--force-remove', '--stdin'],
      nulTerminated(unmerged),
    );
  const tree = await git.text(location, ['write-tree'], undefined, signal);
  return { tree, location, leftOut, isCut: isCut || taken.length === MAX_FILES };
}

async function changesOf(
  git: Git,
  location: GitLocation,
  files: string,
  { included, signal }: { included: ReadonlySet<string>; signal: AbortSignal },
): Promise<{ changes: Changes; isCut: boolean }> {
  const { text, isCut } = await upTo(
    LIST_BYTES,
    git,
    location,
    [...STATUS, '--ignored=no'],
    signal,
  );
  const entries = text.split('\0');
  // The last entry ends with a NUL too, so what follows is empty or was cut off.
  entries.pop();
  return { changes: await readStatus(entries, files, included), isCut };
}

/** Returns at most so many bytes of the output of a command, and whether there was more. */
export async function upTo(
  maxBytes: number,
  git: Git,
  location: GitLocation,
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ text: string; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const isCut = await git.pieces(location, args, {
    signal,
    take(chunk) {
      chunks.push(chunk);
      bytes += chunk.length;
      return bytes <= maxBytes;
    },
  });
  return { text: Buffer.concat(chunks).toString('latin1'), isCut };
}

/** Chooses the changed files that are read, by their sizes and their number. */
async function withinLimits(
  files: string,
  { changed, nested }: Changes,
): Promise<{ taken: Changed[]; leftOut: LeftOut[] }> {
  const leftOut: LeftOut[] = nested.map((name) => leave(name, 'repository', null));
  const isNested = new Set(nested);
  const taken: Changed[] = [];
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

function leave(name: string, reason: LeftOut['reason'], bytes: number | null): LeftOut {
  return { path: readable(name), reason, bytes };
}

/** Returns a name printed by git, which has one character for each byte, as text. */
export function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

/** Returns where trees can be read whose objects are in a repository and in directories of ours. */
export async function openTrees(
  git: Git,
  repository: Repository,
  { scratch, lent }: { scratch: string; lent: readonly string[] },
): Promise<GitLocation> {
  const settings = await ownSettings(git, repository, null);
  const at = { repository, adminDir: null, files: null, head: null, scratch, settings };
  const isolated = await openIsolatedGitDir(at);
  const objects = path.join(scratch, 'objects');
  await lendObjects(objects, [path.join(repository.commonDir, 'objects'), ...lent]);
  await ignoreAttributes(isolated);
  return { ...isolated, objects };
}

/** From here on, attributes of the repository count for nothing. */
async function ignoreAttributes({ gitDir = '' }: GitLocation): Promise<void> {
  await fs.appendFile(path.join(gitDir, 'info/attributes'), `\n${NO_ATTRIBUTES}`);
}

/** Makes a directory for objects of ours, in which git finds those of others too. */
async function lendObjects(objects: string, from: readonly string[]): Promise<void> {
  await fs.mkdir(path.join(objects, 'info'), { recursive: true, mode: 0o700 });
  const lines = from.map((one) => `${quoted(one)}\n`).join('');
  replaceFile(path.join(objects, 'info/alternates'), lines);
}
