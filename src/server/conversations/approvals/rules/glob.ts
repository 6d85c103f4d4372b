/** The part of a word that a `*` matches: the text from `start` to `end`. */
export interface Gap {
  start: number;
  end: number;
}

/**
 * Returns the part of a word that each `*` of a pattern matches, with the earliest position of each text between them; null
 * if the word does not match. Each character of the word is compared once, whatever the number of `*`: a pattern never
 * becomes a regular expression.
 */
export function gapsIn(pattern: string, word: string): Gap[] | null {
  const pieces = pattern.split('*');
  const [first = ''] = pieces;
  if (pieces.length === 1) return pattern === word ? [] : null;
  const last = pieces.at(-1) ?? '';
  const lastAt = word.length - last.length;
  if (!word.startsWith(first) || !word.endsWith(last)) return null;
  const gaps: Gap[] = [];
  let start = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const end = word.indexOf(piece, start);
    if (end < 0) return null;
    gaps.push({ start, end });
    start = end + piece.length;
  }
  return start > lastAt ? null : [...gaps, { start, end: lastAt }];
}
