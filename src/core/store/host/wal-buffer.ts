import type { HostFile, WriteBuffer } from './file-system.ts';

const CAPACITY = 128 * 1024;
/** The header of a frame of the WAL. Its second word is not 0 in the last frame of a commit. */
const FRAME_HEADER_BYTES = 24;

/**
 * Collects the writes of a commit to the WAL, because SQLite writes each page and the header of the page on its own. The
 * write of the last page of the commit writes the collected bytes, so an error of the disk fails the commit. Only writes
 * at the end of the WAL are collected: if SQLite writes a header again, no page follows that would end the collection.
 */
export class WalBuffer implements WriteBuffer {
  readonly #file: Pick<HostFile, 'fs' | 'fd'>;
  #bytes: Buffer | undefined;
  /** The number of collected bytes, and their position in the file. */
  #length = 0;
  #position = 0;
  /** The furthest byte that was written since SQLite began the WAL again. */
  #end = 0;
  #isLastPage = false;

  constructor(file: Pick<HostFile, 'fs' | 'fd'>) {
    this.#file = file;
  }

  write(bytes: Buffer, position: number): void {
    if (position === 0) this.#end = 0;
    const isAtEnd = position >= this.#end && bytes.length <= CAPACITY;
    this.#end = Math.max(this.#end, position + bytes.length);
    const isContinued = position === this.#position + this.#length;
    if (!isAtEnd || !isContinued || this.#length + bytes.length > CAPACITY) this.flush();
    if (!isAtEnd) return this.#writeAll(bytes, position);
    if (this.#length === 0) this.#position = position;
    this.#bytes ??= Buffer.allocUnsafeSlow(CAPACITY);
    bytes.copy(this.#bytes, this.#length);
    this.#length += bytes.length;
    const isEnd = this.#isLastPage;
    this.#isLastPage = bytes.length === FRAME_HEADER_BYTES && bytes.readUInt32BE(4) !== 0;
    if (isEnd) this.flush();
  }

  flush(): void {
    const length = this.#length;
    this.#length = 0;
    if (this.#bytes && length > 0) this.#writeAll(this.#bytes.subarray(0, length), this.#position);
  }

  #writeAll(bytes: Buffer, position: number): void {
    const { fs, fd } = this.#file;
    for (let done = 0; done < bytes.length;)
      done += fs.writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}
