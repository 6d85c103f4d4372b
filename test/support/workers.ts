import fs from 'node:fs';
import { ForksPoolWorker, type PoolOptions } from 'vitest/node';

/** A worker whose memory has grown to this is replaced before its next file; the new one loads the sources anew. */
const MAX_RESIDENT_BYTES = 800 * 1024 * 1024;

/** Vitest's own worker, but no longer used by the next file once it has grown. */
class SmallWorker extends ForksPoolWorker {
  override readonly name = 'small forks';

  canReuse(): boolean {
    const { pid } = (this as unknown as { fork: { pid: number } }).fork;
    return residentBytes(pid) < MAX_RESIDENT_BYTES;
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
