import { createHash } from 'node:crypto';
import path from 'node:path';
import { AppError } from '../errors.ts';
import type { Setting } from './bench.ts';
import type { Git } from './git.ts';
import { commitOf, refsOf, type Repository } from './repository.ts';

/** The maximum size of an init script, in bytes. */
const SCRIPT_BYTES = 1024 * 1024;

/** The init script of a repository. */
export interface Script {
  content: Buffer;
  sha256: string;
  isExecutable: boolean;
}

/**
 * Returns the init script as committed at the HEAD of the main worktree; no other copy of it is ever run. Null if there
 * is none. Throws `conflict` if the path is not a regular file, or if it is larger than 1 MiB.
 */
export async function committedScript(
  git: Git,
  repository: Repository,
  script: string,
): Promise<Script | null> {
  const name = path.posix.normalize(script);
  if (name.startsWith('/') || name.startsWith('..'))
    throw new AppError(
      'conflict',
      `worktrees.init_script_path is "${script}": name a path inside the repository, or set run_init_script to false`,
    );
  const location = refsOf(repository);
  const head = await commitOf(git, location, 'HEAD');
  if (head === null) return null;
  const entry = await git.bytes(location, ['ls-tree', '-z', '--full-tree', '-l', head, '--', name]);
  const [, mode, type, sha, size] = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t/.exec(entry) ?? [];
  if (sha === undefined) return null;
  const refuse = (why: string) =>
    new AppError(
      'conflict',
      `the init script ${name} ${why}: fix it, or set run_init_script to false`,
    );
  if (type !== 'blob' || mode === '120000') throw refuse('is not committed as a file');
  if (Number(size) > SCRIPT_BYTES)
    throw refuse(`has ${size} bytes, at most ${SCRIPT_BYTES} are run`);
  const content = Buffer.from(await git.bytes(location, ['cat-file', 'blob', sha]), 'latin1');
  return { content, sha256: sha256Of(content), isExecutable: mode === '100755' };
}

/** Formats the filters of a repository as one text: people see it, and its digest is what they allow. */
export function filtersText(filters: readonly Setting[]): string {
  return filters
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
    .toSorted()
    .join('');
}

/** Returns the SHA-256 digest of content in hexadecimal; content is allowed by this digest. */
export function sha256Of(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
