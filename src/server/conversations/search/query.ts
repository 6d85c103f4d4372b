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
