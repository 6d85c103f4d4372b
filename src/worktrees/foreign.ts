import fs from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { ForeignFileError, readForeignFile } from '../lib/foreign-file.ts';

/** What a file by which git notes something may have in bytes; logs are longer. */
const NOTE_BYTES = 1024 * 1024;
const LOG_BYTES = 256 * 1024 * 1024;

/**
 * The text of a small file that git, or whoever passes for it, keeps for a worktree; null where there is none. Throws
 * `conflict` where it is no file: then nobody knows what the worktree holds.
 */
export async function readNote(directory: string, name: string): Promise<string | null> {
  return (await orConflict(directory, name, NOTE_BYTES))?.toString('utf8') ?? null;
}

/** The same for a log of a ref, a character a byte. */
export async function readLog(directory: string, name: string): Promise<string> {
  return (await orConflict(directory, name, LOG_BYTES))?.toString('latin1') ?? '';
}

async function orConflict(directory: string, name: string, maxBytes: number) {
  try {
    return await readForeignFile(directory, name, { maxBytes });
  } catch (error) {
    if (!(error instanceof ForeignFileError)) throw error;
    throw new AppError('conflict', `${error.message}: move it away`, { cause: error });
  }
}

/** Whether something is at a path, without following it; nothing that lies there can make this wait. */
export async function isThere(file: string | Buffer): Promise<boolean> {
  return (await kindOf(file)) !== null;
}

/** What is at a path itself; null where nothing is, or a file stands where a directory should. */
export async function kindOf(
  file: string | Buffer,
): Promise<'file' | 'directory' | 'link' | 'other' | null> {
  try {
    const found = await fs.lstat(file);
    if (found.isFile()) return 'file';
    if (found.isDirectory()) return 'directory';
    return found.isSymbolicLink() ? 'link' : 'other';
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** Files that git opens wherever it meets them, and so waits for whoever writes into one that is a FIFO. */
const OPENED = new Set(['.gitattributes', '.gitignore', '.gitmodules', '.git']);
/** What git opens of a repository, and of what it keeps for one of its worktrees. */
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
 * Throws `conflict` where git would wait for whoever writes, since a file that it opens in one of its own directories
 * is a FIFO or the like. What comes there afterwards is ended with the time limit of the call.
 */
export async function assertGitDirectory(directory: string): Promise<void> {
  for (const name of NOTES) {
    const file = path.join(directory, name);
    if ((await kindOf(file)) === 'other') throw odd(file);
  }
  for (const name of DIRECTORIES) await assertBelow(path.join(directory, name), () => true);
}

/** The same for the files of a worktree that git opens by their name. */
export async function assertFiles(files: string): Promise<void> {
  await assertBelow(files, (name) => OPENED.has(name));
}

async function assertBelow(directory: string, isOpened: (name: string) => boolean): Promise<void> {
  if ((await kindOf(directory)) !== 'directory') return;
  for (const entry of await fs.readdir(directory, { withFileTypes: true })) {
    const isPlain = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink();
    if (!isPlain && isOpened(entry.name)) throw odd(path.join(directory, entry.name));
    if (entry.isDirectory() && entry.name !== '.git')
      await assertBelow(path.join(directory, entry.name), isOpened);
  }
}

function odd(file: string): AppError {
  return new AppError('conflict', `${file} is not a regular file: move it away`);
}
