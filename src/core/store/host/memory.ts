/** The WASM memory, whose buffer is replaced each time it grows. */
export class WasmMemory {
  #memory: WebAssembly.Memory | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  #words = new Int32Array(0);
  #longs = new BigInt64Array(0);

  attach(memory: WebAssembly.Memory): void {
    this.#memory = memory;
  }
  bytes(): Buffer {
    const buffer = this.#memory?.buffer;
    if (buffer && this.#bytes.buffer !== buffer) {
      this.#bytes = Buffer.from(buffer);
      this.#words = new Int32Array(buffer);
      this.#longs = new BigInt64Array(buffer);
    }
    return this.#bytes;
  }
  words(): Int32Array {
    this.bytes();
    return this.#words;
  }
  longs(): BigInt64Array {
    this.bytes();
    return this.#longs;
  }
  /** An unsigned 32-bit value: pointers and lengths may pass 2 GiB. */
  uint32(pointer: number): number {
    return (this.words()[pointer >> 2] ?? 0) >>> 0;
  }
  text(pointer: number): string {
    const bytes = this.bytes();
    return bytes.toString('utf8', pointer, bytes.indexOf(0, pointer));
  }
}
