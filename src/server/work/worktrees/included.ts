import fs from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Worktree } from '../../../api/worktrees.ts';
import { type AppError, conflictError } from '../../../api/errors.ts';
import {
  createForeignFile,
  ForeignFileError,
  openForeignFile,
} from '../../../core/lib/foreign-file.ts';
import { type CheckoutLocation, INCLUDED, openCheckout } from '../git/changes.ts';
import type { Committed } from '../git/consent.ts';
import { assertFiles, entryKindOf } from '../git/foreign.ts';
import { bytePath, type Git, nulTerminated } from '../git/git.ts';
import { GitFailure } from '../git/git-failure.ts';
import { adminDirectory, type Repository } from '../git/repository.ts';

/** The maximum number of files that a worktree gets, and of their bytes together. */
const MAX_FILES = 1000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Copies the files of the main worktree that `patterns` match and that git ignores, there and in the new worktree.
 * Links are not followed and nothing is replaced; permissions are kept, without setuid, setgid and sticky bit. `scratch`
 * is an empty directory of cadre's. Throws `conflict` for more than 1,000 files or 64 MiB, because a part of
 * them would be useless.
 */
export async function copyIncluded(
  repository: Repository,
  about: { worktree: Worktree; patterns: Committed; scratch: string },
): Promise<Worktree['included']> {
  const { worktree, patterns, scratch } = about;
  const adminDir = await adminDirectory(repository, worktree.path);
  if (adminDir === null)
    throw conflictError(`${worktree.path} was removed during its creation: try again`, {
      isTemporary: true,
    });
  const { root } = repository;
  await assertFiles(root);
  const open = async (name: string, checkout: CheckoutLocation) => {
    const own = path.join(scratch, name);
    await fs.mkdir(own, { mode: 0o700 });
    return (await openCheckout(repository, checkout, { head: null, scratch: own })).isolated;
  };
  const main = await open('main', { gitDir: repository.commonDir, files: root });
  const ignored = await ignoredAt(main, await matching(main, patterns, scratch));
  if (ignored.length > MAX_FILES) throw tooMuch(`${ignored.length} files`);
  const made = await open('made', { gitDir: adminDir, files: worktree.path });
  const names = await ignoredAt(made, await reachable(worktree.path, ignored));
  await fs.writeFile(path.join(adminDir, INCLUDED), nulTerminated(names), 'latin1');
  let files = 0;
  let bytes = 0;
  for (const name of names) {
    const copied = await copy(root, worktree.path, name, MAX_BYTES - bytes);
    if (copied === null) continue;
    files += 1;
    bytes += copied;
  }
  const skipped = ignored.length - files;
  const { sha256 } = patterns;
  return { status: 'completed', files, bytes, skipped, sha256, how_to_allow: null };
}

/** Returns the untracked files that the patterns match. Git does not look into repositories inside. */
async function matching(git: Git, { content }: Committed, scratch: string): Promise<string[]> {
  const file = path.join(scratch, 'patterns');
  await fs.writeFile(file, content);
  const list = ['ls-files', '-z', '--others', '--ignored', `--exclude-from=${file}`];
  return (await git.entries(list)).filter((name) => !name.endsWith('/'));
}

/** Returns the names that git ignores in a checkout. A tracked file is not ignored. */
async function ignoredAt(git: Git, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  // The command knows no literal names; with this prefix none of them is anything else.
  const input = nulTerminated(names.map((name) => `./${name}`));
  const check = ['--no-literal-pathspecs', 'check-ignore', '-z', '--stdin'];
  const found = await git.entries(check, input).catch((error: unknown) => {
    // It exits with 1 if none is ignored.
    if (error instanceof GitFailure && error.exitCode === 1) return [];
    throw error;
  });
  return found.map((name) => name.slice(2));
}

/** Returns the names that lead through no symbolic link of a checkout; git refuses to be asked about the others. */
async function reachable(files: string, names: readonly string[]): Promise<string[]> {
  const links = new Map<string, boolean>();
  const isBehindLink = async (name: string): Promise<boolean> => {
    const directory = path.posix.dirname(name);
    if (directory === '.') return false;
    const known = links.get(directory);
    if (known !== undefined) return known;
    const isLink =
      (await isBehindLink(directory)) || (await entryKindOf(bytePath(files, directory))) === 'link';
    links.set(directory, isLink);
    return isLink;
  };
  const found: string[] = [];
  for (const name of names) if (!(await isBehindLink(name))) found.push(name);
  return found;
}

/** Copies one file and returns its size in bytes; null if it is left out. */
async function copy(
  from: string,
  to: string,
  bytesOfName: string,
  left: number,
): Promise<number | null> {
  const bytes = Buffer.from(bytesOfName, 'latin1');
  const name = bytes.toString('utf8');
  if (!Buffer.from(name).equals(bytes)) return null;
  const opened = await unlessForeign(openForeignFile(from, name));
  if (opened === null) return null;
  await using source = opened.handle;
  const { size } = opened;
  if (size > left) throw tooMuch(`more than ${MAX_BYTES} bytes`);
  const target = await unlessForeign(createForeignFile(to, name));
  if (target === null) return null;
  await using made = target;
  await made.chmod((await source.stat()).mode & 0o777);
  // Only so many bytes are read, because the file may grow meanwhile.
  if (size > 0)
    await pipeline(source.createReadStream({ start: 0, end: size - 1 }), made.createWriteStream());
  return size;
}

/** Treats a link, a file behind a link and a special file like a missing file. */
async function unlessForeign<T>(work: Promise<T | null>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (error instanceof ForeignFileError) return null;
    throw error;
  });
}

function tooMuch(found: string): AppError {
  return conflictError(
    `the file .worktreeinclude matches too much (${found}; maximum: ${MAX_FILES} files and ${MAX_BYTES / 1024 / 1024} MiB): match fewer files, or set copy_included to false`,
  );
}
