import { invalidError } from '../../../api/errors.ts';
import { apart, type Word, wordsOf } from './words.ts';

export interface Term {
  words: readonly string[];
  /** The same with joined words apart, so that `camelCase` finds `camel_case`; null where nothing is joined. */
  apart: readonly string[] | null;
  /** Whether the last word may be the beginning of one. */
  isPrefix: boolean;
  isExcluded: boolean;
}

const MAX_WORDS = 64;
const CHUNK = /(-?)"([^"]*)"?(\*?)|(\S+)/gu;

/**
 * Returns the terms of a query. Words match anywhere in a text, `"in quotes"` one after the other; `word*` is the
 * beginning of words, and texts with `-word` are left out. Everything else, such as the operators of other
 * languages, is read as words. Throws `invalid` for a query without words, or with more than 64.
 */
export function termsOf(query: string): Term[] {
  const terms: Term[] = [];
  for (const [, not, quoted, star, bare = ''] of query
    .replaceAll(/[\u201c-\u201e\u00ab\u00bb]/g, '"')
    .matchAll(CHUNK)) {
    const isQuoted = quoted !== undefined;
    const text = isQuoted ? quoted : bare;
    const isExcluded = isQuoted ? not === '-' : /^-[^-]/.test(bare);
    const isPrefix = isQuoted ? star === '*' : bare.endsWith('*');
    const words = wordsOf(text);
    if (words.length === 0) continue;
    terms.push({ words: textsOf(words), apart: apartOf(text, words), isPrefix, isExcluded });
  }
  assertSearchable(terms);
  return terms;
}

/** The query in the language of SQLite's FTS4. `marks` are words that the index has beside the words of the text. */
export function matchExpression(
  terms: readonly Term[],
  marks: readonly (readonly string[])[],
): string {
  const wanted = terms.filter(({ isExcluded }) => !isExcluded).map(expressionOf);
  const any = marks.map((some) => `(${some.map((mark) => `"${mark}"`).join(' OR ')})`);
  const unwanted = terms.filter(
    ({ isExcluded, words, isPrefix }) => isExcluded && !isPrefix && words.length === 1,
  );
  return unwanted.reduce(
    (all, { words }) => `(${all}) NOT "${words[0]}"`,
    [...any, ...wanted].join(' AND '),
  );
}

function expressionOf({ words, apart: other, isPrefix }: Term): string {
  const phrase = (of: readonly string[]) => `"${of.join(' ')}${isPrefix ? '*' : ''}"`;
  return other === null ? phrase(words) : `(${phrase(words)} OR ${phrase(other)})`;
}

function assertSearchable(terms: readonly Term[]): void {
  if (terms.length === 0) throw invalidError('query.q: the query contains no word to search for');
  const count = terms.reduce((sum, { words, apart: other }) => sum + (other ?? words).length, 0);
  if (count <= MAX_WORDS) return;
  throw invalidError(
    `query.q: the query has too many words (${count}): the maximum is ${MAX_WORDS} words`,
  );
}

function apartOf(text: string, words: readonly Word[]): string[] | null {
  const parts = apart(text, words);
  return parts && textsOf(parts);
}

function textsOf(words: readonly Word[]): string[] {
  return words.map(({ text }) => text);
}

/** A position in a text at which a term of the query stands, in UTF-16 code units. */
export interface Span {
  start: number;
  end: number;
  term: number;
}

/** Returns the positions of the terms in a text, in order; null if it does not match. The index only proposes texts. */
export function spansIn(text: string, terms: readonly Term[]): Span[] | null {
  const words = wordsOf(text);
  const parts = apart(text, words);
  const all: Span[] = [];
  for (const [term, wanted] of terms.entries()) {
    const found = [
      ...positionsOf(words, wanted.words, wanted.isPrefix),
      ...(parts ? positionsOf(parts, wanted.words, wanted.isPrefix) : []),
      ...(wanted.apart ? positionsOf(parts ?? words, wanted.apart, wanted.isPrefix) : []),
    ];
    if (found.length > 0 === wanted.isExcluded) return null;
    for (const span of found) all.push({ ...span, term });
  }
  return all.toSorted((a, b) => a.start - b.start || b.end - a.end);
}

function positionsOf(
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

/** How well a text matches: a term counts less with each time, more in a short text, and more if terms are close. */
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
