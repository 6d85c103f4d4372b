import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
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

async function open(file: string): Promise<fs.FileHandle> {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  try {
    return await fs.open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
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
