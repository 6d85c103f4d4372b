import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { usageError } from '../../api/errors.ts';
import { hasProc } from '../lib/platform.ts';

/**
 * Opens a regular file that is open as `fd` once more, for reading and writing, whatever `fd` allows. Throws `usage` if the
 * file cannot be found, which on Linux never happens.
 */
export function reopenDescriptor(fd: number): number {
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

/** O_CLOEXEC in the flags of /proc/self/fdinfo, which are octal. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes each descriptor that this process inherited, except the standard streams: otherwise every child would inherit it too.
 * Node opens all of its own descriptors close-on-exec, so a descriptor without this flag was inherited. Returns the closed
 * descriptors. Does nothing on systems without /proc.
 */
export function closeInherited(): number[] {
  if (!hasProc) return [];
  return fs
    .readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && isInherited(fd) && closeNow(fd));
}

function isInherited(fd: number): boolean {
  try {
    const info = fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1');
    const flags = /^flags:\s+(\d+)$/m.exec(info)?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The descriptor of the listing itself is closed by now.
    return false;
  }
}

function closeNow(fd: number): boolean {
  try {
    fs.closeSync(fd);
    return true;
  } catch {
    return false;
  }
}
