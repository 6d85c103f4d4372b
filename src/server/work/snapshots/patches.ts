import { isUtf8 } from 'node:buffer';

/** The maximum size of the patch of one file, and of all patches of an answer, in bytes. */
export const PATCH_BYTES = 512 * 1024;
export const PATCHES_BYTES = 4 * 1024 * 1024;
/** How much of git's output is read at most, in bytes. */
const READ_BYTES = 64 * 1024 * 1024;

const HEADER = Buffer.from('\ndiff --git ');

/**
 * The part of a unified diff for one file, and whether it is UTF-8, so that nothing of it was replaced; or why it was left
 * out: it is too long, or no room is left for it.
 */
type Part = { text: string; isExact: boolean } | { left: 'large' | 'limit' };

/** Splits a unified diff, as git prints it, into its parts. It holds no more of it than the limits allow. */
export class PatchParts {
  readonly #parts: Part[] = [];
  #tail = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #bytes = 0;
  #kept = 0;
  #read = 0;

  /** Takes a piece of the output; returns false once no more is wanted. */
  push(chunk: Buffer): boolean {
    this.#read += chunk.length;
    if (this.#read > READ_BYTES) return false;
    let data = Buffer.concat([this.#tail, chunk]);
    for (let at = data.indexOf(HEADER); at >= 0; at = data.indexOf(HEADER)) {
      this.#add(data.subarray(0, at + 1));
      this.#close();
      data = data.subarray(at + 1);
    }
    // A header may be divided between two pieces.
    const end = Math.max(0, data.length - HEADER.length);
    this.#add(data.subarray(0, end));
    this.#tail = data.subarray(end);
    return true;
  }

  /** Returns the parts in their order. After output that was cut off, the last one is missing. */
  end({ isCut }: { isCut: boolean }): Part[] {
    this.#add(this.#tail);
    if (!isCut && this.#bytes > 0) this.#close();
    return this.#parts;
  }

  #add(data: Buffer): void {
    this.#bytes += data.length;
    if (this.#bytes <= PATCH_BYTES && data.length > 0) this.#chunks.push(Buffer.from(data));
    else if (this.#bytes > PATCH_BYTES) this.#chunks = [];
  }

  #close(): void {
    const isLarge = this.#bytes > PATCH_BYTES;
    const hasRoom = this.#kept + this.#bytes <= PATCHES_BYTES;
    if (isLarge) this.#parts.push({ left: 'large' });
    else if (!hasRoom) this.#parts.push({ left: 'limit' });
    else {
      this.#kept += this.#bytes;
      const bytes = Buffer.concat(this.#chunks);
      this.#parts.push({ text: bytes.toString('utf8'), isExact: isUtf8(bytes) });
    }
    this.#chunks = [];
    this.#bytes = 0;
  }
}
