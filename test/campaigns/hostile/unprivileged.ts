import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { selfCommand } from '../../../src/core/lib/self.ts';

/** `nobody`, on most machines: it owns nothing. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** Who an unprivileged server runs as; undefined where the tests have no right to start one, or it could not start. */
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
 * Makes a program in a directory that runs another as root, as a passwordless sudo does: `[program, ...words]` before
 * the command. Undefined where the machine does not let it.
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

/** A directory of a test, below which another user may come to what is theirs, and one of root for `becomingRoot`. */
export function helperDirectory(directory: string): string {
  // The root of all temporary directories is closed, too.
  for (const place of [path.dirname(directory), directory]) fs.chmodSync(place, 0o711);
  const place = path.join(directory, 'helper');
  fs.mkdirSync(place, { mode: 0o755 });
  return place;
}
