import fs from 'node:fs/promises';
import path from 'node:path';
import { readForeignFile } from '../../../core/lib/foreign-file.ts';
import { INDEX_BYTES } from './isolated-git-dir.ts';
import { entryKindOf } from './foreign.ts';
import type { Git, GitLocation } from './git.ts';
import { bytePath, nulTerminated } from './names.ts';

/**
 * Copies the index, so that no other process writes to it, and clears the flags that hide changes of existing files;
 * returns the names of the files that are excluded from the checkout and do not exist, and its entries as
 * `git ls-files -s -z` prints them, which are null if git was not asked for them.
 */
export async function copyIndex(
  git: Git,
  location: GitLocation,
  { adminDir, head }: { adminDir: string | null; head: string | null },
): Promise<{ absent: string[]; listed: string[] | null }> {
  const isCopied = adminDir !== null && (await copyIndexFile(location, adminDir));
  if (!isCopied) {
    await git.text(location, ['read-tree', head ?? '--empty']);
    return { absent: [], listed: null };
  }
  if (location.workTree === undefined) return { absent: [], listed: null };
  return unhideExisting(git, location, location.workTree);
}

/** Copies the index as it is; returns whether there is one. */
export async function copyIndexFile(location: GitLocation, adminDir: string): Promise<boolean> {
  const copy = location.index ?? '';
  const content = await readForeignFile(adminDir, 'index', { maxBytes: INDEX_BYTES });
  if (content === null) return false;
  // Git trusts an entry that is older than the index, so the copy must not be younger than the original.
  const { mtimeMs } = await fs.lstat(path.join(adminDir, 'index'));
  await fs.writeFile(copy, content);
  await fs.utimes(copy, Math.floor(mtimeMs / 1000), Math.floor(mtimeMs / 1000));
  return true;
}

/** Clears the flags assume-unchanged and skip-worktree of every existing file, so that git compares it. */
async function unhideExisting(
  git: Git,
  location: GitLocation,
  files: string,
): Promise<{ absent: string[]; listed: string[] }> {
  const entries = (await git.bytes(location, ['ls-files', '-v', '-s', '-z']))
    .split('\0')
    .filter(Boolean);
  const absent: string[] = [];
  for (const [flag, pattern] of [
    ['--no-assume-unchanged', /^[a-z] /],
    ['--no-skip-worktree', /^[Ss] /],
  ] as const) {
    const existing: string[] = [];
    for (const entry of entries.filter((one) => pattern.test(one))) {
      const name = entry.slice(entry.indexOf('\t') + 1);
      if ((await entryKindOf(bytePath(files, name))) !== null) existing.push(name);
      else if (flag === '--no-skip-worktree') absent.push(name);
    }
    if (existing.length > 0)
      await git.text(location, ['update-index', flag, '-z', '--stdin'], nulTerminated(existing));
  }
  return { absent, listed: entries.map((entry) => entry.slice(2)) };
}
