import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import { hasProc } from './platform.ts';
import { codeOf } from './system-error.ts';

/**
 * An open directory. Without /proc, the path of the directory stands for it, so a program that replaces the directory is
 * followed. Sandboxes exist only on machines with /proc.
 */
export interface HeldDirectory extends AsyncDisposable {
  /** A path that leads to this directory, whatever takes its place. */
  path: string;
  /** Gives the owner all permissions. */
  allow: () => Promise<void>;
}

/** Opens a directory. Rejects with `ENOTDIR` or `ELOOP` for anything else, also for a link to a directory. */
export async function holdDirectory(directory: string | Buffer): Promise<HeldDirectory> {
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

/** Opens a directory below an open one, step by step, so that no link is followed. Null: there is no such directory. */
export async function holdBelow(top: HeldDirectory, below: string): Promise<HeldDirectory | null> {
  const [name = '', ...deeper] = below.split('/');
  const next = await holdIfThere(`${top.path}/${name}`);
  if (next === null || deeper.length === 0) return next;
  await using held = next;
  return await holdBelow(held, deeper.join('/'));
}

/** Opens a directory. Null: there is something else, or nothing. */
export async function holdIfThere(directory: string | Buffer): Promise<HeldDirectory | null> {
  try {
    return await holdDirectory(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error))) return null;
    throw error;
  }
}
