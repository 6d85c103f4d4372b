import { crc32 } from 'node:zlib';

/**
 * The checksum of a stored text, which may be given as its UTF-8 bytes. Its seed is the row's number, so that an intact
 * text in the wrong row is noticed.
 */
export function checksum(text: string | Uint8Array, seed = 0): number {
  return crc32(text, seed >>> 0);
}
