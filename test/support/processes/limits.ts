import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** Whether limits of running processes can be set. */
export const canLimit = spawnSync('prlimit', ['--version']).status === 0;

/** Sets a limit of a running process, at most its hard limit. Returns a function that restores it. */
export function limit(pid: number, resource: 'nofile' | 'fsize' | 'as', to: number): () => void {
  const line = fs
    .readFileSync(`/proc/${pid}/limits`, 'utf8')
    .split('\n')
    .find((one) => one.startsWith(NAMES[resource]));
  const [soft = 'unlimited', hard = 'unlimited'] = (line ?? '').slice(26).trim().split(/\s+/);
  const set = (value: string) =>
    execFileSync('prlimit', [`--pid=${pid}`, `--${resource}=${value}`], { stdio: 'pipe' });
  set(`${hard === 'unlimited' ? to : Math.min(to, Number(hard))}:${hard}`);
  return () => {
    try {
      set(`${soft}:${hard}`);
    } catch {
      // It has ended.
    }
  };
}

const NAMES = { nofile: 'Max open files', fsize: 'Max file size', as: 'Max address space' };

/** The number of descriptors that a process has open. */
export function openFilesOf(pid: number): number {
  return fs.readdirSync(`/proc/${pid}/fd`).length;
}
