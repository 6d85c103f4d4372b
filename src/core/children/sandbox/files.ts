import fs from 'node:fs/promises';
import path from 'node:path';

/** A file or directory that exists. */
export interface Found {
  /** Its path as it was asked for. */
  asked: string;
  /** Its path without links. */
  path: string;
  isDirectory: boolean;
}

/** Whether a path is a directory or in it. */
export function isInside(file: string, directory: string): boolean {
  return file === directory || file.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** Resolves with the files and directories of `paths` that exist. */
export async function findExisting(paths: readonly string[]): Promise<Found[]> {
  const found = await Promise.all(paths.map(find));
  return found.filter((one) => one !== null);
}

async function find(named: string): Promise<Found | null> {
  const asked = path.resolve(named);
  try {
    const real = await fs.realpath(asked);
    return { asked, path: real, isDirectory: (await fs.stat(real)).isDirectory() };
  } catch {
    return null;
  }
}

/** Resolves with a path without links; with the path itself if it does not exist. */
export async function realPath(file: string): Promise<string> {
  return fs.realpath(file).catch(() => path.resolve(file));
}

/**
 * Creates mount points in directories that sandboxed programs write. A link or a file of the wrong type is removed first, so
 * that no mount follows it. `points` has parents first.
 */
export async function createMountPoints(points: readonly Found[]): Promise<void> {
  for (const { path: at, isDirectory } of points) {
    const now = await fs.lstat(at).catch(() => null);
    const isRight = isDirectory ? now?.isDirectory() : now?.isFile();
    if (isRight) continue;
    if (now) await fs.rm(at, { recursive: true });
    await (
      isDirectory ? fs.mkdir(at, { mode: 0o700 }) : fs.writeFile(at, '', { flag: 'wx' })
    ).catch(
      // Another child of the same session may have been first.
      (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      },
    );
  }
}
