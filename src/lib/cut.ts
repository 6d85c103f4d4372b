import { continuationBytes, incompleteBytes } from './utf8.ts';

/** The beginning of a text, at most `bytes` of UTF-8 in whole characters. */
export function beginningOf(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  const cut = all.subarray(0, bytes);
  return cut.toString('utf8', 0, cut.length - incompleteBytes(cut));
}

/** The end of a text, at most `bytes` of UTF-8 in whole characters. */
export function endOf(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  const cut = all.subarray(all.length - bytes);
  return cut.toString('utf8', continuationBytes(cut));
}

/** How many bytes a value is as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** The end of a text that is at most `bytes` as JSON: what is escaped takes more than it is. */
export function endAsJson(text: string, bytes: number): string {
  let end = endOf(text, Math.max(0, bytes));
  for (let size = jsonBytes(end); size > bytes && end !== ''; size = jsonBytes(end))
    end = endOf(end, Math.floor((Buffer.byteLength(end) * bytes) / size) - 1);
  return end;
}
