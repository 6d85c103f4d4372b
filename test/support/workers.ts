import fs from 'node:fs';
import { ForksPoolWorker, type PoolOptions, type PoolTask } from 'vitest/node';

/**
 * A worker whose memory has grown to this is replaced before its next file. To start a process Linux copies the page
 * tables of who starts it: tests start thousands, and in one of 400 MB each costs twice what it does in one of 200 MB. A
 * new worker loads the sources anew, which takes a second: that pays for files that start git some hundred times.
 */
const MAX_RESIDENT_BYTES = 900 * 1024 * 1024;
const MAX_RESIDENT_BYTES_FOR_GIT = 900 * 1024 * 1024;

const startsGit = /\/test\/(worktrees\/|gateway\/cells|sessions\/idempotency)/;

/** Vitest's own worker, but no longer used by the next file once it has grown. */
class SmallWorker extends ForksPoolWorker {
  override readonly name = 'small forks';

  canReuse({ context }: PoolTask): boolean {
    const { pid } = (this as unknown as { fork: { pid: number } }).fork;
    const isForGit = context.files.some(({ filepath }) => startsGit.test(filepath));
    return residentBytes(pid) < (isForGit ? MAX_RESIDENT_BYTES_FOR_GIT : MAX_RESIDENT_BYTES);
  }
}

/** For `pool` in the configuration of vitest. */
export const smallForks = {
  name: 'small forks',
  createPoolWorker: (options: PoolOptions) => new SmallWorker(options),
};

function residentBytes(pid: number): number {
  const [, pages] = fs.readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
  return Number(pages) * 4096;
}
