import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** A named pipe. Disposing it releases a reader or writer that still waits to open it. */
export class Fifo implements Disposable {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]);
  }

  /** Resolves with the text of the next writer. */
  said(): Promise<string> {
    return fs.promises.readFile(this.path, 'utf8');
  }

  [Symbol.dispose](): void {
    fs.closeSync(fs.openSync(this.path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK));
  }
}
