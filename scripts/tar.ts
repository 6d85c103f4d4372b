// Archives that are the same wherever and whenever they are made: GNU tar and gzip say in their files who made them, and
// when, unless they are told not to, and tars of other systems cannot be told.
import * as fs from 'node:fs';
import { gzipSync } from 'node:zlib';

const BLOCK = 512;

interface Entry {
  from: string;
  /** Its path below the directory of the archive. */
  to: string;
  mode: number;
}

/** A .tar.gz with files, each `{from, to, mode}`, below a directory; all have one time, in Unix seconds, and are of root. */
export function archive(directory: string, files: readonly Entry[], seconds: number): Buffer {
  const sorted = files.toSorted((a, b) => (a.to < b.to ? -1 : 1));
  const parts = sorted.flatMap(({ from, to, mode }) => {
    const content = fs.readFileSync(from);
    return [header(`${directory}/${to}`, content.length, mode, seconds), content, padding(content)];
  });
  const tar = Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
  const zipped = gzipSync(tar, { level: 9 });
  zipped[9] = 255; // of no known system
  return zipped;
}

/** A header of POSIX (ustar). */
function header(name: string, size: number, mode: number, seconds: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`path too long for an archive: ${name}`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1');
  block.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(seconds, 136, 12);
  block.write(' '.repeat(8), 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257, 'latin1');
  block.write('root', 265);
  block.write('root', 297);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function padding(content: Buffer): Buffer {
  return Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
}
