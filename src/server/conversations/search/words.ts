/** A word of a text as the index has it, and its position in the text in UTF-16 code units. */
export interface Word {
  text: string;
  start: number;
  end: number;
}

/** The number of words of one text that are indexed and searched; what comes behind them is not found. */
const MAX_WORDS = 10_000;
/** A longer word, such as a text in base64, is found by its beginning. In UTF-16 code units. */
const MAX_LENGTH = 64;
const MAX_PARTS = 12;

const RUN = /[\p{L}\p{N}\p{M}]+|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}/gu;
/** Scripts that put no space between words: each character is a word, and a text of several is looked for as a phrase. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const PIECE = new RegExp(`${UNSPACED.source}\\p{M}*|(?:(?!${UNSPACED.source})[^])+`, 'gu');
const IS_ASCII = /^[\u0000-\u007f]*$/;
/** The marks of letters that people leave out when they type; in other scripts, a mark makes another letter. */
const ACCENTS = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{M}+/gu;
const JOINT = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const HAS_JOINT = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}{2}\p{Ll}/u;

/**
 * The words of a text, folded: without case, accents and the variants of compatibility. Letters and digits make words,
 * so a path or a name with dots, dashes or underscores is several; an emoji is a word of its own.
 */
export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (IS_ASCII.test(run) || !UNSPACED.test(run)) words.push(wordAt(run, index));
    else words.push(...piecesOf(run.slice(0, MAX_WORDS), index));
    if (words.length >= MAX_WORDS) return words.slice(0, MAX_WORDS);
  }
  return words;
}

/** The words with each that is joined of several, as `camelCase` is, replaced by these; null if there is none. */
export function apart(text: string, words: readonly Word[]): Word[] | null {
  if (!HAS_JOINT.test(text)) return null;
  return words.flatMap((word) => {
    const parts = partsOf(text.slice(word.start, word.end));
    if (parts.length < 2) return [word];
    let start = word.start;
    return parts.map((part) => {
      const one = wordAt(part, start);
      start = one.end;
      return one;
    });
  });
}

/** Returns the text as the index stores it: its words, then the parts of words, with spaces between them. */
export function indexText(text: string): string {
  const words = wordsOf(text);
  const all = words.map((word) => word.text);
  if (HAS_JOINT.test(text)) {
    for (const { start, end } of words) {
      const parts = partsOf(text.slice(start, end));
      if (parts.length > 1) all.push(...parts.map((part) => fold(part)));
    }
  }
  return all.join(' ');
}

function piecesOf(run: string, start: number): Word[] {
  return [...run.matchAll(PIECE)].map(({ 0: piece, index }) => wordAt(piece, start + index));
}

function partsOf(run: string): string[] {
  const parts = HAS_JOINT.test(run) ? run.split(JOINT) : [run];
  return parts.length > MAX_PARTS ? [run] : parts;
}

function wordAt(run: string, start: number): Word {
  return { text: fold(run), start, end: start + run.length };
}

function fold(run: string): string {
  const lower = run.slice(0, MAX_LENGTH).toLowerCase();
  if (IS_ASCII.test(lower)) return lower;
  return lower
    .toWellFormed()
    .normalize('NFKD')
    .replaceAll(ACCENTS, '$1')
    .normalize('NFKC')
    .replaceAll('ß', 'ss')
    .replaceAll('ς', 'σ');
}
