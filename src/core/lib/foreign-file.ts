import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import {
  entryIn,
  type DirectoryHandle,
  openDirectoryBelow,
  openDirectory,
} from './directory-handle.ts';
import { hasProc } from './platform.ts';
import { codeOf, unless } from './system-error.ts';

/** Thrown for a file that is not safe to read; the message names the file and says why. */
export class ForeignFileError extends Error {
  override readonly name = 'ForeignFileError';
}

/** Whether an error is about a file that is missing, unreadable or refused, and not a bug. */
export function isFileError(error: unknown): boolean {
  return error instanceof ForeignFileError || 'syscall' in (error as Error);
}

/**
 * Reads a file that an agent or a repository can write, and can therefore replace by anything at any moment. The file
 * is `name` below `directory`. The path of `directory` itself may contain symbolic links; below it, none is followed.
 * Nothing here blocks: a FIFO, a socket or a device is refused. All file operations run off the main thread.
 *
 * Resolves with null if there is no such file. Throws ForeignFileError if it is not a regular file, if a symbolic link
 * leads to it, or if it has more than `maxBytes`.
 */
export async function readForeignFile(
  directory: string,
  name: string,
  { maxBytes }: { maxBytes: number },
): Promise<Buffer | null> {
  const opened = await openForeignFile(directory, name);
  if (opened === null) return null;
  const { handle, file, size } = opened;
  try {
    if (size > maxBytes) throw tooLarge(file, size, maxBytes);
    return await readAtMost(handle, file, maxBytes);
  } finally {
    await handle.close();
  }
}

/** Opens such a file under the same rules, for a caller that reads a part of it and closes `handle` afterwards. */
export async function openForeignFile(
  directory: string,
  name: string,
): Promise<{ handle: fs.FileHandle; file: string; size: number } | null> {
  const root = await orNull(fs.realpath(directory));
  if (root === null) return null;
  const file = path.join(root, name);
  const found = await orNull(fs.lstat(file));
  if (found === null) return null;
  // Opening some devices has side effects, so the type is checked before the file is opened. It is checked again on
  // the open file, because the path may lead to another file by then.
  if (!found.isFile()) throw new ForeignFileError(`the path ${file} is not a regular file`);
  const handle = await orNull(open(file));
  if (handle === null) return null;
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw new ForeignFileError(`the path ${file} is not a regular file`);
    if (!(await isStillAt(handle, file)))
      throw new ForeignFileError(`the path ${file} contains a symbolic link`);
    return { handle, file, size: opened.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Creates an empty file, for its user alone, in a directory under the same rules, with the directories that lead to it.
 * Resolves with null if the name exists, or if the path contains something other than directories. Throws
 * ForeignFileError if a symbolic link leads to it. The caller closes the handle.
 */
export async function createForeignFile(
  directory: string,
  name: string,
): Promise<fs.FileHandle | null> {
  const root = await fs.realpath(directory);
  const file = path.join(root, name);
  if (!(await makeParents(path.dirname(file), root))) return null;
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const handle = await fs.open(file, flags, 0o600).catch(unless('EEXIST'));
  if (!handle) return null;
  if (await isStillAt(handle, file)) return handle;
  await handle.close();
  throw new ForeignFileError(`the path ${file} contains a symbolic link`);
}

/**
 * Reads a small file of the server or of its operator synchronously, for the few that are needed before anything runs:
 * the configuration, the token, the record of the server that uses a data directory. Links are followed. Throws
 * ForeignFileError, without blocking, for what is not a regular file or has more than `maxBytes`; throws the error of
 * the system for everything else, ENOENT included.
 */
export function readSmallFile(
  file: string,
  { maxBytes }: { maxBytes: number },
): { text: string; stat: Stats } {
  const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;
  const fd = openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new ForeignFileError(`the path ${file} is not a regular file`);
    if (stat.size > maxBytes) throw tooLarge(file, stat.size, maxBytes);
    return { text: readFileSync(fd, 'utf8'), stat };
  } finally {
    closeSync(fd);
  }
}

/** The flags that open a file for reading, without waiting and without following a link. */
const READ_ONLY =
  constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY;

async function open(file: string): Promise<fs.FileHandle> {
  try {
    return await fs.open(file, READ_ONLY);
  } catch (error) {
    if (codeOf(error) === 'ELOOP') throw new ForeignFileError(`${file} is a symbolic link`);
    if (codeOf(error) === 'ENXIO')
      throw new ForeignFileError(`the path ${file} is not a regular file`);
    throw error;
  }
}

/** Makes the directories from `root` down to `directory`; whether each of them is one, and no link. */
async function makeParents(directory: string, root: string): Promise<boolean> {
  if (directory === root) return true;
  if (!(await makeParents(path.dirname(directory), root))) return false;
  try {
    await fs.mkdir(directory);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return (await fs.lstat(directory)).isDirectory();
  }
}

/** Whether no link led to the open file: a directory on the way may have been replaced by one since it was checked. */
async function isStillAt(handle: fs.FileHandle, file: string): Promise<boolean> {
  if (hasProc) return (await fs.readlink(`/proc/self/fd/${handle.fd}`)) === file;
  // The path may have been another one when the file was opened, so it has to be the same file as well.
  if ((await orNull(fs.realpath(file))) !== file) return false;
  const [opened, found] = await Promise.all([handle.stat(), orNull(fs.lstat(file))]);
  return opened.dev === found?.dev && opened.ino === found.ino;
}

/** Counts what it reads, because the file may grow after its size was checked. */
async function readAtMost(handle: fs.FileHandle, file: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.alloc(CHUNK_BYTES),
      0,
      CHUNK_BYTES,
      total,
    );
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > maxBytes) throw tooLarge(file, total, maxBytes);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

const CHUNK_BYTES = 64 * 1024;

function tooLarge(file: string, size: number, maxBytes: number): ForeignFileError {
  return new ForeignFileError(
    `the file ${file} is too large (${size} bytes): the maximum is ${maxBytes} bytes`,
  );
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null;
    throw error;
  }
}

/** An open file, or the target of a symbolic link. */
export type OpenEntry =
  | { kind: 'file'; handle: fs.FileHandle; size: number; isExecutable: boolean }
  | { kind: 'link'; target: Buffer };

/** The errors that mean that nothing can be at a path. An index may name files that no file system can have. */
const NOWHERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);
/** The number of entries that are open at the same time. */
const AT_ONCE = 16;
/** How often an entry is opened again that was replaced meanwhile. */
const ATTEMPTS = 5;

/**
 * Passes files and links below a directory to `work`, one after the other, and some of them at the same time; returns the
 * results in the order of the names. Names have one character for each byte. No link is followed. Null for a name at which
 * there is neither a file nor a link, or to which a link leads. Throws ForeignFileError if an entry is replaced repeatedly.
 */
export async function mapForeignEntries<T>(
  directory: string,
  names: readonly string[],
  work: (entry: OpenEntry, index: number) => Promise<T>,
): Promise<(T | null)[]> {
  await using root = await openDirectory(await fs.realpath(directory));
  const results: (T | null)[] = [];
  while (results.length < names.length) {
    const from = results.length;
    const [below] = split(names[from] ?? '');
    let to = from + 1;
    while (to < names.length && split(names[to] ?? '')[0] === below) to += 1;
    await using parent = await openDirectoryBelow(root, below, 'latin1');
    for (let at = from; at < to; at += AT_ONCE) {
      const slice = names.slice(at, Math.min(at + AT_ONCE, to));
      const passed = slice.map((name, index) => passEntry(parent, name, at + index, work));
      // All have ended before the directory is closed.
      await Promise.allSettled(passed);
      results.push(...(await Promise.all(passed)));
    }
  }
  return results;
}

function split(name: string): [below: string, base: string] {
  const at = name.lastIndexOf('/');
  return [name.slice(0, Math.max(at, 0)), name.slice(at + 1)];
}

async function passEntry<T>(
  parent: DirectoryHandle | null,
  name: string,
  index: number,
  work: (entry: OpenEntry, index: number) => Promise<T>,
): Promise<T | null> {
  const base = Buffer.from(split(name)[1], 'latin1');
  const entry = parent && (await openEntry(entryIn(parent, base), name));
  if (entry === null) return null;
  try {
    return await work(entry, index);
  } finally {
    if (entry.kind === 'file') await entry.handle.close();
  }
}

async function openEntry(file: Buffer, name: string): Promise<OpenEntry | null> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1)
    try {
      // Opening some devices has side effects, so the type is checked before the file is opened, and again afterwards.
      const found = await fs.lstat(file);
      if (found.isSymbolicLink())
        return { kind: 'link', target: await fs.readlink(file, 'buffer') };
      if (!found.isFile()) return null;
      const handle = await fs.open(file, READ_ONLY);
      const opened = await handle.stat();
      const isExecutable = (opened.mode & 0o100) !== 0;
      if (opened.isFile()) return { kind: 'file', handle, size: opened.size, isExecutable };
      await handle.close();
    } catch (error) {
      if (NOWHERE.has(codeOf(error))) return null;
      // A link, a file and a special file have taken each other's place.
      if (!['ELOOP', 'EINVAL', 'ENXIO'].includes(codeOf(error))) throw error;
    }
  const shown = Buffer.from(name, 'latin1').toString('utf8');
  throw new ForeignFileError(`the file ${shown} is being replaced while it is read`);
}
