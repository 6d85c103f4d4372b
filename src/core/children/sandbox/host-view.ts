import fs from 'node:fs/promises';
import path from 'node:path';
import { isInside, realPath } from '../../lib/paths.ts';
import { type Found, findExisting } from './files.ts';
import {
  HOME_SECRETS,
  HOME_READABLE,
  PROC_HIDDEN,
  PROC_READ_ONLY,
  SYSTEM,
  SYSTEM_SECRETS,
  TOP_LEVEL,
} from './host-paths.ts';

export interface HostView {
  home: string;
  dataDirectory: string;
  /** The directory of the worktrees, which may be in the data directory. */
  worktrees: string;
  /** The directories directly below /. `link` is the target of a link. */
  top: readonly { path: string; link: string | null }[];
  system: readonly Found[];
  homeReadable: readonly Found[];
  /** Directories below the home directory that the programs of PATH need. */
  tools: readonly Found[];
  secrets: readonly Found[];
  procReadOnly: readonly Found[];
  procHidden: readonly Found[];
}

export interface HostPaths {
  home: string;
  dataDirectory: string;
  worktrees: string;
  /** The value of PATH. */
  searchPath: string;
}

/** The number of entries of a directory of PATH whose links are followed. */
const MAX_LINKS = 500;
/** The names of directories beside `bin` that show that programs need the directory above. */
const PARTS = ['lib', 'libexec', 'share'];

export async function readHostView(paths: HostPaths): Promise<HostView> {
  const [home, dataDirectory, worktrees] = (await Promise.all(
    [paths.home, paths.dataDirectory, paths.worktrees].map(realPath),
  )) as [string, string, string];
  const inHome = (names: readonly string[]) => names.map((name) => path.join(home, name));
  return {
    home,
    dataDirectory,
    worktrees,
    top: await readTop(),
    system: await findExisting(SYSTEM),
    homeReadable: await findSettings(inHome(HOME_READABLE)),
    tools: await findTools(paths.searchPath, home),
    secrets: await findExisting([...SYSTEM_SECRETS, ...inHome(HOME_SECRETS)]),
    procReadOnly: await findExisting(PROC_READ_ONLY),
    procHidden: await findExisting(PROC_HIDDEN),
  };
}

/** Resolves with the directories of PATH that exist and are not visible in a sandbox. */
export async function hiddenEntries(
  searchPath: string,
  { system, tools, homeReadable }: HostView,
): Promise<string[]> {
  const found = await findExisting(searchPath.split(':').filter((entry) => path.isAbsolute(entry)));
  const shown = [...system, ...tools, ...homeReadable].map((one) => one.path);
  const isHidden = (file: string) => !shown.some((directory) => isInside(file, directory));
  return [...new Set(found.map((one) => one.path))].filter(isHidden);
}

/** Only one link is followed: agents may write the directory to which it leads, and could make a second link lead anywhere. */
async function findSettings(paths: readonly string[]): Promise<Found[]> {
  return (await findExisting(paths)).filter((one) => one.links.length <= 1);
}

async function readTop(): Promise<HostView['top']> {
  const found = await Promise.all(
    TOP_LEVEL.map(async (at) => {
      const there = await fs.lstat(at).catch(() => null);
      if (!there) return null;
      return { path: at, link: there.isSymbolicLink() ? await fs.readlink(at) : null };
    }),
  );
  return found.filter((one) => one !== null);
}

/**
 * Finds the directories that the programs of PATH need, below the home directory. The program
 * `~/.nvm/versions/node/v22/bin/node` needs the directory v22.
 */
async function findTools(searchPath: string, home: string): Promise<Found[]> {
  const asked = searchPath.split(':').filter((entry) => path.isAbsolute(entry));
  const directories = (await findExisting(asked)).map((one) => one.path);
  const ofHome = directories.filter((one) => one !== home && isInside(one, home));
  const found = await Promise.all(ofHome.map((one) => neededBy(one, home)));
  return findExisting([...new Set(found.flat())]);
}

/**
 * Resolves with the directories that a program needs: its own, and the directory of the packages that it belongs to. A
 * directory that contains the home directory is not among them.
 */
export async function directoriesOf(program: string, home: string): Promise<string[]> {
  if (!path.isAbsolute(program)) return [];
  const [real, realHome] = await Promise.all([realPath(program), realPath(home)]);
  const packages = real.indexOf('/node_modules/');
  const own = packages === -1 ? path.dirname(real) : `${real.slice(0, packages)}/node_modules`;
  return [path.dirname(program), own].filter((one) => !isInside(realHome, one));
}

async function neededBy(directory: string, home: string): Promise<string[]> {
  const parent = path.dirname(directory);
  const isShared = parent === home || parent === path.join(home, '.local');
  const isPrefix =
    path.relative(home, directory).startsWith('.') ||
    (await findExisting(PARTS.map((name) => path.join(parent, name)))).length > 0;
  const root = !isShared && isPrefix ? parent : directory;
  const rustup = directory.endsWith('/.cargo/bin') ? [path.join(home, '.rustup')] : [];
  const linked = await linkTargets(directory);
  return [root, ...rustup, ...linked.filter((one) => isInside(one, home) && !isInside(one, root))];
}

/**
 * Resolves with the directories to which links in a directory of PATH lead. Only one link is followed: agents can write the
 * directories to which it leads, and could make a second link lead anywhere.
 */
async function linkTargets(directory: string): Promise<string[]> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink()).slice(0, MAX_LINKS);
  const targets = await Promise.all(
    links.map(async ({ name }) => {
      const link = await fs.readlink(path.join(directory, name)).catch(() => '');
      const target = path.dirname(path.resolve(directory, link));
      return link !== '' && (await realPath(target)) === target ? [target] : [];
    }),
  );
  return targets.flat();
}
