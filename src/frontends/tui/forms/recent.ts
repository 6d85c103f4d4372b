import type { Overview } from '../overview.ts';

/** How many directories are offered. */
const MOST = 20;

/**
 * The directories in which sessions work, the one where something happened last first. In place of a worktree it names
 * its repository, because a worktree belongs to the session that works in it.
 */
export function recentDirectories({ sessions, worktrees }: Overview): string[] {
  const latest = [...sessions.values()]
    .map(({ session }) => session)
    .toSorted((a, b) => b.last_activity_at - a.last_activity_at);
  const directories = latest.map(({ cwd, worktree_id }) =>
    worktree_id === null ? cwd : worktrees.get(worktree_id)?.repo_root,
  );
  return [...new Set(directories.filter((one) => one !== undefined))].slice(0, MOST);
}
