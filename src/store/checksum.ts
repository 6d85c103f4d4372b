import { crc32 } from 'node:zlib';

/**
 * The checksum of a stored text. Its seed is the row's number, so that an intact text in the wrong row is noticed.
 */
export function checksum(text: string, seed = 0): number {
  return crc32(text, seed >>> 0);
}
