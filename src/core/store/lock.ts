import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { AppError, conflictError } from '../../api/errors.ts';
import { shellWord } from '../lib/shell-word.ts';
import { codeOf } from '../lib/system-error.ts';

/** Opens a lock file and locks it. Returns null if another process has the lock. */
type Take = (file: string) => number | null;

/**
 * The number of tries to get the lock of a server that is gone, and the time between them in milliseconds. A process that this
 * server had just forked holds the lock, too, until it runs its program.
 */
const TRIES = 200;
const RETRY_MS = 10;

/**
 * Locks a data directory for one server. The lock belongs to the open file: this process holds it until it closes the file
 * or dies, even by SIGKILL. Throws `conflict`, naming the server that holds it, or Error if the file cannot be locked.
 */
export function lockDirectory(
  directory: string,
  take: Take = process.platform === 'linux' ? lockedByFlock : lockedByOpening,
): Disposable {
  const file = path.join(directory, 'lock');
  let fd = take(file);
  for (let tries = 1; fd === null; tries++) {
    const holder = fs.readFileSync(file, 'utf8').trim();
    if (tries < TRIES && isGone(Number(holder))) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      fd = take(file);
      continue;
    }
    throw conflictError(
      `another server${holder ? ` (pid ${holder})` : ''} uses the data directory ${directory}: stop ` +
        `that server with cadre stop --data-dir ${shellWord(directory)}, or choose another directory with --data-dir`,
    );
  }
  fs.ftruncateSync(fd);
  fs.writeSync(fd, `${process.pid}\n`);
  return { [Symbol.dispose]: () => fs.closeSync(fd) };
}

function isGone(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}

/** Linux: flock(2) locks the open file, not the process. So a helper takes the lock, and exits. */
export function lockedByFlock(file: string): number | null {
  const fd = fs.openSync(file, 'a+', 0o600);
  const helper = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] });
  if (!helper.error && helper.status === 0) return fd;
  fs.closeSync(fd);
  // flock exits with 1 if another process holds the lock.
  if (!helper.error && helper.status === 1) return null;
  const isMissing = codeOf(helper.error) === 'ENOENT';
  const reason = helper.error?.message ?? `flock exited with ${helper.status ?? helper.signal}`;
  const remedy = isMissing
    ? 'install the program "flock" (util-linux)'
    : `${reason}: use a local file system, and check the limits of processes and open files`;
  throw new AppError('internal', `cannot lock ${file}: ${remedy}`, { cause: helper.error });
}

/** Flag of macOS and the BSDs, where open(2) itself takes the lock of flock(2); Node has no name for it. */
const O_EXLOCK = 0x20;

/**
 * macOS has no program flock, but a flag of open(2) that Node passes on. A second opening has to be refused, also within
 * this process: where it is not, as on a file system that ignores the flag, there is no lock, and Error is thrown.
 */
export function lockedByOpening(
  file: string,
  open: (file: string, flags: number, mode: number) => number = fs.openSync,
): number | null {
  const fd = openLocked(file, open);
  if (fd === null) return null;
  const second = openLocked(file, open);
  if (second === null) return fd;
  for (const one of [second, fd]) fs.closeSync(one);
  throw new Error(
    `cannot lock ${file}, because its file system does not support locks: use a local file system`,
  );
}

function openLocked(
  file: string,
  open: (file: string, flags: number, mode: number) => number,
): number | null {
  const { O_RDWR, O_CREAT, O_APPEND, O_NONBLOCK } = fs.constants;
  try {
    return open(file, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_EXLOCK, 0o600);
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return null;
    throw error;
  }
}
