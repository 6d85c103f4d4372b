import fs from 'node:fs/promises';
import path from 'node:path';
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

/** The number of links that the kernel follows in one path. */
export const MAX_LINKS = 40;

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

export function partsOf(file: string): string[] {
  return file.split('/').filter(Boolean);
}

/**
 * Creates mount points in directories that sandboxed programs write. A link or a file of the wrong type is removed first, so
 * that no mount follows it. `points` has parents first.
 */
export async function createMountPoints(points: readonly MountPoint[]): Promise<void> {
  for (const { path: at, isDirectory } of points) {
    const now = await fs.lstat(at).catch(() => null);
    const isRight = isDirectory ? now?.isDirectory() : now?.isFile();
    if (isRight) continue;
    if (now) await fs.rm(at, { recursive: true });
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
