import { createHash } from 'node:crypto';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { shellWord } from '../lib/shell-word.ts';
import type { Setting } from './bench.ts';
import type { Git } from './git.ts';
import { commitOf, refsOf, type Repository } from './repository.ts';

/** The maximum size of an init script, and of the patterns of included files, in bytes. */
const COMMITTED_BYTES = 1024 * 1024;

/** A file that a repository brings, and that cadre acts on. */
export interface Committed {
  content: Buffer;
  sha256: string;
  isExecutable: boolean;
}

/** What a file of a repository is for, and how a request does without it; errors say both. */
export interface Purpose {
  /** What it is, with the article: "the init script". */
  what: string;
  /** How a request does without it: "set run_init_script to false". */
  without: string;
}

/**
 * Returns files as committed at the HEAD of the main worktree; no other copy of them ever counts. Null for one that is
 * not there. Throws `conflict` if one is not a regular file of the repository, or if it is larger than 1 MiB.
 */
export async function committedFiles(
  git: Git,
  repository: Repository,
  wanted: readonly (Purpose & { file: string })[],
): Promise<(Committed | null)[]> {
  if (wanted.length === 0) return [];
  const files = wanted.map(({ file, what, without }) => {
    const name = path.posix.normalize(file);
    const refuse = (why: string) =>
      new AppError('conflict', `${what} ${name} ${why}, or ${without}`);
    if (name.startsWith('/') || name.startsWith('..'))
      throw refuse('is no path inside the repository: name one that is');
    return { name, refuse };
  });
  const location = refsOf(repository);
  const names = files.map(({ name }) => name);
  const list = ['ls-tree', '-z', '--full-tree', '-l', 'HEAD', '--', ...names];
  const listed = await git.bytes(location, list).catch(async (error: unknown) => {
    if ((await commitOf(git, location, 'HEAD')) === null) return '';
    throw error;
  });
  const found: (Committed | null)[] = [];
  for (const { name, refuse } of files) {
    const bytes = Buffer.from(name).toString('latin1');
    const entry =
      listed.split('\0').find((one) => one.slice(one.indexOf('\t') + 1) === bytes) ?? '';
    const [, mode, type, sha, size] = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t/.exec(entry) ?? [];
    if (sha === undefined) {
      found.push(null);
      continue;
    }
    if (type !== 'blob' || mode === '120000') throw refuse('is not committed as a file: fix it');
    if (Number(size) > COMMITTED_BYTES)
      throw refuse(`has ${size} bytes, at most ${COMMITTED_BYTES} are read: shorten it`);
    const content = Buffer.from(await git.bytes(location, ['cat-file', 'blob', sha]), 'latin1');
    found.push({ content, sha256: sha256Of(content), isExecutable: mode === '100755' });
  }
  return found;
}

/** Says how a person allows content of a repository that nobody has allowed yet. */
export function howToAllow(repoRoot: string): string {
  return `nobody has allowed it yet: cadre worktrees trust --repo ${shellWord(repoRoot)}`;
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
