import { distance } from 'fastest-levenshtein';

/** The candidates that a misspelled word may have meant, most likely first. */
export function nearest<T>(
  candidates: readonly T[],
  word: string,
  nameOf: (one: T) => string,
): T[] {
  const far = (one: T) => distance(nameOf(one), word);
  return candidates
    .filter((one) => far(one) <= Math.max(2, word.length / 2))
    .toSorted((a, b) => far(a) - far(b));
}
