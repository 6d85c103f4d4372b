/** What a scan reads of a text. */
export type Scanned = Pick<string, 'length' | 'charCodeAt'>;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where the string ends whose opening quote is at `start` of a JSON text; the end of the text where it does not. */
export function endOfString(text: Scanned, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) return at;
    if (character === BACKSLASH) at++;
  }
  return text.length;
}
