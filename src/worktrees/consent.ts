import { createHash } from 'node:crypto';
import path from 'node:path';
import { AppError } from '../errors.ts';
import type { Setting } from './bench.ts';
import type { Git } from './git.ts';
import { commitOf, refsOf, type Repository } from './repository.ts';

/** What an init script may have in bytes. */
const SCRIPT_BYTES = 1024 * 1024;

/** The init script of a repository. */
export interface Script {
  content: Buffer;
  sha256: string;
  isExecutable: boolean;
}

/**
 * The init script as it is committed at the HEAD of the main worktree: no other copy of it is ever run. Null where
 * there is none. Throws `conflict` for what is no file, or has more than a mebibyte.
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
  const place = refsOf(repository);
  const head = await commitOf(git, place, 'HEAD');
  if (head === null) return null;
  const entry = await git.bytes(place, ['ls-tree', '-z', '--full-tree', '-l', head, '--', name]);
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
  const content = Buffer.from(await git.bytes(place, ['cat-file', 'blob', sha]), 'latin1');
  return { content, sha256: sha256Of(content), isExecutable: mode === '100755' };
}

/** The filters that the settings of a repository name, as people are shown them, and as they are allowed. */
export function filtersText(filters: readonly Setting[]): string {
  return filters
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
    .toSorted()
    .join('');
}

/** By what content is allowed: the digest of its bytes, in hexadecimal. */
export function sha256Of(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
