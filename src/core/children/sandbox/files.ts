import fs from 'node:fs/promises';
import path from 'node:path';
import { openDirectoryBelow, openDirectory } from '../../lib/directory-handle.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { unless } from '../../lib/system-error.ts';

/** A file or directory that exists. */
export interface Found {
  /** The path that was searched, which may contain links. */
  asked: string;
  /** Its path without links. */
  path: string;
  isDirectory: boolean;
  /** The links that lead from `asked` to `path`, each by its path without links. */
  links: readonly string[];
}

export type MountPoint = Pick<Found, 'path' | 'isDirectory'>;

/** `own`: a directory of cadre is mounted there. */
export type MountKind = 'read' | 'write' | 'own' | 'hidden';

export interface Mount {
  at: string;
  source: string;
  kind: MountKind;
  isDirectory: boolean;
}

/** The number of links that the kernel follows in one path. */
const MAX_LINKS = 40;

export async function findExisting(paths: readonly string[]): Promise<Found[]> {
  const found = await Promise.all(paths.map(find));
  return found.filter((one) => one !== null);
}

async function find(named: string): Promise<Found | null> {
  const asked = path.resolve(named);
  try {
    const real = await fs.realpath(asked);
    const isDirectory = (await fs.stat(real)).isDirectory();
    const links = real === asked ? [] : await linksOf(asked);
    return { asked, path: real, isDirectory, links };
  } catch {
    return null;
  }
}

/** Follows a path that exists, and resolves with the links that it contains. */
async function linksOf(file: string): Promise<string[]> {
  const links: string[] = [];
  let at = '/';
  const names = partsOf(file);
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = path.join(at, name);
    const target = await fs.readlink(next).catch(() => null);
    if (target === null) {
      at = next;
      continue;
    }
    links.push(next);
    // A program can change the links during this search.
    if (links.length > MAX_LINKS) break;
    names.unshift(...partsOf(path.resolve(at, target)));
    at = '/';
  }
  return links;
}

function partsOf(file: string): string[] {
  return file.split('/').filter(Boolean);
}

/**
 * Creates mount points below a directory, in directories that sandboxed programs write. A link or a file of the wrong type is
 * removed first, so that no mount follows it. `points` has parents first.
 */
export async function createMountPoints(
  directory: string,
  points: readonly MountPoint[],
): Promise<void> {
  await using top = await openDirectory(directory);
  for (const { path: point, isDirectory } of points) {
    await using parent = await openDirectoryBelow(
      top,
      path.relative(directory, path.dirname(point)),
    );
    if (parent === null) throw new Error(`a program has replaced ${path.dirname(point)}`);
    const at = `${parent.path}/${path.basename(point)}`;
    const now = await fs.lstat(at).catch(() => null);
    const isRight = isDirectory ? now?.isDirectory() : now?.isFile();
    if (isRight) continue;
    if (now) await removeTree(at);
    // Another child of the same session may be first.
    const isFirst = unless('EEXIST');
    if (isDirectory) await fs.mkdir(at, { mode: 0o700 }).catch(isFirst);
    else await fs.writeFile(at, '', { flag: 'wx' }).catch(isFirst);
  }
}

/** A path with the content of a new file; null: a directory. */
export interface PinnedPath {
  path: string;
  text: string | null;
}

/** Creates a path that is missing. */
export async function createMissing({ path: missing, text }: PinnedPath): Promise<void> {
  if (text === null) await fs.mkdir(missing, { recursive: true, mode: 0o700 });
  else await fs.writeFile(missing, text, { flag: 'wx', mode: 0o600 }).catch(unless('EEXIST'));
}

/** Resolves with the file of this machine that a path names in a sandbox, without links; null if the sandbox does not show it. */
export type FileOutside = (named: string) => Promise<string | null>;

/** Returns the function that finds the files of a sandbox with these mounts. */
export function filesOutside(mounts: readonly Mount[]): FileOutside {
  const byPath = new Map(mounts.map((one) => [one.at, one]));
  return (named) => fileOutside(byPath, named);
}

/** Links lead where they lead inside: otherwise a program inside could make the server read any file. */
async function fileOutside(
  mounts: ReadonlyMap<string, Mount>,
  named: string,
): Promise<string | null> {
  let at = '/';
  let links = 0;
  const names = partsOf(path.resolve(named));
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = path.join(at, name);
    const source = sourceOf(mounts, next);
    const target = source === null ? null : await fs.readlink(source).catch(() => null);
    if (target === null) {
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) return null;
    names.unshift(...partsOf(path.resolve(at, target)));
    at = '/';
  }
  return sourceOf(mounts, at);
}

function sourceOf(mounts: ReadonlyMap<string, Mount>, file: string): string | null {
  const mount = nearest(mounts, file);
  if (!mount || mount.kind === 'hidden') return null;
  return path.join(mount.source, path.relative(mount.at, file));
}

/** Returns the mount at a path or nearest above it. */
export function nearest(mounts: ReadonlyMap<string, Mount>, file: string): Mount | undefined {
  const found = mounts.get(file);
  return found ?? (file === '/' ? undefined : nearest(mounts, path.dirname(file)));
}
