import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

const O_EXLOCK = 0x20;

/**
 * Opens a file like open(2) of macOS, whose flags can lock the file like flock(2). Here flock itself locks the open
 * file, so that the lock is the same.
 */
export function openAsMacOs(file: string, flags: number, mode: number): number {
  const fd = fs.openSync(file, flags & ~O_EXLOCK, mode);
  if ((flags & O_EXLOCK) === 0) return fd;
  const locked = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] });
  if (locked.status === 0) return fd;
  fs.closeSync(fd);
  throw Object.assign(new Error('EAGAIN: resource temporarily unavailable, open'), {
    code: 'EAGAIN',
  });
}
