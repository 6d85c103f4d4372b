import type { Git } from '../git/git.ts';
import { findRepository } from '../git/repository.ts';
import { branchFor } from './worktree.ts';

/**
 * Returns the repository and branch that a worktree of this name would have, made from a directory. Throws `invalid`.
 */
export async function previewWorktree(
  git: Git,
  { directory, worktree_name }: { directory: string; worktree_name: string },
): Promise<{ repo_root: string; worktree_name: string; branch: string }> {
  const { root } = await findRepository(git, directory);
  const branch = branchFor({ worktree_name, source_session_id: '' });
  return { repo_root: root, worktree_name, branch };
}
