import { createHash } from 'node:crypto';
import path from 'node:path';
import { type AppError, conflictError } from '../../../api/errors.ts';
import { TEMPLATE_NAME } from '../../../api/worktree-trust.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import type { Setting } from './isolated-git-dir.ts';
import { type Git, toBytes } from './git.ts';
import { commitOf, type Repository } from './repository.ts';

/** The maximum size of an init script, and of the patterns of included files, in bytes. */
const COMMITTED_BYTES = 1024 * 1024;
const TEMPLATES = '.cadre/templates';
const TEMPLATE_BYTES = 64 * 1024;
const MAX_TEMPLATES = 100;

/** A file that a repository brings, and that cadre acts on. */
export interface Committed {
  content: Buffer;
  sha256: string;
  isExecutable: boolean;
}

/** A file of a repository. Errors name its purpose, and how a request does without it. */
interface WantedFile {
  /** Its path in the repository. */
  file: string;
  /** With the article: "the init script". */
  what: string;
  /** As in "set run_init_script to false". */
  without: string;
}

/**
 * Returns files as committed at the HEAD of the main worktree; no other copy of them ever counts. Null for one that is
 * not there, or not wanted. Throws `conflict` if one is not a regular file of the repository, or if it is larger than 1 MiB.
 */
export async function committedFiles(
  { git }: Repository,
  wanted: readonly (WantedFile | null)[],
): Promise<(Committed | null)[]> {
  const files = wanted.map((one) => one && { ...one, name: nameIn(one) });
  const names = files.flatMap((one) => (one ? [one.name] : []));
  if (names.length === 0) return wanted.map(() => null);
  const listed = await committedEntries(git, names);
  const found: (Committed | null)[] = [];
  for (const file of files) found.push(file && (await committedFile(git, file, listed)));
  return found;
}

async function committedFile(
  git: Git,
  file: WantedFile & { name: string },
  entries: readonly CommittedEntry[],
): Promise<Committed | null> {
  const bytes = toBytes(file.name);
  const entry = entries.find(({ name }) => name === bytes);
  if (!entry) return null;
  const { isRegular, isExecutable, size, sha } = entry;
  if (!isRegular)
    throw refusal(file, file.name, 'is not committed as a regular file: commit a regular file');
  if (size > COMMITTED_BYTES) {
    const why = `is too large (${size} bytes, and the maximum is ${COMMITTED_BYTES} bytes): shorten the file`;
    throw refusal(file, file.name, why);
  }
  const content = Buffer.from(await git.bytes(['cat-file', 'blob', sha]), 'latin1');
  return { content, sha256: sha256Of(content), isExecutable };
}

/**
 * Returns the templates of a repository as committed at the HEAD of the main worktree: those with these names, or all.
 * Leaves out what is not a regular file of at most 64 KiB, and files with other names.
 */
export async function committedTemplates(
  { git }: Repository,
  wanted: readonly string[],
): Promise<{ name: string; content: Buffer; sha256: string }[]> {
  const names = wanted.length === 0 ? [`${TEMPLATES}/`] : wanted.map(templateFile);
  const entries = await committedEntries(git, names);
  const found: { name: string; content: Buffer; sha256: string }[] = [];
  for (const { name: file, isRegular, size, sha } of entries) {
    const name = path.posix.basename(file, '.toml');
    const isTemplate = TEMPLATE_NAME.test(name) && file === templateFile(name);
    if (!isTemplate || !isRegular || size > TEMPLATE_BYTES || found.length === MAX_TEMPLATES)
      continue;
    const content = Buffer.from(await git.bytes(['cat-file', 'blob', sha]), 'latin1');
    // The prefix keeps the consent to a template from allowing an init script with the same bytes.
    found.push({ name, content, sha256: sha256Of(Buffer.concat([TEMPLATE_PREFIX, content])) });
  }
  return found;
}

const TEMPLATE_PREFIX = Buffer.from('cadre template\n');

function templateFile(name: string): string {
  return `${TEMPLATES}/${name}.toml`;
}

interface CommittedEntry {
  /** The path in the repository, as git has it. */
  name: string;
  isRegular: boolean;
  isExecutable: boolean;
  size: number;
  sha: string;
}

/** Lists paths of the commit at HEAD; none if there is no commit. */
async function committedEntries(git: Git, names: readonly string[]): Promise<CommittedEntry[]> {
  const list = ['ls-tree', '-z', '--full-tree', '-l', 'HEAD', '--', ...names];
  const listed = await git.entries(list).catch(async (error: unknown) => {
    if ((await commitOf(git, 'HEAD')) === null) return [];
    throw error;
  });
  return listed.flatMap((entry) => {
    const [all, mode, type, sha, size] = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t/.exec(entry) ?? [];
    if (all === undefined || sha === undefined) return [];
    const isRegular = type === 'blob' && mode !== '120000';
    const isExecutable = mode === '100755';
    return [{ name: entry.slice(all.length), isRegular, isExecutable, size: Number(size), sha }];
  });
}

/** Returns the name of a file as git has it. Throws `conflict` if it is outside of the repository. */
function nameIn(wanted: WantedFile): string {
  const name = path.posix.normalize(wanted.file);
  if (name.startsWith('/') || name.startsWith('..'))
    throw refusal(wanted, name, 'is outside of the repository: name a file inside it');
  return name;
}

function refusal({ what, without }: WantedFile, name: string, why: string): AppError {
  return conflictError(`${what} ${name} ${why}, or ${without}`);
}

/** Returns the next step for content of a repository that is not trusted yet. */
export function howToAllow(repoRoot: string): string {
  return `not trusted yet: cadre worktrees trust --repo ${shellWord(repoRoot)}`;
}

/** Returns the text of the consent to handoffs of sessions of a repository to an agent. */
export function handoffText(agent: string): string {
  return `At a usage limit, ${agent} continues sessions of this repository. The provider of ${agent} receives prompts, answers and files.\n`;
}

/** Returns the digest of the consent to handoffs to an agent. The prefix keeps the consent to other content apart. */
export function handoffDigest(agent: string): string {
  return sha256Of(`cadre handoff\n${handoffText(agent)}`);
}

/** Formats the filters of a repository as one text: people see it, and its digest is what they trust. */
export function filtersText(filters: readonly Setting[]): string {
  return filters
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
    .toSorted()
    .join('');
}

/** Returns the SHA-256 digest of content in hexadecimal; content is trusted by this digest. */
export function sha256Of(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
