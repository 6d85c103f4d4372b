import fs from 'node:fs';
import path from 'node:path';

/** Returns the bytes of all files of a data directory but the lock of its last user, by name, in base64. */
export function bytesIn(directory: string): Record<string, string> {
  const files = fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name !== 'lock' && fs.statSync(path.join(directory, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [name, fs.readFileSync(path.join(directory, name)).toString('base64')]),
  );
}
