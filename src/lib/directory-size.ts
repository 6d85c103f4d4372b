import fs from 'node:fs/promises';
import path from 'node:path';

/** What the files of a directory take, which need not be there; some may go meanwhile. */
export async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await fs.readdir(directory).catch(() => []))
    bytes += await fs.stat(path.join(directory, name)).then(
      ({ size }) => size,
      () => 0,
    );
  return bytes;
}

/** What all files below a directory take, which need not be there; some may go meanwhile. */
export async function treeBytes(directory: string): Promise<number> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    const place = path.join(directory, entry.name);
    if (entry.isDirectory()) bytes += await treeBytes(place);
    else
      bytes += await fs.lstat(place).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return bytes;
}
