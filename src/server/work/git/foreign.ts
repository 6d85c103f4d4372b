import type { Dirent } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { type AppError, conflictError } from '../../../api/errors.ts';
import { ForeignFileError, readForeignFile } from '../../../core/lib/foreign-file.ts';
import { codeOf } from '../../../core/lib/system-error.ts';

/** The maximum size of git's small files, in bytes; logs may be longer. */
const NOTE_BYTES = 1024 * 1024;
const LOG_BYTES = 256 * 1024 * 1024;

/**
 * Returns the text of a small file that git, or a program that imitates it, keeps for a worktree; null if there is
 * none. Throws `conflict` if it is not a regular file, because then the content of the worktree cannot be determined.
 */
export async function readNote(directory: string, name: string): Promise<string | null> {
  return (await orConflict(directory, name, NOTE_BYTES))?.toString('utf8') ?? null;
}

/** Does the same for the log of a ref, with one character for each byte. */
export async function readLog(directory: string, name: string): Promise<string> {
  return (await orConflict(directory, name, LOG_BYTES))?.toString('latin1') ?? '';
}

async function orConflict(directory: string, name: string, maxBytes: number) {
  try {
    return await readForeignFile(directory, name, { maxBytes });
  } catch (error) {
    if (!(error instanceof ForeignFileError)) throw error;
    throw conflictError(`${error.message}: move the file or link to another place`, {
      cause: error,
    });
  }
}

/** Whether anything exists at a path. It follows and opens nothing, so a FIFO cannot block this. */
export async function isThere(file: string | Buffer): Promise<boolean> {
  return (await entryKindOf(file)) !== null;
}

/** The errors that mean that nothing can be at a path. An index may name files that no file system can have. */
const NOWHERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']);

/** Returns the kind of the entry at a path, not followed; null if the path does not exist or a parent is not a directory. */
export async function entryKindOf(
  file: string | Buffer,
): Promise<'file' | 'directory' | 'link' | 'other' | null> {
  try {
    const found = await fs.lstat(file);
    if (found.isFile()) return 'file';
    if (found.isDirectory()) return 'directory';
    return found.isSymbolicLink() ? 'link' : 'other';
  } catch (error) {
    if (NOWHERE.has(codeOf(error))) return null;
    throw error;
  }
}

/** Files that git opens in any directory; if one of them is a FIFO, git blocks until a process opens it for writing. */
const OPENED = new Set(['.gitattributes', '.gitignore', '.gitmodules', '.git']);
/** Files that git opens in a repository's directory or in its own directory for a worktree. */
const NOTES = [
  'HEAD',
  'ORIG_HEAD',
  'FETCH_HEAD',
  'commondir',
  'config',
  'config.worktree',
  'gitdir',
  'index',
  'packed-refs',
  'shallow',
];
const DIRECTORIES = ['info', 'logs', 'refs', 'objects/info', 'objects/pack'];

/**
 * Throws `conflict` if a file that git opens in one of its own directories is a FIFO or another special file, because
 * git would block on it. If one appears later, the time limit of the git call ends the wait.
 */
export async function assertGitDirectory(directory: string): Promise<void> {
  await assertNotes(directory);
  for (const name of DIRECTORIES) await assertBelow(path.join(directory, name), () => true);
}

async function assertNotes(directory: string): Promise<void> {
  for (const name of NOTES) {
    const file = path.join(directory, name);
    if ((await entryKindOf(file)) === 'other') throw notRegular(file);
  }
}

/**
 * Does the same for the files of a worktree that git opens by their names, and in repositories that lie in it. Like git, it
 * skips directories that the server may not read, such as data of a container; with `isWhole`, it throws the error of the system.
 */
export async function assertFiles(
  files: string,
  { isWhole = false }: { isWhole?: boolean } = {},
): Promise<void> {
  await assertBelow(files, (name) => OPENED.has(name), isWhole);
}

/** Does the same for the directory of git that lies in a directory, or that its file `.git` names. */
async function assertInner(directory: string): Promise<void> {
  const own = path.join(directory, '.git');
  const kind = await entryKindOf(own);
  const link = kind === 'file' ? await readNote(directory, '.git') : null;
  const target = /^gitdir: (.+)$/m.exec(link ?? '')?.[1];
  if (kind === 'directory' || kind === 'link') await assertNotes(own);
  else if (target !== undefined) await assertNotes(path.resolve(directory, target));
}

async function assertBelow(
  directory: string,
  isOpened: (name: string) => boolean,
  isWhole = true,
): Promise<void> {
  if ((await entryKindOf(directory)) !== 'directory') return;
  for (const entry of await entriesIn(directory, isWhole)) {
    const isPlain = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink();
    if (!isPlain && isOpened(entry.name)) throw notRegular(path.join(directory, entry.name));
    if (entry.name === '.git') await assertInner(directory);
    else if (entry.isDirectory())
      await assertBelow(path.join(directory, entry.name), isOpened, isWhole);
  }
}

/** Returns the entries of a directory; none if another program has removed the directory meanwhile. */
async function entriesIn(directory: string, isWhole: boolean): Promise<Dirent[]> {
  try {
    return await fs.readdir(directory, { withFileTypes: true });
  } catch (error) {
    const code = codeOf(error);
    if (NOWHERE.has(code) || (code === 'EACCES' && !isWhole)) return [];
    throw error;
  }
}

function notRegular(file: string): AppError {
  return conflictError(`the path ${file} is not a regular file: move the entry to another place`);
}
