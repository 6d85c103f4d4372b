import fs from 'node:fs/promises';
import path from 'node:path';
import { kindOf, readLog, readNote } from './foreign.ts';
import type { Git } from './git.ts';
import { commitOf, refsOf, type Repository } from './repository.ts';

/** The branches of the other worktrees of a repository. Each of them goes with its worktree. */
export interface Beside {
  /** All of them: none of them keeps a commit for longer than its worktree lasts. */
  branches: readonly string[];
  /** Those whose worktrees are being removed just now. */
  leaving: readonly string[];
}

/** Of which worktree the commits are wanted. */
interface Whose {
  repository: Repository;
  branch: string;
  beside: Beside;
  adminDir: string | null;
}

/**
 * The ends of the commits that are worktrees' alone: of those that its branch and HEAD stand at or, by their logs, have
 * stood at, and of what a merge or rebase under way has put aside, what no lasting ref leads to. Branches of other
 * worktrees are none: each goes with its worktree. `isAlone` says whether some are in no other worktree either, or
 * only in one that is being removed.
 */
export async function ownCommits(
  git: Git,
  whose: Whose,
  now: readonly (string | null)[],
): Promise<{ own: string[]; isAlone: boolean }> {
  const { repository, branch, beside } = whose;
  const commits = await commitsOf(git, whose, now);
  if (commits.length === 0) return { own: [], isAlone: false };
  const main = await commitOf(git, refsOf(repository), 'HEAD');
  const beyond = async (excluded: readonly string[], ...more: string[]) => {
    const keepers = [
      ...(main === null ? [] : [main]),
      ...excluded.map((one) => `--exclude=${one}`),
      '--branches',
      '--tags',
      '--remotes',
    ];
    const args = ['rev-list', ...more, '--stdin', '--not', ...keepers];
    const listed = await git.text(refsOf(repository), args, `${commits.join('\n')}\n`);
    return listed.split('\n').filter(Boolean);
  };
  const listed = await beyond([branch, ...beside.branches], '--parents');
  const parents = new Set(listed.flatMap((line) => line.split(' ').slice(1)));
  const own = listed.map((line) => line.split(' ')[0] ?? '').filter((sha) => !parents.has(sha));
  if (own.length === 0 || beside.branches.length === 0) return { own, isAlone: own.length > 0 };
  const alone = await beyond([branch, ...beside.leaving], '--max-count=1');
  return { own, isAlone: alone.length > 0 };
}

/** The commits that a worktree knows of, wherever it has noted them. */
async function commitsOf(
  git: Git,
  { repository, branch, adminDir }: Whose,
  now: readonly (string | null)[],
): Promise<string[]> {
  const { commonDir } = repository;
  const log = remembered(await readLog(commonDir, path.join('logs/refs/heads', branch)));
  const named = [...now, ...log];
  if (adminDir !== null) {
    named.push(...remembered(await readLog(adminDir, 'logs/HEAD')), ...(await putAside(adminDir)));
    named.push(...(await ownRefs(git, repository, adminDir)));
  }
  const shas = [...new Set(named)].filter((sha) => sha && !/^0+$/.test(sha));
  if (shas.length === 0) return [];
  const check = ['cat-file', '--batch-check'];
  const checked = await git.text(refsOf(repository), check, `${shas.join('\n')}\n`);
  return checked
    .split('\n')
    .filter((line) => / commit /.test(line))
    .map((line) => line.split(' ')[0] ?? '');
}

/** What the refs of the worktree alone stand for; git keeps each in a file. */
async function ownRefs(git: Git, repository: Repository, adminDir: string): Promise<string[]> {
  const refs = ['refs/worktree', 'refs/bisect', 'refs/rewritten'];
  const kinds = await Promise.all(refs.map((one) => kindOf(path.join(adminDir, one))));
  if (kinds.every((kind) => kind === null)) return [];
  const place = { ...refsOf(repository), gitDir: adminDir };
  const listed = await git.text(place, ['for-each-ref', '--format=%(objectname)', ...refs]);
  return listed.split('\n');
}

/** The commits of a log of a ref. What else somebody wrote there is none. */
function remembered(log: string): string[] {
  return log
    .split('\n')
    .flatMap((line) => line.split(' ', 2))
    .filter((word) => /^[0-9a-f]{40,64}$/.test(word));
}

/** The commits that git notes beside HEAD, also those of a rebase or merge under way. */
async function putAside(adminDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const below of ['', 'rebase-merge', 'rebase-apply']) {
    const directory = path.join(adminDir, below);
    if ((await kindOf(directory)) !== 'directory') continue;
    for (const entry of await fs.readdir(directory, { withFileTypes: true })) {
      const isNote = entry.isFile() && entry.name !== 'HEAD' && !/^(shared)?index/.test(entry.name);
      const note = isNote ? await readNote(adminDir, path.join(below, entry.name)) : null;
      found.push(...(note?.match(/^[0-9a-f]{40,64}\b/gm) ?? []));
    }
  }
  return found;
}
