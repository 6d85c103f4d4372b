import fs from 'node:fs/promises';
import path from 'node:path';
import { realPath } from '../../lib/paths.ts';
import { findGitDirectories } from './git-directories.ts';

/**
 * Removes the links among the reflogs of a repository, and among the files of its worktree. Git makes none there, and git outside
 * would write to their targets. Does nothing for a directory that is in no linked worktree.
 */
export async function removeGitLinks(root: string): Promise<void> {
  const found = await findGitDirectories(root);
  if (found === null || found.file === null) return;
  for (const directory of [path.join(found.commonDirectory, 'logs/refs'), found.gitDirectory])
    await removeLinks(directory);
}

async function removeLinks(directory: string): Promise<void> {
  // A process that still runs could replace the directory itself by a link.
  if ((await realPath(directory)) !== directory) return;
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const at = path.join(directory, entry.name);
    if (entry.isSymbolicLink()) await fs.rm(at, { force: true });
    else if (entry.isDirectory()) await removeLinks(at);
  }
}
