import fs from 'node:fs';

/** The least that keeps something on disk: appends to a file, with one fdatasync for all that wait (group commit). */
export class SyncedFile {
  readonly #fd: number;
  #waiting: (() => void)[] = [];
  #isSyncing = false;

  constructor(file: string) {
    this.#fd = fs.openSync(file, 'a');
  }

  /** Resolves once the text is on disk. */
  append(text: string): Promise<void> {
    fs.writeSync(this.#fd, text);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#sync();
    });
  }

  #sync(): void {
    if (this.#isSyncing || this.#waiting.length === 0) return;
    this.#isSyncing = true;
    const served = this.#waiting;
    this.#waiting = [];
    fs.fdatasync(this.#fd, (error) => {
      if (error) throw error;
      this.#isSyncing = false;
      for (const resolve of served) resolve();
      this.#sync();
    });
  }
}
