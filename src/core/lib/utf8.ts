/** How many bytes at the end of `bytes` begin a character that `bytes` does not complete. */
export function incompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/** How many bytes at the beginning of `bytes` continue a character that began before it. */
export function continuationBytes(bytes: Buffer): number {
  let count = 0;
  while (count < Math.min(3, bytes.length) && ((bytes[count] ?? 0) & 0xc0) === 0x80) count++;
  return count;
}
