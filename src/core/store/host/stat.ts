import type { BigIntStats } from 'node:fs';
import type { WasmMemory } from './memory.ts';

/** Writes a `struct stat` as the pinned build lays it out. */
export function writeStat(memory: WasmMemory, at: number, found: BigIntStats): void {
  const words = memory.words();
  const longs = memory.longs();
  const first = at >> 2;
  words[first] = Number(found.dev);
  words[first + 1] = Number(found.mode);
  words[first + 2] = Number(found.nlink);
  words.fill(0, first + 3, first + 6);
  longs[(at + 24) >> 3] = found.size;
  words[(at + 32) >> 2] = 4096;
  words[(at + 36) >> 2] = Number(found.blocks);
  const times = [
    [40, found.atimeNs],
    [56, found.mtimeNs],
    [72, found.ctimeNs],
  ] as const;
  for (const [offset, nanoseconds] of times) {
    longs[(at + offset) >> 3] = nanoseconds / 1_000_000_000n;
    words[(at + offset + 8) >> 2] = Number(nanoseconds % 1_000_000_000n);
  }
  longs[(at + 88) >> 3] = found.ino;
}
