// Archives that are the same on every machine and at any time. GNU tar and gzip write user and time into their files
// by default, and tar on other systems has no option against it.
import * as fs from 'node:fs';
import { gzipSync } from 'node:zlib';

const BLOCK = 512;

/** A file to pack: its source, its path in the package, and its mode. */
export interface Entry {
  from: string;
  /** Its path below the directory of the archive. */
  to: string;
  mode: number;
}

/** A file or directory of a tar file. A directory has no content. */
export interface Member {
  path: string;
  mode: number;
  content?: Buffer;
}

/** A .tar.gz with files, each `{from, to, mode}`, below a directory; all have one time, in Unix seconds, and are of root. */
export function archive(directory: string, files: readonly Entry[], seconds: number): Buffer {
  const members = files.map(({ from, to, mode }) => ({
    path: `${directory}/${to}`,
    mode,
    content: fs.readFileSync(from),
  }));
  return tarGz(members, seconds);
}

/** A .tar.gz with members in the order of their paths; all have one time, in Unix seconds, and are of root. */
export function tarGz(members: readonly Member[], seconds: number): Buffer {
  const sorted = members.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const parts = sorted.flatMap((member) => {
    const { content = Buffer.alloc(0) } = member;
    return [header(member, seconds), content, padding(content)];
  });
  return gzip(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

/** Compressed bytes, without a time and a system. */
export function gzip(bytes: Uint8Array): Buffer {
  const zipped = gzipSync(bytes, { level: 9 });
  zipped[9] = 255; // unknown operating system
  return zipped;
}

/** A header of POSIX (ustar). */
function header({ path, mode, content }: Member, seconds: number): Buffer {
  if (Buffer.byteLength(path) > 100) throw new Error(`path too long for an archive: ${path}`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1');
  block.write(path, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content?.length ?? 0, 124, 12);
  octal(seconds, 136, 12);
  block.write(' '.repeat(8), 148);
  block.write(content ? '0' : '5', 156);
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
