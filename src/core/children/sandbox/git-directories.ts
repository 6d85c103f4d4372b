import fs from 'node:fs/promises';
import path from 'node:path';
import { readForeignFile } from '../../lib/foreign-file.ts';
import { isInside, realPath } from '../../lib/paths.ts';
import { nullUnlessShort } from '../../lib/system-error.ts';

/** The git directories of a repository. A child must not change their settings: git outside runs the programs that they name. */
export interface GitDirectories {
  /** The git directory that all worktrees of the repository share. */
  commonDirectory: string;
  /** The git directory of this worktree. In a main worktree, it is the common directory. */
  gitDirectory: string;
  /** The file `.git` of a worktree, if it is in the root. Null in a main worktree. */
  file: string | null;
}

/** The maximum size of a file that git writes a path to, in bytes. */
const MAX_BYTES = 8192;

/**
 * Resolves with the git directories of a directory, without running git. Null if it is not in a repository. A file `.git` is
 * followed only if the git directory that it names points back to it: otherwise a repository could have any directory shown.
 */
export async function findGitDirectories(directory: string): Promise<GitDirectories | null> {
  const top = await findTop(directory);
  if (top === null) return null;
  const file = path.join(top, '.git');
  const named = /^gitdir: (.+)/.exec(await readLine(top, '.git'))?.[1];
  if (named === undefined)
    return (await fs.lstat(file)).isDirectory()
      ? { commonDirectory: file, gitDirectory: file, file: null }
      : null;
  const gitDirectory = await realPath(path.resolve(top, named));
  const commonDirectory = path.dirname(path.dirname(gitDirectory));
  const [back, common] = await Promise.all([
    readLine(gitDirectory, 'gitdir'),
    readLine(gitDirectory, 'commondir'),
  ]);
  const pointsBack =
    path.basename(path.dirname(gitDirectory)) === 'worktrees' &&
    back !== '' &&
    (await realPath(path.resolve(gitDirectory, back))) === file &&
    (await realPath(path.resolve(gitDirectory, common))) === commonDirectory;
  if (!pointsBack) return null;
  return { commonDirectory, gitDirectory, file: isInside(file, directory) ? file : null };
}

async function findTop(directory: string): Promise<string | null> {
  for (let at = directory; ; at = path.dirname(at)) {
    const found = await fs.lstat(path.join(at, '.git')).catch(() => null);
    if (found?.isFile() || found?.isDirectory()) return at;
    if (at === '/') return null;
  }
}

/** Resolves with a file of one line; empty if it cannot be read. Without a free descriptor, that is not known. */
async function readLine(directory: string, name: string): Promise<string> {
  const content = await readForeignFile(directory, name, { maxBytes: MAX_BYTES }).catch(
    nullUnlessShort,
  );
  return content?.toString('utf8').trim() ?? '';
}
