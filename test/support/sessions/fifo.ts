import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** A pipe with a name. Disposing it lets go of whoever still waits at it. */
export class Fifo implements Disposable {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]);
  }

  /** What the next writer says; waits for it. */
  said(): Promise<string> {
    return fs.promises.readFile(this.path, 'utf8');
  }

  [Symbol.dispose](): void {
    fs.closeSync(fs.openSync(this.path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK));
  }
}
