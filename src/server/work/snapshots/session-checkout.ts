import type { Session } from '../../../api/sessions.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { conflictError, isAppError } from '../../../api/errors.ts';
import type { CheckoutLocation } from '../git/changes.ts';
import type { Git } from '../git/git.ts';
import {
  adminDirectory,
  checkoutAround,
  commitOf,
  findRepository,
  recordedRepository,
  type Repository,
} from '../git/repository.ts';

export interface SessionCheckout extends CheckoutLocation {
  repository: Repository;
  /** Git on the refs of the checkout. */
  git: Git;
  /** The commit that is checked out; null: none yet. */
  head: string | null;
}

type Found = Omit<SessionCheckout, 'git' | 'head'>;

/**
 * Finds the checkout that a session works in. Its worktree, if it has one, is found by its record and not by the files
 * in it, which an agent can change. Throws `conflict` if there is none.
 */
export async function checkoutOfSession(
  git: Git,
  { cwd }: Session,
  worktree: Worktree | null,
): Promise<SessionCheckout> {
  const found = worktree ? await recorded(git, worktree) : await around(git, cwd);
  const own = found.repository.git.with({ gitDir: found.gitDir });
  return { ...found, git: own, head: await commitOf(own, 'HEAD') };
}

async function recorded(git: Git, worktree: Worktree): Promise<Found> {
  const repository = await recordedRepository(git, worktree.repo_root);
  const gitDir = repository && (await adminDirectory(repository, worktree.path));
  if (repository === null || gitDir === null)
    throw conflictError(
      `the worktree ${worktree.worktree_name} no longer exists at ${worktree.path}: restore the worktree first`,
    );
  return { repository, gitDir, files: worktree.path };
}

async function around(git: Git, cwd: string): Promise<Found> {
  const repository = await findRepository(git, cwd).catch((error: unknown) => {
    if (!isAppError(error, 'invalid')) throw error;
    throw conflictError(
      `"${cwd}" is not in a usable git repository, so there is nothing to compare`,
      { cause: error },
    );
  });
  const { gitDir = null, files = '' } = (await checkoutAround(cwd)) ?? {};
  if (gitDir !== null) return { repository, gitDir, files };
  throw conflictError(`"${cwd}" is in a bare repository, which has no files`);
}
