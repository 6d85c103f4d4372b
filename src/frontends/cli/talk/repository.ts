import fs from 'node:fs';
import path from 'node:path';
import { readSmallFile } from '../../../core/lib/foreign-file.ts';

/**
 * The main worktree of the git repository that a directory is in, as the records of worktrees name it; null where there
 * is none, and where its layout is not git's usual one.
 */
export function repositoryOf(directory: string): string | null {
  try {
    let at = fs.realpathSync(directory);
    while (!fs.existsSync(path.join(at, '.git'))) {
      if (at === path.dirname(at)) return null;
      at = path.dirname(at);
    }
    const git = path.join(at, '.git');
    return fs.statSync(git).isDirectory()
      ? at
      : mainOf(at, readSmallFile(git, { maxBytes: 8192 }).text);
  } catch {
    // Whatever cannot be read has no sessions to go on with.
    return null;
  }
}

/** The main worktree by the file that a linked one has in place of the directory `.git`. */
function mainOf(linked: string, text: string): string | null {
  const [, main] = /^gitdir: (.*)\/\.git\/worktrees\/[^/\n]+\n*$/.exec(text) ?? [];
  return main === undefined ? null : fs.realpathSync(path.resolve(linked, main));
}
