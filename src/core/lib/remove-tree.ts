import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import {
  entryIn,
  type DirectoryHandle,
  openDirectory,
  openDirectoryIfPresent,
} from './directory-handle.ts';
import { newUuid } from './ids.ts';
import { hasProc } from './platform.ts';
import { codeOf, unless } from './system-error.ts';

/** The number of files that are removed at once. */
const AT_ONCE = 32;
/** How often a removal begins again if a program changes the tree at the same time. */
const ATTEMPTS = 5;
/** The flag of Linux for a descriptor that needs no permission to read. */
const O_PATH = 0o10_000_000;

/**
 * Removes a directory and its content, even if write permission was removed somewhere in it. A program may change the tree at
 * the same time: no link is followed, so nothing outside of the tree is removed. The program must not be able to replace
 * the directory above. Anything else with this name is removed too.
 */
export async function removeTree(directory: string | Buffer): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await removeOnce(directory);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function removeOnce(directory: string | Buffer): Promise<void> {
  const top = await holdForRemoval(directory);
  if (top === null) return fs.rm(directory, { force: true });
  try {
    await empty(top);
  } finally {
    await top[Symbol.asyncDispose]();
  }
  await fs.rmdir(directory).catch(unless('ENOENT'));
}

/** Moves all directories to the top before it removes them, so two descriptors are enough for any depth. */
async function empty(top: DirectoryHandle): Promise<void> {
  const waiting = await removeFiles(top);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const at = entryIn(top, name);
    const held = await holdForRemoval(at);
    if (held === null) {
      await fs.rm(at, { force: true });
      continue;
    }
    try {
      for (const inner of await removeFiles(held)) {
        const moved = Buffer.from(`.${newUuid()}`);
        await move(entryIn(held, inner), entryIn(top, moved));
        waiting.push(moved);
      }
    } finally {
      await held[Symbol.asyncDispose]();
    }
    await fs.rmdir(at).catch(unless('ENOENT'));
  }
}

/** Removes everything but directories, and resolves with the names of these. */
async function removeFiles(directory: DirectoryHandle): Promise<Buffer[]> {
  const entries = await fs.readdir(directory.path, { withFileTypes: true, encoding: 'buffer' });
  const files = entries.filter((entry) => !entry.isDirectory());
  for (let at = 0; at < files.length; at += AT_ONCE)
    await Promise.all(
      files
        .slice(at, at + AT_ONCE)
        .map(({ name }) => fs.unlink(entryIn(directory, name)).catch(unless('ENOENT'))),
    );
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Moves a directory, which requires write permission for the directory itself. */
async function move(from: Buffer, to: Buffer): Promise<void> {
  try {
    await fs.rename(from, to);
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error;
    await (await holdForRemoval(from))?.[Symbol.asyncDispose]();
    await fs.rename(from, to);
  }
}

/** Opens a directory with all permissions. Null: there is something else, or nothing. */
async function holdForRemoval(directory: string | Buffer): Promise<DirectoryHandle | null> {
  const held = await openDirectoryIfPresent(directory).catch(async (error: unknown) => {
    if (codeOf(error) !== 'EACCES') throw error;
    await allow(directory);
    return openDirectory(directory);
  });
  await held?.allow();
  return held;
}

/** Gives the owner all permissions of a directory that cannot be opened. */
async function allow(directory: string | Buffer): Promise<void> {
  if (!hasProc) return fs.chmod(directory, 0o700);
  await using handle = await fs.open(
    directory,
    O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  await fs.chmod(`/proc/self/fd/${handle.fd}`, 0o700);
}
