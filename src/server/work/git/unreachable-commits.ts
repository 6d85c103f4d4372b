import fs from 'node:fs/promises';
import path from 'node:path';
import { entryKindOf, readLog, readNote } from './foreign.ts';
import type { Repository } from './repository.ts';

/** The branches of the other worktrees of a repository; each branch is deleted with its worktree. */
export interface OtherBranches {
  /** All of these branches; a commit that only they reach lives no longer than their worktrees. */
  branches: readonly string[];
  /** The branches whose worktrees are being removed at the moment. */
  leaving: readonly string[];
}

/** The worktree whose commits are examined. */
interface WorktreeRefs {
  repository: Repository;
  branch: string;
  beside: OtherBranches;
  adminDir: string | null;
  /** The commit that is checked out in the main worktree; null: none. */
  main: string | null;
}

/**
 * Returns the tips of the commits that only the worktree keeps. It examines the commits of its branch and HEAD, now and
 * in their logs, and those that an unfinished merge or rebase has put aside; a commit counts if no lasting ref reaches
 * it. Branches of other worktrees do not last, because each is deleted with its worktree. `isAlone` is true if some of
 * these commits are in no other worktree either, or only in one that is being removed.
 */
export async function unreachableCommits(
  refs: WorktreeRefs,
  now: readonly (string | null)[],
): Promise<{ own: string[]; isAlone: boolean }> {
  const { repository, branch, beside, main } = refs;
  const commits = await commitsOf(refs, now);
  // The commit of the main worktree lasts.
  if (commits.every((commit) => commit === main)) return { own: [], isAlone: false };
  const beyond = async (excluded: readonly string[], ...more: string[]) => {
    const keepers = [
      ...(main === null ? [] : [main]),
      ...excluded.map((one) => `--exclude=${one}`),
      '--branches',
      '--tags',
      '--remotes',
    ];
    const args = ['rev-list', ...more, '--stdin', '--not', ...keepers];
    const listed = await repository.git.text(args, `${commits.join('\n')}\n`);
    return listed.split('\n').filter(Boolean);
  };
  const listed = await beyond([branch, ...beside.branches], '--parents');
  const parents = new Set(listed.flatMap((line) => line.split(' ').slice(1)));
  const own = listed.map((line) => line.split(' ')[0] ?? '').filter((sha) => !parents.has(sha));
  if (own.length === 0 || beside.branches.length === 0) return { own, isAlone: own.length > 0 };
  const alone = await beyond([branch, ...beside.leaving], '--max-count=1');
  return { own, isAlone: alone.length > 0 };
}

/** Returns every commit that the worktree's refs, logs and notes name. */
async function commitsOf(
  { repository, branch, adminDir, main }: WorktreeRefs,
  now: readonly (string | null)[],
): Promise<string[]> {
  const { commonDir, git } = repository;
  const log = remembered(await readLog(commonDir, path.join('logs/refs/heads', branch)));
  const named = [...now, ...log];
  if (adminDir !== null) {
    named.push(...remembered(await readLog(adminDir, 'logs/HEAD')), ...(await putAside(adminDir)));
    named.push(...(await ownRefs(repository, adminDir)));
  }
  const shas = [...new Set(named)].flatMap((sha) => (sha && !/^0+$/.test(sha) ? [sha] : []));
  // Git has looked at these already.
  const known = new Set([...now, main]);
  const unknown = shas.filter((sha) => !known.has(sha));
  const commits = shas.filter((sha) => known.has(sha));
  if (unknown.length === 0) return commits;
  const check = ['cat-file', '--batch-check'];
  const checked = await git.text(check, `${unknown.join('\n')}\n`);
  const found = checked
    .split('\n')
    .filter((line) => / commit /.test(line))
    .map((line) => line.split(' ')[0] ?? '');
  return [...commits, ...found];
}

/** Returns the objects that the worktree's own refs point to; git keeps each of them in a file. */
async function ownRefs({ git }: Repository, gitDir: string): Promise<string[]> {
  const refs = ['refs/worktree', 'refs/bisect', 'refs/rewritten'];
  const kinds = await Promise.all(refs.map((one) => entryKindOf(path.join(gitDir, one))));
  if (kinds.every((kind) => kind === null)) return [];
  const list = ['for-each-ref', '--format=%(objectname)', ...refs];
  return (await git.with({ gitDir }).text(list)).split('\n');
}

/** Returns the commit ids in the log of a ref, ignoring any other text. */
function remembered(log: string): string[] {
  return log
    .split('\n')
    .flatMap((line) => line.split(' ', 2))
    .filter((word) => /^[0-9a-f]{40,64}$/.test(word));
}

/** Returns the commits that git notes beside HEAD, for instance during a rebase or merge. */
async function putAside(adminDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const below of ['', 'rebase-merge', 'rebase-apply']) {
    const directory = path.join(adminDir, below);
    if ((await entryKindOf(directory)) !== 'directory') continue;
    for (const entry of await fs.readdir(directory, { withFileTypes: true })) {
      const isNote = entry.isFile() && entry.name !== 'HEAD' && !/^(shared)?index/.test(entry.name);
      const note = isNote ? await readNote(adminDir, path.join(below, entry.name)) : null;
      found.push(...(note?.match(/^[0-9a-f]{40,64}\b/gm) ?? []));
    }
  }
  return found;
}
