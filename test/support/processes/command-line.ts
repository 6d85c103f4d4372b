import { readFileSync } from 'node:fs';

/** Returns the arguments with which a process was started, its program first. There are none if the process is gone. */
export function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}

/** Returns the same as one line, which is empty if the process is gone. */
export function commandOf(pid: number): string {
  return argumentsOf(pid).join(' ');
}
