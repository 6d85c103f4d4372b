import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { usageError } from '../../api/errors.ts';
import { hasProc } from '../lib/platform.ts';

/**
 * Opens a regular file that is open as `fd` once more, for reading and writing, whatever `fd` allows. Throws `usage` if the
 * file cannot be found, which on Linux never happens.
 */
export function openAgain(fd: number): number {
  if (hasProc) return fs.openSync(`/proc/self/fd/${fd}`, 'r+');
  const file = pathOf(fd);
  const again = file === undefined ? undefined : fs.openSync(file, 'r+');
  if (again !== undefined && isSame(fd, again)) return again;
  if (again !== undefined) fs.closeSync(again);
  throw usageError(
    'cannot read the end of the output file, because the file was moved or the program lsof is missing: write to a new file',
  );
}

/** The other way to the path of an open file; macOS has the program, and gives it no way in /dev/fd. */
function pathOf(fd: number): string | undefined {
  const words = ['-w', '-a', '-p', String(process.pid), '-d', String(fd), '-F', 'n'];
  const { stdout } = spawnSync('lsof', words, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return /^n(\/.*)$/m.exec(stdout ?? '')?.[1];
}

function isSame(one: number, other: number): boolean {
  const [a, b] = [fs.fstatSync(one), fs.fstatSync(other)];
  return a.dev === b.dev && a.ino === b.ino;
}
