import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';

/**
 * Locks a data directory for one server. flock(2) belongs to the open file, not to the process that took it: a helper
 * takes the lock and exits, and this process holds it until it closes the file or dies, even by SIGKILL. Throws
 * `conflict`, naming the server that holds it, or Error if the machine has no `flock`.
 */
export function lockDirectory(directory: string): Disposable {
  const fd = fs.openSync(path.join(directory, 'lock'), 'a+', 0o600);
  const helper = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] });
  if (helper.error || helper.status !== 0) {
    const holder = fs.readFileSync(path.join(directory, 'lock'), 'utf8').trim();
    fs.closeSync(fd);
    // // flock exits with 1 if another process holds the lock.
    if (helper.error || helper.status !== 1) {
      throw new Error(`cannot lock ${directory}: the program "flock" (util-linux) is needed`, {
        cause: helper.error,
      });
    }
    throw new AppError(
      'conflict',
      `another server${holder ? ` (pid ${holder})` : ''} uses the data directory ${directory}: ` +
        'stop it, or give this one a directory of its own with --data-dir',
    );
  }
  fs.ftruncateSync(fd);
  fs.writeSync(fd, `${process.pid}\n`);
  return { [Symbol.dispose]: () => fs.closeSync(fd) };
}
