/** The part of a string that the scanner uses, so that other sequences of characters can be scanned, too. */
export type Scanned = Pick<string, 'length' | 'charCodeAt'>;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The index of the quote that closes the JSON string at `start`; the length of the text if none does. */
export function closingQuote(text: Scanned, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) return at;
    if (character === BACKSLASH) at++;
  }
  return text.length;
}
