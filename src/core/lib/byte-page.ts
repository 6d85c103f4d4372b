/** The size at which a page begins, in bytes, and the largest buffer that it keeps for later. */
const FIRST_BYTES = 64 * 1024;
const KEPT_BYTES = 1024 * 1024;

/** Bytes that are written one after the other. The buffer that they are written into grows, and is used again. */
export class BytePage {
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** The number of bytes that were written since the last `flush` or `clear`. */
  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
  }

  ascii(text: string): void {
    const at = this.#extend(text.length);
    this.#buffer.write(text, at, 'latin1');
  }

  bytes(piece: Uint8Array): void {
    const at = this.#extend(piece.length);
    this.#buffer.set(piece, at);
  }

  /** Returns a copy of what was written, and begins anew. */
  flush(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#length);
    this.#buffer.copy(taken, 0, 0, this.#length);
    this.clear();
    if (this.#buffer.length > KEPT_BYTES) this.#buffer = Buffer.alloc(0);
    return taken;
  }

  /** Makes room for `count` bytes more; returns where they begin. */
  #extend(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length <= this.#buffer.length) return at;
    const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, this.#length, 2 * at));
    this.#buffer.copy(larger, 0, 0, at);
    this.#buffer = larger;
    return at;
  }
}
