import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { selfCommand } from '../../../src/core/lib/self.ts';

/** `nobody` on most machines. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** The user of an unprivileged server. Undefined if the tests may not start one, or if it could not start. */
export const unprivileged: { uid: number; gid: number } | undefined = canRun() ? NOBODY : undefined;

export const WHY_NOT =
  'needs root, and a bundle and a setpriv that another user may run, on a file system that honours setuid';

function canRun(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const { file, args } = selfCommand();
  try {
    execFileSync(file, [...args, 'version'], { ...NOBODY, cwd: '/', stdio: 'ignore', env: {} });
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a program that runs a command as root, like sudo without a password; returns `[program, ...words]` to put
 * before the command. Undefined if the machine does not permit it.
 */
export function becomingRoot(directory: string): string[] | undefined {
  if (!unprivileged) return undefined;
  const program = path.join(directory, 'become-root');
  try {
    const found = execFileSync('sh', ['-c', 'command -v setpriv'], { encoding: 'utf8' }).trim();
    fs.copyFileSync(fs.realpathSync(found), program);
    fs.chownSync(program, 0, unprivileged.gid);
    fs.chmodSync(program, 0o4750);
    const words = [program, '--reuid', '0', '--regid', '0', '--clear-groups'];
    const uid = execFileSync(program, [...words.slice(1), 'id', '-u'], {
      ...unprivileged,
      cwd: '/',
      encoding: 'utf8',
    });
    return uid.trim() === '0' ? words : undefined;
  } catch {
    return undefined;
  }
}

/** Makes a directory in which another user can reach its own files, and a directory of root for `becomingRoot`. */
export function helperDirectory(directory: string): string {
  // The root of all temporary directories is not accessible either.
  for (const place of [path.dirname(directory), directory]) fs.chmodSync(place, 0o711);
  const place = path.join(directory, 'helper');
  fs.mkdirSync(place, { mode: 0o755 });
  return place;
}
