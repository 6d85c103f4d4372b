import { distance } from 'fastest-levenshtein';

/** The candidates that are close enough to a misspelled word to be meant by it, the closest first. */
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
