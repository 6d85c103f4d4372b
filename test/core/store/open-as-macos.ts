import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

const O_EXLOCK = 0x20;

/**
 * Opens a file as open(2) of macOS does, which takes the lock of flock(2) where the flags say so: here flock itself takes
 * it, on the open file, so it is the same lock and as strict.
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
