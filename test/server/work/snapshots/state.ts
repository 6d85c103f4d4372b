import fs from 'node:fs';
import path from 'node:path';

/** Returns everything in a repository that others could notice: refs, index and objects, with their times. */
export function stateOf(repo: string): string {
  const directory = path.join(repo, '.git');
  return fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const { mtimeMs, size } = fs.lstatSync(path.join(directory, name));
      return `${name} ${mtimeMs} ${size}`;
    })
    .join('\n');
}
