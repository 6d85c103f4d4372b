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
