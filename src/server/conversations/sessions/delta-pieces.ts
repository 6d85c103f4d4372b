/** The maximum length of a delta, in UTF-16 code units. Even fully escaped as JSON, it fits into an event's payload. */
const MAX_DELTA_CHARACTERS = 32 * 1024;

/** Splits a text into pieces of at most one delta, without splitting a character. */
export function inPieces(text: string): string[] {
  const pieces: string[] = [];
  for (let rest = text; rest !== '';) {
    const piece = wholeCharacters(
      rest.slice(0, MAX_DELTA_CHARACTERS),
      rest.length <= MAX_DELTA_CHARACTERS,
    );
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

/** Returns the text without a high surrogate at its end, because the low one may follow; with `isEnd`, all of it. */
export function wholeCharacters(text: string, isEnd: boolean): string {
  const last = text.charCodeAt(text.length - 1);
  return !isEnd && last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
