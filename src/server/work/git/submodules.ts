import fs from 'node:fs/promises';
import path from 'node:path';
import { openCheckout, readStatus } from './changes.ts';
import { assertGitDirectory, entryKindOf } from './foreign.ts';
import { bytePath, type Git } from './git.ts';
import { orNull } from './git-failure.ts';
import { commitOf, linkOf, type Repository, repositoryAt } from './repository.ts';

/**
 * Returns the submodules of a worktree that have changes or commits which no remote has, because an archive cannot hold
 * those. It includes submodules whose files were removed (`git submodule deinit`), because git's directory for the
 * worktree holds their commits. Git does not run in a submodule whose git directory is outside the repository's
 * `modules`; such a submodule is always returned.
 */
export async function unsavedSubmodules(
  { git, commonDir }: Repository,
  about: { adminDir: string | null; files: string; scratch: string },
): Promise<string[]> {
  const { adminDir, files } = about;
  const found = new Set<string>();
  const homes = [path.join(commonDir, 'modules')];
  if (adminDir !== null) {
    const own = path.join(adminDir, 'modules');
    homes.push(own);
    for (const module of await modulesBelow(own))
      if (await hasOwnCommits(repositoryAt(git, module))) found.add(path.relative(own, module));
  }
  let count = 0;
  const look = async (names: readonly string[], below: string): Promise<void> => {
    for (const name of names) {
      const inner = bytePath(below, name).toString();
      const link = await moduleOf(inner, homes);
      if (link === 'none') continue;
      const shown = path.relative(files, inner);
      if (link === 'foreign') {
        found.add(shown);
        continue;
      }
      count += 1;
      const scratch = path.join(about.scratch, `module-${count}`);
      const module = repositoryAt(git, link);
      const changes = await changesIn(module, inner, scratch);
      if (changes.isChanged || (await hasOwnCommits(module))) found.add(shown);
      await look(changes.inner, inner);
    }
  };
  // Listing an index runs no command of the repository.
  await look(await linksIn(git.with({ gitDir: adminDir ?? commonDir })), files);
  return [...found];
}

/** Returns the names at which an index has a commit of another repository. */
async function linksIn(git: Git): Promise<string[]> {
  return (await git.entries(['ls-files', '-s', '-z']))
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1));
}

/** Returns the git directory of a submodule; `none` if there is none, `foreign` if it is outside `homes`. */
async function moduleOf(inner: string, homes: readonly string[]): Promise<string> {
  const kind = await entryKindOf(path.join(inner, '.git'));
  if (kind === null) return 'none';
  const link = kind === 'file' ? await linkOf(inner) : null;
  const real = link === null ? null : await fs.realpath(link).catch(() => null);
  return real !== null && homes.some((home) => real.startsWith(`${home}/`)) ? real : 'foreign';
}

/** Returns the git directories below a directory, nested submodules included. */
async function modulesBelow(directory: string): Promise<string[]> {
  if ((await entryKindOf(directory)) !== 'directory') return [];
  const found: string[] = [];
  for (const entry of await fs.readdir(directory, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const inner = path.join(directory, entry.name);
    const isModule = (await entryKindOf(path.join(inner, 'HEAD'))) !== null;
    if (isModule) found.push(inner);
    found.push(...(await modulesBelow(isModule ? path.join(inner, 'modules') : inner)));
  }
  return found;
}

async function hasOwnCommits({ git, commonDir }: Repository): Promise<boolean> {
  await assertGitDirectory(commonDir);
  const head = await commitOf(git, 'HEAD');
  const ends = ['--all', ...(head === null ? [] : [head])];
  const own = await git.maybe(['rev-list', '-n', '1', ...ends, '--not', '--remotes']);
  return own !== '';
}

/** Returns whether files of a submodule differ from its HEAD, and the names of its own submodules. */
async function changesIn(
  module: Repository,
  files: string,
  scratch: string,
): Promise<{ isChanged: boolean; inner: string[] }> {
  const gitDir = module.commonDir;
  await assertGitDirectory(gitDir);
  await fs.mkdir(scratch, { recursive: true });
  const head = await commitOf(module.git, 'HEAD');
  const { isolated } = await openCheckout(module, { gitDir, files }, { head, scratch });
  // Changes of files that git cannot read count as well.
  const status = await orNull(readStatus(isolated, { gitDir, files }));
  const isChanged =
    status === null || status.tracked.length + status.untracked.length + status.nested.length > 0;
  return { isChanged, inner: await linksIn(isolated) };
}
