import { crc32 } from 'node:zlib';

/**
 * The checksum of a stored text, seeded with the row's number so that a right text in a wrong row is noticed.
 */
export function checksum(text: string, seed = 0): number {
  return crc32(text, seed >>> 0);
}
