import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Client } from '../../../client/client.ts';
import { recordsOf } from '../../../client/records-of.ts';
import { notFoundError } from '../../../api/errors.ts';
import { sessions } from '../record-kinds.ts';
import fs from 'node:fs';
import path from 'node:path';
import { readSmallFile } from '../../../core/lib/foreign-file.ts';

/**
 * The session in which something happened last, of those that take a turn and work in the directory `here`, an absolute
 * path; where none does, of those that work in a worktree of its repository. Throws `not_found`.
 */
export async function latestHere(clients: Client, here: string): Promise<Session> {
  // Another machine may have a directory of the same name.
  const client = await clients.first();
  const open: Session[] = [];
  for await (const one of sessions.all(client)) if (!sessions.isPast?.(one)) open.push(one);
  const exactly = latestOf(open.filter(({ cwd }) => cwd === here));
  if (exactly) return exactly;
  const repository = repositoryOf(here);
  const found = repository && latestOf(await inWorktrees(client, repository, open));
  if (found) return found;
  throw notFoundError(
    `there is no open session in ${here}${repository === null ? '' : ' or in a worktree of its repository'}: ` +
      'start a session with cadre run, or pass --session (see cadre sessions list)',
  );
}

/** The sessions that work in a worktree of a repository. */
async function inWorktrees(
  client: Client,
  repo_root: string,
  open: readonly Session[],
): Promise<Session[]> {
  if (open.every(({ worktree_id }) => worktree_id === null)) return [];
  const worktrees = recordsOf((query) =>
    client.ask(endpoints.listWorktrees, { query: { ...query, repo_root } }),
  );
  const ids = new Set(await Array.fromAsync(worktrees, ({ id }) => id));
  return open.filter(({ worktree_id }) => worktree_id !== null && ids.has(worktree_id));
}

function latestOf(all: readonly Session[]): Session | undefined {
  return all.toSorted((a, b) => b.last_activity_at - a.last_activity_at)[0];
}

/**
 * Returns the main worktree of the git repository of a directory, as the records of worktrees name it. Null if the
 * directory is in no repository, or the repository has an unusual layout.
 */
function repositoryOf(directory: string): string | null {
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
    // An unreadable directory has no sessions to continue.
    return null;
  }
}

/** The main worktree by the file that a linked one has in place of the directory `.git`. */
function mainOf(linked: string, text: string): string | null {
  const [, main] = /^gitdir: (.*)\/\.git\/worktrees\/[^/\n]+\n*$/.exec(text) ?? [];
  return main === undefined ? null : fs.realpathSync(path.resolve(linked, main));
}
