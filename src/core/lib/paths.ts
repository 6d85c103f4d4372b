import fs from 'node:fs/promises';
import path from 'node:path';

/** Reports whether a path is a directory or in the directory. Both are absolute paths without links. */
export function isInside(file: string, directory: string): boolean {
  return (
    file === directory || file.startsWith(directory.endsWith('/') ? directory : `${directory}/`)
  );
}

/** Resolves with a path without links; if the path does not exist, with its absolute path. */
export function realPath(file: string): Promise<string> {
  return fs.realpath(file).catch(() => path.resolve(file));
}
