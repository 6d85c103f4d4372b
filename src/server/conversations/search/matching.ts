import type { Term } from './query.ts';
import { apart, type Word, wordsOf } from './words.ts';

/** A place of a text at which a term of the query stands, in UTF-16 code units. */
export interface Span {
  start: number;
  end: number;
  term: number;
}

/**
 * The places at which the terms of a query stand in a text, in the order of the text; null if it does not match. The
 * index only proposes texts: this decides.
 */
export function spansIn(text: string, terms: readonly Term[]): Span[] | null {
  const words = wordsOf(text);
  const parts = apart(text, words);
  const all: Span[] = [];
  for (const [term, wanted] of terms.entries()) {
    const found = [
      ...placesOf(words, wanted.words, wanted.isPrefix),
      ...(parts ? placesOf(parts, wanted.words, wanted.isPrefix) : []),
      ...(wanted.apart ? placesOf(parts ?? words, wanted.apart, wanted.isPrefix) : []),
    ];
    if (found.length > 0 === wanted.isExcluded) return null;
    for (const span of found) all.push({ ...span, term });
  }
  return all.toSorted((a, b) => a.start - b.start || b.end - a.end);
}

function placesOf(
  words: readonly Word[],
  wanted: readonly string[],
  isPrefix: boolean,
): { start: number; end: number }[] {
  const found = [];
  for (let at = 0; at + wanted.length <= words.length; at++) {
    if (!standsAt(words, at, wanted, isPrefix)) continue;
    const [first, last] = [words[at], words[at + wanted.length - 1]];
    if (first && last) found.push({ start: first.start, end: last.end });
  }
  return found;
}

function standsAt(
  words: readonly Word[],
  at: number,
  wanted: readonly string[],
  isPrefix: boolean,
): boolean {
  return wanted.every((one, i) => {
    const word = words[at + i]?.text;
    return isPrefix && i === wanted.length - 1 ? word?.startsWith(one) : word === one;
  });
}

/**
 * How well a text matches; more is better. It counts how often each term stands in it, ever less with each time, in a
 * short text more than in a long one, and more where the terms stand close to each other.
 */
export function scoreOf(text: string, spans: readonly Span[], terms: number): number {
  const counts = new Map<number, number>();
  for (const { term } of spans) counts.set(term, (counts.get(term) ?? 0) + 1);
  let score = 0;
  for (const count of counts.values()) score += 1 + Math.log(count) / 2;
  const width = counts.size < 2 ? 0 : narrowest(spans, counts.size);
  return (score / (1 + Math.log10(1 + text.length / 200))) * (1 + terms / (1 + width / 20));
}

/** The length of the shortest part of the text that has all terms. */
function narrowest(spans: readonly Span[], terms: number): number {
  const last = new Map<number, number>();
  let best = Infinity;
  for (const { term, start, end } of spans) {
    last.set(term, start);
    if (last.size === terms) best = Math.min(best, end - Math.min(...last.values()));
  }
  return best;
}
