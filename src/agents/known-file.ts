import { isUtf8 } from 'node:buffer';
import fs from 'node:fs/promises';
import path from 'node:path';
import { ForeignFileError, readForeignFile } from '../core/lib/foreign-file.ts';

const MAX_BYTES = 1024 * 1024;

/** The content of a file that an agent names. `text` is null where there is no such file. */
export type FileContent =
  | { is: 'read'; text: string | null }
  | { is: 'unread'; why: string; bytes: number };

/** Reads a text file of at most 1 MiB to show what an agent would change in it. Never throws. */
export async function readFileContent(name: string, cwd: string): Promise<FileContent> {
  try {
    const real = await fs.realpath(path.resolve(cwd, name));
    const { size } = await fs.stat(real);
    if (size > MAX_BYTES) return { is: 'unread', why: 'larger than 1 MiB', bytes: size };
    const bytes = await readForeignFile('/', path.relative('/', real), { maxBytes: MAX_BYTES });
    if (bytes === null) return { is: 'read', text: null };
    if (!isUtf8(bytes)) return { is: 'unread', why: 'not a text file', bytes: bytes.length };
    return { is: 'read', text: bytes.toString('utf8') };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { is: 'read', text: null };
    const why =
      error instanceof ForeignFileError ? 'not a regular file' : (codeOf(error) ?? 'unknown');
    return { is: 'unread', why: `not readable (${why})`, bytes: 0 };
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
