import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** A thousand kills write about 4 GiB. */
const SIZE_KIB = 12 * 1024 * 1024;

/** A disk in memory that can be full or read-only. The process needs a mount namespace of its own: `unshare -rm`. */
export class Disk {
  readonly path: string;

  private constructor(directory: string) {
    this.path = directory;
  }

  static mount(directory: string): Disk {
    fs.mkdirSync(directory, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_KIB}k`, 'tmpfs', directory]);
    return new Disk(directory);
  }

  /** Leaves about so many KiB. */
  fill(leaveKib: number): void {
    for (let more = leaveKib; ; more += 64) {
      const { blocks, bfree, bsize } = fs.statfsSync(this.path);
      const used = Math.ceil(((blocks - bfree) * bsize) / 1024);
      try {
        this.#remount(`size=${used + more}k`);
        return;
      } catch (error) {
        // The server has written meanwhile.
        if (more > 4096) throw error;
      }
    }
  }

  free(): void {
    this.#remount(`size=${SIZE_KIB}k`);
  }

  /** Fails while a program has a file open for writing. */
  forbidWrites(): void {
    this.#remount('ro');
  }

  allowWrites(): void {
    this.#remount('rw');
  }

  #remount(options: string): void {
    execFileSync('mount', ['-o', `remount,${options}`, this.path], { stdio: 'pipe' });
  }
}
