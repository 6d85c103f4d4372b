import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';
import type { Git, Place } from './git.ts';

/** A repository, whichever of its worktrees it was found from. */
export interface Repository {
  /** The directory of its main worktree; the repository itself where it is bare. */
  root: string;
  /** Where its refs and objects are. */
  commonDir: string;
}

/** Where git works on the refs and objects of a repository, and on no files. */
export function refsOf({ commonDir }: Repository): Place {
  return { directory: commonDir, gitDir: commonDir };
}

/** The repository that a directory belongs to. Throws `invalid` where that is none. */
export async function findRepository(git: Git, directory: string): Promise<Repository> {
  if (directory.includes('\0')) throw new AppError('invalid', 'repo_root holds a NUL character');
  if (!fs.existsSync(directory))
    throw new AppError('invalid', `repo_root "${directory}" does not exist`);
  const asked = ['rev-parse', '--path-format=absolute', '--git-common-dir', '--git-dir'];
  const found = await git
    .text({ directory }, [...asked, '--is-bare-repository'])
    .catch((error: unknown) => {
      throw new AppError(
        'invalid',
        `"${directory}" is no git repository that can be used (${(error as Error).message}): name one as repo_root`,
        { cause: error },
      );
    });
  const [commonDir = '', gitDir = '', isBare] = found.split('\n');
  const root =
    gitDir !== commonDir
      ? await mainWorktree(git, commonDir)
      : isBare === 'true'
        ? commonDir
        : ((await git.maybe({ directory }, ['rev-parse', '--show-toplevel'])) ??
          path.dirname(commonDir));
  // By its real path, so that whoever names it in another way waits in the same queue.
  return { root: fs.realpathSync(root), commonDir: fs.realpathSync(commonDir) };
}

/** Where the repository of a record is; null where it is gone. */
export async function knownRepository(git: Git, root: string): Promise<Repository | null> {
  if (!fs.existsSync(root)) return null;
  const repository = await findRepository(git, root).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'invalid') return null;
    throw error;
  });
  // Its directory may be there and belong to another repository by now.
  return repository?.root === root ? repository : null;
}

/** The commit that a ref stands for just now; null where it stands for none. */
export async function commitOf(git: Git, place: Place, ref: string): Promise<string | null> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const sha = await git.maybe(place, args);
  return sha !== null && /^[0-9a-f]{40,64}$/.test(sha) ? sha : null;
}

/** What git keeps for the worktree at `place`, whether that is there or not; null where it knows of none. */
export function adminDirectory({ commonDir }: Repository, place: string): string | null {
  const all = path.join(commonDir, 'worktrees');
  if (!fs.existsSync(all)) return null;
  const wanted = path.join(place, '.git');
  const named = fs.readdirSync(all).find((name) => {
    const file = path.join(all, name, 'gitdir');
    return fs.existsSync(file) && fs.readFileSync(file, 'utf8').trimEnd() === wanted;
  });
  return named === undefined ? null : path.join(all, named);
}

/** The worktrees that have a branch checked out. */
export async function checkoutsOf(
  git: Git,
  repository: Repository,
  branch: string,
): Promise<string[]> {
  const listed = await git.text(refsOf(repository), ['worktree', 'list', '--porcelain']);
  return listed
    .split('\n\n')
    .map((entry) => entry.split('\n'))
    .filter((lines) => lines.includes(`branch refs/heads/${branch}`))
    .map(([first = '']) => first.replace(/^worktree /, ''));
}

async function mainWorktree(git: Git, commonDir: string): Promise<string> {
  const listed = await git.text({ directory: commonDir }, ['worktree', 'list', '--porcelain']);
  return (listed.split('\n')[0] ?? '').replace(/^worktree /, '');
}
