import { readSmallFile } from './foreign-file.ts';

/** Returns the problem of an address of NATS, with the solution; null if there is none. */
export function problemOfAddress(url: string): string | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed && /^(nats|tls):$/.test(parsed.protocol) && parsed.hostname !== '') return null;
  return `"${url}" is not an address of NATS: expected nats://HOST:PORT or tls://HOST:PORT`;
}

/** Returns the text of a certificate or key in PEM. Throws an Error for an unreadable or invalid file. */
export function readPem(file: string): string {
  const { text } = read(file);
  if (/^-----BEGIN /m.test(text)) return text;
  throw new Error(`the file ${file} is not in PEM format, because no line starts with -----BEGIN`);
}

/** The seed of an nkey in a file. Throws an Error for a file that others may read, and for one without a seed. */
export function readSeed(file: string): Uint8Array {
  const { text, stat } = read(file);
  if ((stat.mode & 0o077) !== 0)
    throw new Error(`the key file ${file} is readable for other users: run chmod 600 on the file`);
  const seed = /^SU[A-Z2-7]{50,60}$/m.exec(text)?.[0];
  if (seed === undefined)
    throw new Error(
      `the key file ${file} contains no seed of a NATS user key (nkey): expected a line that starts with SU`,
    );
  return new TextEncoder().encode(seed);
}

const MAX_FILE_BYTES = 64 * 1024;

function read(file: string): ReturnType<typeof readSmallFile> {
  try {
    return readSmallFile(file, { maxBytes: MAX_FILE_BYTES });
  } catch (error) {
    throw new Error(`cannot read the file ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
