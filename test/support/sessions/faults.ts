import fs from 'node:fs';
import { type MockInstance, vi } from 'vitest';

/** A disk that a test fills: while it is full, writes to the store (or to `files`) fail with ENOSPC. */
export class FullDisk implements Disposable {
  full = false;
  readonly #spy: MockInstance;

  constructor(files = /\/events\.cadre(-wal)?$/) {
    // The path, because any part of the program may have opened the file.
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

/** Holds back the syncs of one file of the store until it is disposed. */
export class HeldSyncs implements Disposable {
  #fileEnd: string | undefined;
  #held: (() => void)[] = [];
  #onHeld: () => void = () => undefined;
  readonly #spy: MockInstance;

  constructor() {
    const sync = fs.fdatasync.bind(fs);
    this.#spy = vi.spyOn(fs, 'fdatasync').mockImplementation((fd: number, done: Done) => {
      const file = fs.readlinkSync(`/proc/self/fd/${fd}`);
      if (this.#fileEnd === undefined || !file.endsWith(this.#fileEnd)) return sync(fd, done);
      this.#held.push(() => sync(fd, done));
      this.#onHeld();
    });
  }

  /** Holds the syncs of the file with this ending from now on; resolves when the first one is held. */
  hold(fileEnd: string): Promise<void> {
    this.#fileEnd = fileEnd;
    return new Promise((resolve) => {
      this.#onHeld = resolve;
    });
  }

  /** Lets all held and all later syncs pass. */
  release(): void {
    this.#fileEnd = undefined;
    for (const go of this.#held.splice(0)) go();
  }

  [Symbol.dispose](): void {
    this.release();
    this.#spy.mockRestore();
  }
}
