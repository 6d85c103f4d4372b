import fs from 'node:fs';
import { hasProc } from '../lib/platform.ts';

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
    .filter((fd) => fd > 2 && isInherited(fd) && close(fd));
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

function close(fd: number): boolean {
  try {
    fs.closeSync(fd);
    return true;
  } catch {
    return false;
  }
}
