import fs from 'node:fs/promises';
import path from 'node:path';

/** The bytes of the files directly in a directory. A directory or file that is missing, or goes meanwhile, counts 0. */
export async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await fs.readdir(directory).catch(() => []))
    bytes += await fs.stat(path.join(directory, name)).then(
      ({ size }) => size,
      () => 0,
    );
  return bytes;
}

/** Returns the bytes of all files below a directory, at any depth. A missing or removed file counts 0. */
export async function treeBytes(directory: string): Promise<number> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    const file = path.join(directory, entry.name);
    if (entry.isDirectory()) bytes += await treeBytes(file);
    else
      bytes += await fs.lstat(file).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return bytes;
}
