import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import { hasProc } from './platform.ts';
import { codeOf } from './system-error.ts';

/**
 * An open directory. Without /proc, the handle is only the path of the directory, so a program that replaces the directory
 * is followed. Sandboxes exist only on machines with /proc.
 */
export interface DirectoryHandle extends AsyncDisposable {
  /** A path that leads to this directory, whatever takes its place. */
  path: string;
  /** Gives the owner all permissions. */
  allow: () => Promise<void>;
}

/** Opens a directory. Rejects with `ENOTDIR` or `ELOOP` for anything else, also for a link to a directory. */
export async function openDirectory(directory: string | Buffer): Promise<DirectoryHandle> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const handle = await fs.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return {
    path: hasProc ? `/proc/self/fd/${handle.fd}` : String(directory),
    async allow() {
      const { mode } = await handle.stat();
      if ((mode & 0o700) !== 0o700) await handle.chmod(0o700);
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/**
 * Opens a directory below an open one, step by step, so that no link is followed. An empty path is the open directory itself.
 * Null: there is no such directory, or the path has a step `.` or `..`.
 */
export async function openDirectoryBelow(
  top: DirectoryHandle,
  below: string,
  encoding: BufferEncoding = 'utf8',
): Promise<DirectoryHandle | null> {
  const steps = below === '' ? [] : below.split('/');
  if (steps.some((step) => ['', '.', '..'].includes(step))) return null;
  let held = await openDirectoryIfPresent(`${top.path}/.`);
  for (const step of steps) {
    if (held === null) return null;
    await using outer: DirectoryHandle = held;
    held = await openDirectoryIfPresent(entryIn(outer, Buffer.from(step, encoding)));
  }
  return held;
}

/** Returns the path of an entry of an open directory. */
export function entryIn(directory: DirectoryHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${directory.path}/`), name]);
}

/** Opens a directory. Null: there is something else, or nothing. */
export async function openDirectoryIfPresent(
  directory: string | Buffer,
): Promise<DirectoryHandle | null> {
  try {
    return await openDirectory(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(codeOf(error))) return null;
    throw error;
  }
}
