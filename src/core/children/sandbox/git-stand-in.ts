import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { newSecret } from '../../lib/ids.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { unless } from '../../lib/system-error.ts';
import type { MountPoint } from './files.ts';
import type { GitDirectories } from './git-directories.ts';
import { MARK, removeGitLinks } from './link-sweep.ts';
import type { PrivateDirs } from './private-directories.ts';

/**
 * A directory of cadre that is mounted at the common directory of a repository. Programs inside write the stand-in itself,
 * which has no effect outside. Parts of the common directory are mounted in it.
 */
export interface GitStandIn {
  directory: string;
  /** Directories of the common directory that programs inside write. */
  writable: readonly string[];
  /** Files and directories of the common directory that programs inside only read. */
  readable: readonly MountPoint[];
}

/** The name in the stand-in of a read-only view of the common directory. */
export const REAL = 'real';
/**
 * The files that git reads through a chain of six links, so it always reads the current file. For the name of the lock, git
 * follows only five links, so the lock is in the stand-in. Git can delete refs, but not pack them.
 */
const PACKED = chainOf('packed-refs');
/** Git writes settings in place of the last link. They have no effect outside, and the session keeps them. */
const SETTINGS = chainOf('config');
/** The name of the file to which git would write packed refs. A directory there prevents that. */
export const PACKING = `${PACKED.at(-1)}.new`;
/** Settings for git inside: no ref is packed, no setting is written for a new branch, and no file in the read-only `info`. */
export const GIT_SETTINGS: Readonly<Record<string, string>> = {
  'branch.autoSetupMerge': 'false',
  'push.autoSetupRemote': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'repack.updateServerInfo': 'false',
};

/**
 * Directories that are mounted themselves, so that no program inside replaces them by a link. Only directories that git
 * outside never removes can be among them: otherwise a program inside could replace one before the next child mounts it.
 */
const PINNED_DIRECTORIES = ['refs/heads', 'refs/tags', 'refs/remotes', 'objects/pack'];
/** Directories that are created in the common directory, parents first. */
const CREATED = ['refs/cadre', 'logs', 'logs/refs', MARK, 'objects/info', ...PINNED_DIRECTORIES];
/** `logs/HEAD` is of the main worktree, so `logs` is not writable. */
const WRITABLE = ['objects', 'refs', 'logs/refs', ...PINNED_DIRECTORIES];
const WRITABLE_IF_THERE = ['lfs', 'rr-cache'];
const READABLE = ['refs/cadre', MARK, 'objects/info'];
const READABLE_IF_THERE = ['hooks', 'info', 'modules'];
/** The reflog of the main worktree. Git skips a link there. */
const MAIN_REFLOG = 'logs/HEAD';
/** Files in the git directory of a worktree that make git read other directories or settings. */
const PINNED = ['commondir', 'gitdir', 'config.worktree'];
/** Files of the common directory to which the stand-in has links. Git replaces them, so they cannot be mounted. */
const LINKED = ['HEAD', 'index', 'description', 'shallow'];

/**
 * Resolves with the stand-in of a worktree; null if the directory has none. In a main worktree, index and HEAD are beside
 * the settings of the repository, so git has to be read-only there.
 */
export async function standInOf(
  root: string,
  repository: GitDirectories | null,
  own: PrivateDirs,
): Promise<GitStandIn | null> {
  if (repository === null || repository.file === null) return null;
  await removeGitLinks(root);
  const name = createHash('sha256').update(repository.gitDirectory).digest('hex').slice(0, 32);
  return prepareStandIn(repository, path.join(own.git, name));
}

/** Prepares the stand-in of a worktree. Null: a part of the repository cannot be mounted, so all is read-only. */
async function prepareStandIn(
  { commonDirectory, gitDirectory }: GitDirectories,
  directory: string,
): Promise<GitStandIn | null> {
  const parts = await partsOf(commonDirectory, gitDirectory);
  if (parts === null) return null;
  await fs.mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of LINKED) await putLink(directory, name, path.join(REAL, name));
  await putChain(directory, PACKED, path.join(REAL, 'packed-refs'));
  const written = path.join(directory, SETTINGS.at(-1) ?? '');
  if ((await typeOf(written)) !== 'file')
    await putChain(directory, SETTINGS, path.join(REAL, 'config'));
  await linkWorktrees(directory, gitDirectory);
  return { directory, ...parts };
}

/** Returns the names of six links, of which each leads to the next one. An error of git names the last one. */
function chainOf(name: string): string[] {
  return [name, ...[1, 2, 3, 4].map((n) => `${name}-${n}`), `${name}-outside-the-sandbox`];
}

async function putChain(directory: string, chain: readonly string[], target: string) {
  for (const [n, name] of chain.entries()) await putLink(directory, name, chain[n + 1] ?? target);
}

/**
 * Links the git directories of other worktrees, which git inside only reads. Otherwise git would check out their branches a
 * second time, and remove objects that only their HEAD or index names.
 */
async function linkWorktrees(directory: string, gitDirectory: string): Promise<void> {
  const { dir: worktrees, base: own } = path.parse(gitDirectory);
  const links = path.join(directory, 'worktrees');
  await fs.mkdir(links, { recursive: true, mode: 0o700 });
  const others = (await fs.readdir(worktrees)).filter((name) => name !== own);
  const link = (name: string) =>
    fs.symlink(path.join('..', REAL, 'worktrees', name), path.join(links, name));
  await Promise.all(others.map((name) => link(name).catch(unless('EEXIST'))));
}

/** Resolves with the parts that are mounted, and creates those that are missing. Null if one of them is a link or a file. */
async function partsOf(
  commonDirectory: string,
  gitDirectory: string,
): Promise<Pick<GitStandIn, 'writable' | 'readable'> | null> {
  const at = (name: string) => path.join(commonDirectory, name);
  const own = path.relative(commonDirectory, gitDirectory);
  // The refs of such a repository are in one table, of which no part can be read-only.
  if ((await typeOf(at('reftable'))) !== 'none') return null;
  for (const name of ['objects', 'refs', path.dirname(own), own])
    if ((await typeOf(at(name))) !== 'directory') return null;
  for (const name of CREATED) {
    if ((await typeOf(at(name))) === 'none') await fs.mkdir(at(name)).catch(() => undefined);
    if ((await typeOf(at(name))) !== 'directory') return null;
  }
  const settings = path.join(gitDirectory, 'config.worktree');
  if ((await typeOf(settings)) === 'none')
    await fs.writeFile(settings, '', { flag: 'wx' }).catch(() => undefined);
  const pinned = PINNED.map((name) => path.join(own, name));
  for (const name of pinned) if ((await typeOf(at(name))) !== 'file') return null;
  const there = async (names: readonly string[]) => {
    const types = await Promise.all(names.map((name) => typeOf(at(name))));
    return names.filter((_name, index) => types[index] === 'directory');
  };
  const directories = [...READABLE, ...(await there([...READABLE_IF_THERE, `${own}/modules`]))];
  const hasReflog = (await typeOf(at(MAIN_REFLOG))) === 'file';
  const files = [...pinned, ...(hasReflog ? [MAIN_REFLOG] : [])];
  return {
    writable: [...WRITABLE, ...(await there(WRITABLE_IF_THERE)), own],
    readable: [
      ...directories.map((name) => ({ path: name, isDirectory: true })),
      ...files.map((name) => ({ path: name, isDirectory: false })),
    ],
  };
}

async function typeOf(file: string): Promise<'none' | 'file' | 'directory' | 'other'> {
  const found = await fs.lstat(file).catch(() => null);
  if (found === null) return 'none';
  if (found.isDirectory()) return 'directory';
  return found.isFile() ? 'file' : 'other';
}

/** Puts a link in place of anything that a program inside has left there. The draft is where no program inside finds it. */
async function putLink(directory: string, name: string, target: string): Promise<void> {
  const link = path.join(directory, name);
  if ((await fs.readlink(link).catch(() => null)) === target) return;
  const draft = `${directory}.${newSecret()}`;
  await fs.symlink(target, draft);
  await removeTree(link);
  await fs.rename(draft, link);
}
