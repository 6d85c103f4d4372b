import path from 'node:path';
import fs from 'node:fs/promises';
import type { MergeResult } from '../../../api/worktree-merge.ts';
import type { Setting } from '../git/isolated-git-dir.ts';
import { entryKindOf } from '../git/foreign.ts';
import type { Git } from '../git/git.ts';
import { refsOf, type Repository } from '../git/repository.ts';
import { type Commit, readCommits, subjectOf, toText } from './commits.ts';
import type { Difference } from './checkout.ts';

/** How many commits and files an answer names. */
const COMMITS = 100;
const FILES = 500;
/** How many files that are not committed an answer names. */
export const NAMES = 100;

/** Hooks that git itself would run on the way. */
const HOOKS = [
  'pre-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-commit',
  'pre-merge-commit',
  'post-merge',
  'pre-rebase',
  'post-rewrite',
  'post-checkout',
  'reference-transaction',
];

/** Returns what one commit has beyond another, newest first. */
export async function commitsBeyond(
  git: Git,
  repository: Repository,
  { from, to }: { from: string; to: string },
): Promise<{ commits: MergeResult['commits']; commit_count: number; read: Commit[] }> {
  const range = [to, `^${from}`];
  const location = refsOf(repository);
  const listed = await git.text(location, ['rev-list', `--max-count=${COMMITS}`, ...range]);
  const read = await readCommits(git, repository, listed.split('\n').filter(Boolean));
  const commit_count =
    read.length < COMMITS
      ? read.length
      : Number(await git.text(location, ['rev-list', '--count', ...range]));
  const commits = read.map((one) => ({
    commit: one.id,
    subject: subjectOf(one),
    author: toText(one.author.replace(/ <[^<]*$/, '')),
    authored_at: authoredAt(one.author),
  }));
  return { commits, commit_count, read };
}

/** The latest moment that a Date can have, in Unix ms. */
const LATEST_MS = 8.64e15;

/** Returns the time of the author of a commit, in Unix ms; 0 for one that no calendar has. */
function authoredAt(author: string): number {
  const at = Number(/> (\d+) [-+]\d+$/.exec(author)?.[1] ?? 0) * 1000;
  return at <= LATEST_MS ? at : 0;
}

/** Returns the files in which two trees or commits differ, with how many lines. */
export async function filesBetween(
  git: Git,
  repository: Repository,
  differences: readonly Difference[],
  { from, to }: { from: string; to: string },
): Promise<{ files: MergeResult['files']; file_count: number }> {
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff'];
  const output = await git.bytes(refsOf(repository), [...args, '--no-textconv', from, to]);
  const lines = new Map<string, [number | null, number | null]>();
  for (const field of output.split('\0').filter(Boolean)) {
    const [added = '', deleted = '', name = ''] = splitTwice(field);
    lines.set(name, [
      added === '-' ? null : Number(added),
      deleted === '-' ? null : Number(deleted),
    ]);
  }
  const files = differences.slice(0, FILES).map(({ path: name, change }) => {
    const [lines_added = 0, lines_deleted = 0] = lines.get(name) ?? [];
    return { path: toText(name), change, lines_added, lines_deleted };
  });
  return { files, file_count: differences.length };
}

function splitTwice(field: string): string[] {
  const first = field.indexOf('\t');
  const second = field.indexOf('\t', first + 1);
  return [field.slice(0, first), field.slice(first + 1, second), field.slice(second + 1)];
}

/** Returns the hooks of a repository that git would run, and that do not run here. */
export async function hooksOf(
  { commonDir, root }: Repository,
  settings: readonly Setting[],
  names: readonly string[] = HOOKS,
): Promise<string[]> {
  const named = settings.findLast(([name]) => name === 'core.hookspath')?.[1];
  const directory = named === undefined ? path.join(commonDir, 'hooks') : path.resolve(root, named);
  const found: string[] = [];
  for (const name of names) {
    const file = path.join(directory, name);
    if ((await entryKindOf(file)) === null) continue;
    const mode = await fs.stat(file).then(
      (one) => one.mode,
      () => 0,
    );
    if ((mode & 0o111) !== 0) found.push(name);
  }
  return found;
}

/** Names the first of some things. */
export function firstOf(names: readonly string[]): string {
  const shown = names.slice(0, 10).join(', ');
  return names.length > 10 ? `${shown} and ${names.length - 10} more` : shown;
}
