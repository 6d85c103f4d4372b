import { readFileSync } from 'node:fs';

/** The arguments that a process was started with, its program first; none where it is gone. */
export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
