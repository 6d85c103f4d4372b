import fs from 'node:fs/promises';
import path from 'node:path';
import { openCheckout, readStatus } from './changes.ts';
import { assertGitDirectory, entryKindOf } from './foreign.ts';
import { bytePath, type Git, GitFailure } from './git.ts';
import { commitOf, linkOf, type Repository } from './repository.ts';

/**
 * Returns the submodules of a worktree that have changes or commits which no remote has, because an archive cannot hold
 * those. It includes submodules whose files were removed (`git submodule deinit`), because git's directory for the
 * worktree holds their commits. Git does not run in a submodule whose git directory is outside the repository's
 * `modules`; such a submodule is always returned.
 */
export async function unsavedSubmodules(
  git: Git,
  about: { repository: Repository; adminDir: string | null; files: string; scratch: string },
): Promise<string[]> {
  const { repository, adminDir, files } = about;
  const found = new Set<string>();
  const homes = [path.join(repository.commonDir, 'modules')];
  if (adminDir !== null) {
    const own = path.join(adminDir, 'modules');
    homes.push(own);
    for (const module of await modulesBelow(own))
      if (await hasOwnCommits(git, module)) found.add(path.relative(own, module));
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
      const changes = await changesIn(git, { module: link, files: inner, scratch });
      if (changes.isChanged || (await hasOwnCommits(git, link))) found.add(shown);
      await look(changes.inner, inner);
    }
  };
  // Listing an index runs no command of the repository.
  const location = { directory: repository.commonDir, gitDir: adminDir ?? repository.commonDir };
  await look(await linksIn(git, location), files);
  return [...found];
}

/** Returns the names at which an index has a commit of another repository. */
async function linksIn(git: Git, location: Parameters<Git['bytes']>[0]): Promise<string[]> {
  return (await git.bytes(location, ['ls-files', '-s', '-z']))
    .split('\0')
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

async function hasOwnCommits(git: Git, module: string): Promise<boolean> {
  await assertGitDirectory(module);
  const location = { directory: module, gitDir: module };
  const head = await commitOf(git, location, 'HEAD');
  const ends = ['--all', ...(head === null ? [] : [head])];
  const own = await git.maybe(location, ['rev-list', '-n', '1', ...ends, '--not', '--remotes']);
  return own !== '';
}

/** Returns whether files of a submodule differ from its HEAD, and the names of its own submodules. */
async function changesIn(
  git: Git,
  { module, files, scratch }: { module: string; files: string; scratch: string },
): Promise<{ isChanged: boolean; inner: string[] }> {
  await assertGitDirectory(module);
  await fs.mkdir(scratch, { recursive: true });
  const repository: Repository = { root: files, commonDir: module };
  const head = await commitOf(git, { directory: module, gitDir: module }, 'HEAD');
  const place = { gitDir: module, files };
  const { location } = await openCheckout(git, repository, place, { head, scratch });
  // Changes of files that git cannot read count as well.
  const status = await readStatus(git, location, place).catch((error: unknown) => {
    if (error instanceof GitFailure && error.exitCode > 0) return null;
    throw error;
  });
  const isChanged =
    status === null || status.tracked.length + status.untracked.length + status.nested.length > 0;
  return { isChanged, inner: await linksIn(git, location) };
}
