import fs from 'node:fs';
import path from 'node:path';

/** Everything of a repository that somebody else could notice: its refs, index and objects, with their times. */
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
