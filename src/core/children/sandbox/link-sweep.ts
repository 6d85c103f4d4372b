import fs from 'node:fs/promises';
import path from 'node:path';
import {
  type DirectoryHandle,
  entryIn,
  openDirectoryBelow,
  openDirectoryIfPresent,
} from '../../lib/directory-handle.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { unless } from '../../lib/system-error.ts';
import { findGitDirectories } from './git-directories.ts';

/** Directories of a common directory in which programs inside write. Git makes no links there. */
const SWEPT = ['refs', 'logs/refs', 'objects'];
/** A directory that a stand-in creates in each repository that programs inside write. */
export const MARK = 'logs/refs/cadre';
/** The number of levels of directories that git may have there. Deeper ones are removed: git would follow links in them. */
const MAX_LEVELS = 64;

/**
 * Removes the links and named pipes that programs inside may have left in the repository of a worktree and in its git
 * directory: git outside would read and write the targets of the links, and wait for ever at a pipe in place of a ref.
 * Does nothing for a directory that is in no linked worktree.
 */
export async function removeGitLinks(root: string): Promise<void> {
  const found = await findGitDirectories(root);
  if (found === null || found.file === null) return;
  const { commonDirectory, gitDirectory } = found;
  await removeLinksBelow(commonDirectory, [...SWEPT, path.relative(commonDirectory, gitDirectory)]);
}

/** Removes them in a repository, if programs inside have ever been able to write it. Its git directory is the common one. */
export async function removeLinksOfRepository(commonDirectory: string): Promise<void> {
  const mark = await fs.lstat(path.join(commonDirectory, MARK)).catch(() => null);
  if (mark?.isDirectory()) await removeLinksBelow(commonDirectory, SWEPT);
}

/** Programs inside may change the directories at the same time, so each is opened without following a link. */
async function removeLinksBelow(directory: string, names: readonly string[]): Promise<void> {
  await using top = await openDirectoryIfPresent(directory);
  // A program that can write a directory above may have replaced it.
  if (top === null || (await fs.realpath(top.path)) !== directory) return;
  for (const name of names) {
    await using held = await openDirectoryBelow(top, name);
    if (held !== null) await removeLinks(held, 1);
  }
}

/** Names are bytes, because a program inside can use a name that is not UTF-8, and git follows such a link, too. */
async function removeLinks(directory: DirectoryHandle, level: number): Promise<void> {
  const options = { withFileTypes: true, encoding: 'buffer' } as const;
  for (const entry of await fs.readdir(directory.path, options)) {
    const at = entryIn(directory, entry.name);
    if (entry.isSymbolicLink() || entry.isFIFO()) {
      if (!(await isSymbolicRef(at))) await fs.unlink(at).catch(unless('ENOENT'));
    } else if (entry.isDirectory()) {
      await using inner = level < MAX_LEVELS ? await openDirectoryIfPresent(at) : null;
      if (inner !== null) await removeLinks(inner, level + 1);
      else await removeTree(at);
    }
  }
}

/** Whether a link is a ref that names another ref, as old versions of git have written them. It leads to no other directory. */
async function isSymbolicRef(link: Buffer): Promise<boolean> {
  const target = await fs.readlink(link).catch(() => '');
  return target.startsWith('refs/') && !target.split('/').includes('..');
}
