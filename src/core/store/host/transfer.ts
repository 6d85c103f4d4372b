import type { HostFile } from './file-system.ts';
import type { WasmMemory } from './memory.ts';

/** Calls `each` for (pointer, length) pairs until one moves fewer bytes than asked; returns the bytes moved. */
export function transfer(
  memory: WasmMemory,
  vector: number,
  count: number,
  each: (pointer: number, length: number) => number,
): number {
  let total = 0;
  for (let i = 0; i < count; i++) {
    const length = memory.uint32(vector + i * 8 + 4);
    if (length === 0) continue;
    const moved = each(memory.uint32(vector + i * 8), length);
    total += moved;
    if (moved < length) break;
  }
  return total;
}

/** Reads until `length` bytes are there or the file ends; returns the bytes read. */
export function readFully(
  memory: WasmMemory,
  file: HostFile,
  pointer: number,
  length: number,
): number {
  let got = 0;
  while (got < length) {
    const read = file.fs.readSync(
      file.fd,
      memory.bytes(),
      pointer + got,
      length - got,
      file.position,
    );
    if (read === 0) break;
    got += read;
    file.position += read;
  }
  return got;
}
