import fs from 'node:fs/promises';
import path from 'node:path';
import { conflictError, invalidError, isAppError } from '../../../api/errors.ts';
import { removeLinksOfRepository } from '../../../core/children/sandbox/link-sweep.ts';
import { isAboutFile, nullUnlessShort } from '../../../core/lib/system-error.ts';
import { assertGitDirectory, isThere, entryKindOf, readNote } from './foreign.ts';
import { type Git, type GitLocation, toBytes, toText } from './git.ts';
import { GitFailure, orNull } from './git-failure.ts';

/** A repository; the same for each of its worktrees. */
export interface Repository {
  /** The directory of its main worktree; of a bare repository, its own. */
  root: string;
  /** The real path of the directory with its refs and objects; work on them is serialised by this path. */
  commonDir: string;
  /** Git on its refs and objects, which touches no files. */
  git: Git;
}

/** Returns the repository of a common directory. Without `root`, no path of its main worktree is known. */
export function repositoryAt(git: Git, commonDir: string, root = ''): Repository {
  return { root, commonDir, git: git.at({ directory: commonDir, gitDir: commonDir }) };
}

/**
 * Finds the repository that a directory belongs to. A bare repository has to be named itself (`isNamed`): one that
 * merely lies among the files of another was put there by the author of those files. Throws `invalid` if there is no
 * usable repository.
 */
export async function findRepository(
  git: Git,
  directory: string,
  { isNamed = false }: { isNamed?: boolean } = {},
): Promise<Repository> {
  if (directory.includes('\0')) throw invalidError('repo_root contains a NUL character');
  if (!(await isThere(directory))) throw invalidError(`repo_root "${directory}" does not exist`);
  try {
    const real = await fs.realpath(directory);
    await assertOpenable(real);
    const location: GitLocation = {
      directory: real,
      mayBeBare: isNamed && (await looksBare(real)),
    };
    const at = git.at(location);
    const ask = async (...what: string[]) =>
      withoutLineEnd(await at.bytes(['rev-parse', '--path-format=absolute', ...what]));
    // The path may contain line breaks, so the last one separates the two outputs.
    const output = await ask('--git-common-dir', '--is-bare-repository');
    const end = output.lastIndexOf('\n');
    const commonDir = await fs.realpath(toText(output.slice(0, end)));
    await assertGitDirectory(commonDir);
    if (output.slice(end + 1) === 'true' && !location.mayBeBare) throw new GitFailure(128, BARE);
    // Programs in a sandbox may have left them for git to follow.
    await removeLinksOfRepository(commonDir);
    const root = await rootOf(commonDir, ask);
    return repositoryAt(git, commonDir, await fs.realpath(root));
  } catch (error) {
    if (!(error instanceof GitFailure) && !isAboutFile(error)) throw error;
    throw invalidError(
      `"${directory}" is not a usable git repository (${hintOf(error as Error)}): choose a directory in a git repository`,
      { cause: error },
    );
  }
}

const BARE = 'a bare repository has to be named by its own directory';

/** Returns the directory of the main worktree; of a repository without one, its own. */
async function rootOf(commonDir: string, ask: (what: string) => Promise<string>): Promise<string> {
  if (path.basename(commonDir) === '.git') return path.dirname(commonDir);
  const gitDir = toText(await ask('--git-dir'));
  const isMain = (await fs.realpath(gitDir)) === commonDir;
  const top = isMain ? await orNull(ask('--show-toplevel')) : null;
  return top === null ? commonDir : toText(top);
}

/** Returns git's message, or BARE if it refused a bare repository: git's own addresses a person at a shell. */
function hintOf({ message }: Error): string {
  return /safe\.bareRepository/.test(message) ? BARE : message;
}

/** Returns the repository of a record; null if it is gone. Throws `conflict` if it exists and cannot be used. */
export async function recordedRepository(git: Git, root: string): Promise<Repository | null> {
  if (!(await isThere(root))) return null;
  const repository = await findRepository(git, root, { isNamed: true }).catch((error: unknown) => {
    if (!isAppError(error, 'invalid')) throw error;
    const { cause } = error;
    if (cause instanceof GitFailure && !/not a git repository/.test(cause.message))
      throw conflictError(`${root}: ${cause.message}`, { cause });
    return null;
  });
  // Another repository may have taken its directory.
  return repository?.root === root ? repository : null;
}

/** Returns the commit that a ref points to; null if it points to none. */
export async function commitOf(git: Git, ref: string): Promise<string | null> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const sha = await git.maybe(args);
  return sha !== null && /^[0-9a-f]{40,64}$/.test(sha) ? sha : null;
}

/** Returns the repository of a worktree. Throws `conflict` if it is gone. */
export async function repositoryOf(
  git: Git,
  { repo_root }: { repo_root: string },
): Promise<Repository> {
  const repository = await recordedRepository(git, repo_root);
  if (repository) return repository;
  throw conflictError(
    `the repository ${repo_root} of the worktree no longer exists: restore the repository`,
  );
}

/** Whether a commit has all that another one has. */
export async function contains(
  { git }: Repository,
  commit: string,
  other: string,
): Promise<boolean> {
  return (await git.maybe(['merge-base', '--is-ancestor', other, commit])) !== null;
}

/**
 * Returns the commits that these refs point to, null for one that points to none. Refs are of one line. This is one
 * process of git for all of them, unless one is damaged, which ends it: then each is asked for alone.
 */
export async function commitsOf(git: Git, refs: readonly string[]): Promise<(string | null)[]> {
  const names = refs.map((ref) => `${ref}^{commit}`);
  return (await idsOf(git, names)) ?? Promise.all(refs.map((ref) => commitOf(git, ref)));
}

/**
 * Returns the ids of the objects with these names, null for a name without an object; null if git cannot
 * work at that location. Names are of one line. This is one process of git for all of them.
 */
export async function idsOf(git: Git, names: readonly string[]): Promise<(string | null)[] | null> {
  const check = ['cat-file', '--batch-check=%(objectname)'];
  const output = await git.maybe(check, toBytes(`${names.join('\n')}\n`));
  return output?.split('\n').map((line) => (/^[0-9a-f]{40,64}$/.test(line) ? line : null)) ?? null;
}

/**
 * Returns git's own directory for the worktree registered at `worktreePath`, whether its files exist or not; null if
 * git has no such worktree. `files` is the directory that has its files at the moment.
 */
export async function adminDirectory(
  repository: Repository,
  worktreePath: string,
  files = worktreePath,
): Promise<string | null> {
  const all = path.join(repository.commonDir, 'worktrees');
  const gitFile = path.join(worktreePath, '.git');
  const isOf = async (name: string) =>
    withoutLineEnd(
      (await readNote(path.join(all, name), 'gitdir').catch(nullUnlessShort)) ?? '',
    ) === gitFile;
  const linked = await linkOf(files).catch(nullUnlessShort);
  if (linked !== null && path.dirname(linked) === all && (await isOf(path.basename(linked))))
    return linked;
  for (const directory of await adminDirectories(repository))
    if (await isOf(path.basename(directory))) return directory;
  return null;
}

/**
 * Returns the checkout that contains a directory; null if there is none, as in a bare repository. Its git directory is
 * null if `.git` names none.
 */
export async function checkoutAround(
  directory: string,
): Promise<{ files: string; gitDir: string | null } | null> {
  const files = await fs.realpath(directory);
  const own = path.join(files, '.git');
  const kind = await entryKindOf(own);
  if (kind === 'directory') return { files, gitDir: own };
  if (kind !== null) return { files, gitDir: kind === 'file' ? await linkOf(files) : null };
  return files === path.dirname(files) ? null : checkoutAround(path.dirname(files));
}

/** Returns the path that the `.git` file of a directory names; null if there is no such file. */
export async function linkOf(directory: string): Promise<string | null> {
  const content = await readNote(directory, '.git');
  const target = /^gitdir: ([\s\S]+)$/.exec(content ?? '')?.[1];
  return target === undefined ? null : path.resolve(directory, withoutLineEnd(target));
}

/** Returns the git directories, of worktrees and of the repository itself, whose HEAD is at a branch. */
export async function checkoutsOf(repository: Repository, branch: string): Promise<string[]> {
  const found: string[] = [];
  for (const directory of [repository.commonDir, ...(await adminDirectories(repository))])
    if ((await refIn(directory)) === `refs/heads/${branch}`) found.push(directory);
  return found;
}

/**
 * Returns the branches checked out in the other worktrees whose paths have the same parent name as `worktreePath`:
 * those that this server, or another one with a different root, has made of the repository.
 */
export async function branchesAlike(
  repository: Repository,
  worktreePath: string,
): Promise<string[]> {
  const group = path.basename(path.dirname(worktreePath));
  const found: string[] = [];
  for (const directory of await adminDirectories(repository)) {
    const link = withoutLineEnd((await readNote(directory, 'gitdir').catch(nullUnlessShort)) ?? '');
    const worktree = path.dirname(link);
    if (worktree === worktreePath || path.basename(path.dirname(worktree)) !== group) continue;
    const ref = await refIn(directory).catch(nullUnlessShort);
    if (ref?.startsWith('refs/heads/')) found.push(ref.slice('refs/heads/'.length));
  }
  return found;
}

/** Returns git's own directories for the worktrees beside the main one. */
export async function adminDirectories({ commonDir }: Repository): Promise<string[]> {
  const all = path.join(commonDir, 'worktrees');
  const names = (await entryKindOf(all)) === 'directory' ? await fs.readdir(all) : [];
  return names.map((name) => path.join(all, name));
}

/** Returns the ref that the HEAD of a git directory names, or null. Throws `conflict` if HEAD is not a regular file. */
export async function refIn(gitDir: string): Promise<string | null> {
  return /^ref: (.+)$/m.exec((await readNote(gitDir, 'HEAD')) ?? '')?.[1] ?? null;
}

/**
 * Returns the branch that is checked out at a location; null for a detached HEAD. It is the name of the branch, also
 * where a tag has the same: there git's short names begin with `heads/`.
 */
export async function branchAt(git: Git): Promise<string | null> {
  const noted = await refIn(git.location.gitDir ?? '').catch(nullUnlessShort);
  // Where refs are in a table instead of files, HEAD names refs/heads/.invalid, and git has to be asked.
  const isNoted = noted !== null && noted !== 'refs/heads/.invalid';
  const ref = isNoted ? noted : await git.maybe(['symbolic-ref', '--quiet', 'HEAD']);
  return ref?.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null;
}

/** Throws `conflict` if git would block while it looks for the repository of a directory. */
async function assertOpenable(directory: string): Promise<void> {
  const link = path.join(directory, '.git');
  const kind = await entryKindOf(link);
  if (kind === 'other') throw conflictError(`the path ${link} is not a regular file`);
  if (kind === null && directory !== path.dirname(directory))
    return assertOpenable(path.dirname(directory));
  if (kind === 'directory') await assertGitDirectory(link);
  const linked = kind === 'file' ? await linkOf(directory) : null;
  if (linked !== null) await assertGitDirectory(linked);
}

async function looksBare(directory: string): Promise<boolean> {
  if ((await entryKindOf(path.join(directory, '.git'))) !== null) return false;
  const kinds = await Promise.all(
    ['HEAD', 'objects', 'refs'].map((name) => entryKindOf(path.join(directory, name))),
  );
  if (kinds[0] !== 'file' || kinds[1] === null || kinds[2] === null) return false;
  await assertGitDirectory(directory);
  return true;
}

/** Removes the line break at the end only, because a path may contain others. */
function withoutLineEnd(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

/** The commits of a worktree and its repository. */
export interface Heads {
  /** The commit that the worktree's own branch points to; null: no such branch. */
  tip: string | null;
  head: string | null;
  /** The tree of `head`. */
  tree: string | null;
  /** The commit that is checked out in the main worktree; null: none. */
  main: string | null;
  /** The commit that `more` points to; null: none. */
  more: string | null;
}

/**
 * Asks git for all of them at once. Without `adminDir`, git's own directory for the worktree, its HEAD is its branch.
 * `more` is another ref of the repository.
 */
export async function readHeads(
  { git, commonDir }: Repository,
  about: { branch: string; adminDir: string | null; more?: string },
): Promise<Heads> {
  const { branch, adminDir, more: other } = about;
  const ref = `refs/heads/${branch}`;
  const [own, shared] = adminDir === null ? [ref, 'HEAD'] : ['HEAD', 'main-worktree/HEAD'];
  const names = [`${ref}^{commit}`, `${own}^{commit}`, `${own}^{tree}`, `${shared}^{commit}`];
  if (other !== undefined) names.push(`${other}^{commit}`);
  const found = await idsOf(git.with({ gitDir: adminDir ?? commonDir }), names);
  if (found) {
    const [tip = null, head = null, tree = null, main = null, more = null] = found;
    return { tip, head, tree, main, more };
  }
  // Git's directory for the worktree is damaged; the branch may still be there.
  const refs = [ref, 'HEAD', ...(other === undefined ? [] : [other])];
  const [tip = null, main = null, more = null] = await commitsOf(git, refs);
  return { tip, head: null, tree: null, main, more };
}
