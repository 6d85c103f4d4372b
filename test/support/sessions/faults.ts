import fs from 'node:fs';
import { type MockInstance, vi } from 'vitest';

/** A disk that a test fills: the store's writes fail with ENOSPC while it is full, or those of other `files`. Disposing it empties it. */
export class FullDisk implements Disposable {
  full = false;
  readonly #spy: MockInstance;

  constructor(files = /\/events\.cadre(-wal)?$/) {
    // Whoever has them open.
    const isOf = (fd: number) => files.test(fs.readlinkSync(`/proc/self/fd/${fd}`));
    const write = fs.writeSync.bind(fs) as (...args: unknown[]) => number;
    this.#spy = vi.spyOn(fs, 'writeSync').mockImplementation((...args: unknown[]) => {
      if (!this.full || !isOf(args[0] as number)) return write(...args);
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    });
  }

  [Symbol.dispose](): void {
    this.#spy.mockRestore();
  }
}

type Done = (error: NodeJS.ErrnoException | null) => void;

/** Syncs of one of the store's files that a test holds back. Disposing it lets them go. */
export class HeldSyncs implements Disposable {
  #fileEnd: string | undefined;
  #held: (() => void)[] = [];
  #tell: () => void = () => undefined;
  readonly #spy: MockInstance;

  constructor() {
    const sync = fs.fdatasync.bind(fs);
    this.#spy = vi.spyOn(fs, 'fdatasync').mockImplementation((fd: number, done: Done) => {
      const file = fs.readlinkSync(`/proc/self/fd/${fd}`);
      if (this.#fileEnd === undefined || !file.endsWith(this.#fileEnd)) return sync(fd, done);
      this.#held.push(() => sync(fd, done));
      this.#tell();
    });
  }

  /** From now on none of the file that ends so gets through; resolves when one is held. */
  hold(fileEnd: string): Promise<void> {
    this.#fileEnd = fileEnd;
    return new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  /** Lets what is held go, and everything after it. */
  release(): void {
    this.#fileEnd = undefined;
    for (const go of this.#held.splice(0)) go();
  }

  [Symbol.dispose](): void {
    this.release();
    this.#spy.mockRestore();
  }
}
