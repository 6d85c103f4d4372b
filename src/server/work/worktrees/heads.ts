import type { Git } from '../git/git.ts';
import { commitsOf, idsOf, refsOf, type Repository } from '../git/repository.ts';

/** What a snapshot of a worktree starts from. */
interface Heads {
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
  git: Git,
  about: { repository: Repository; branch: string; adminDir: string | null; more?: string },
): Promise<Heads> {
  const { repository, branch, adminDir, more: other } = about;
  const { commonDir } = repository;
  const ref = `refs/heads/${branch}`;
  const [own, shared] = adminDir === null ? [ref, 'HEAD'] : ['HEAD', 'main-worktree/HEAD'];
  const location = { directory: commonDir, gitDir: adminDir ?? commonDir };
  const names = [`${ref}^{commit}`, `${own}^{commit}`, `${own}^{tree}`, `${shared}^{commit}`];
  if (other !== undefined) names.push(`${other}^{commit}`);
  const found = await idsOf(git, location, names);
  if (found) {
    const [tip = null, head = null, tree = null, main = null, more = null] = found;
    return { tip, head, tree, main, more };
  }
  // Git's directory for the worktree is damaged; the branch may still be there.
  const refs = [ref, 'HEAD', ...(other === undefined ? [] : [other])];
  const [tip = null, main = null, more = null] = await commitsOf(git, refsOf(repository), refs);
  return { tip, head: null, tree: null, main, more };
}
