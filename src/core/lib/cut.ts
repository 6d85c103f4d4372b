import { continuationBytes, incompleteBytes } from './utf8.ts';

/** The first `bytes` bytes of the text as UTF-8, or a few less where the limit would cut a character. */
export function firstBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  const cut = all.subarray(0, bytes);
  return cut.toString('utf8', 0, cut.length - incompleteBytes(cut));
}

/** The last `bytes` bytes of the text as UTF-8, or a few less where the limit would cut a character. */
export function lastBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  const cut = all.subarray(all.length - bytes);
  return cut.toString('utf8', continuationBytes(cut));
}

/** The size of the value as JSON, in bytes of UTF-8. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** The end of the text that takes at most `bytes` bytes as a JSON string, whose quotes and escapes count. */
export function lastBytesAsJson(text: string, bytes: number): string {
  let end = lastBytes(text, Math.max(0, bytes));
  for (let size = jsonBytes(end); size > bytes && end !== ''; size = jsonBytes(end))
    end = lastBytes(end, Math.floor((Buffer.byteLength(end) * bytes) / size) - 1);
  return end;
}
