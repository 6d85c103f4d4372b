import { shorten } from '../lib/shorten.ts';
import { reachesOwnName } from './own-names.ts';
import { dangerIn } from './programs.ts';

/**
 * The words that a command has to have, one by one. `*` is any word, or any part of the word that it is in; `**` at the
 * end is any number of words.
 */
export interface CommandPattern {
  readonly words: readonly string[];
}

/** How strictly a `*` is taken. To allow, it has to be harmless what it stands for; to deny or ask, it is anything. */
export type Strictness = 'strict' | 'any';

/** The first word of a command that does not fit a pattern, by its place from 0, and why, for people. */
export interface Misfit {
  at: number;
  why: string;
}

/** Reads a pattern. Returns why it cannot be one, where it cannot. */
export function readPattern(
  text: string,
  strictness: Strictness,
): CommandPattern | { why: string } {
  const words = text.split(/[ \t]+/).filter((word) => word !== '');
  const rest = words.indexOf('**');
  if (rest >= 0 && rest !== words.length - 1)
    return { why: '`**` stands for all further words, so it has to be the last one' };
  if (strictness === 'any') return { words };
  if (words.some((word) => /^[a-z][\w+.-]*:\/\/[^/]*\*$/i.test(word)))
    return { why: 'the host of an address has to be complete: https://example.com/*' };
  const open = words.findIndex((word) => word.includes('*'));
  const why = dangerIn(words, open);
  return why === null ? { words } : { why };
}

/** Whether any form of a command fits the pattern of a rule to deny or ask. */
export function fitsAny(
  { words: pattern }: CommandPattern,
  forms: readonly (readonly string[])[],
): boolean {
  return forms.some((form) => firstMisfit(pattern, form, isUnlike) === null);
}

/**
 * The first word that does not fit the pattern of a rule to allow; null if the command fits. `leadsOut` says whether a
 * word names a file elsewhere, behind a symbolic link.
 */
export function misfitOf(
  { words: pattern }: CommandPattern,
  words: readonly string[],
  leadsOut: (word: string) => boolean = () => false,
): Misfit | null {
  return firstMisfit(pattern, words, (wanted, word) => harmIn(wanted, word, leadsOut));
}

function firstMisfit(
  pattern: readonly string[],
  words: readonly string[],
  whyNot: (wanted: string, word: string) => string | null,
): Misfit | null {
  const isOpen = pattern.at(-1) === '**';
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  for (const [at, word] of words.entries()) {
    const wanted = fixed[at] ?? (isOpen ? '*' : null);
    const why = wanted === null ? 'is a word too many' : whyNot(wanted, word);
    if (why !== null) return { at, why: `${shown(word)} ${why}` };
  }
  const missing = fixed[words.length];
  return missing === undefined ? null : { at: words.length, why: `${shown(missing)} is missing` };
}

function shown(word: string): string {
  return JSON.stringify(shorten(word, 80));
}

/** Why a word does not fit one that may have `*` for anything. */
function isUnlike(wanted: string, word: string): string | null {
  return gapsIn(wanted, word) === null ? `is not ${shown(wanted)}` : null;
}

/** Why a word does not fit, or why it is not certain that it is harmless. */
function harmIn(wanted: string, word: string, leadsOut: (word: string) => boolean): string | null {
  const gaps = gapsIn(wanted, word);
  if (gaps === null) return `is not ${shown(wanted)}`;
  if (!wanted.includes('*')) return null;
  const why = wanted.startsWith('*') ? meaningOf(word) : null;
  if (why !== null) return `${why}, which * does not stand for`;
  if (gaps.slice(0, -1).some((gap) => /[/\\?#@:]/.test(gap)))
    return `is not ${shown(wanted)}: only a * at the end stands for several names`;
  if (word.split(/[/=:,]/).includes('..') || leadsOut(word))
    return 'leads out of the directory, which * does not do';
  if (reachesOwnName(word, wanted))
    return 'names files of git or agents: * does not stand for them';
  return null;
}

/** What a word says to programs beside being a name in the directory; null if nothing. */
function meaningOf(word: string): string | null {
  if (word === '') return 'is an empty word';
  if (/^[-+]/.test(word)) return 'is an option';
  if (word.startsWith('@')) return 'names a file that holds arguments';
  if (word.startsWith('/')) return 'is an absolute path';
  if (/^[^/]*=/.test(word)) return 'is a setting';
  if (/^\.{2,}(?:\/|$)/.test(word)) return 'leads out of the directory';
  if (word.startsWith(':')) return 'begins with ":"';
  // `scheme:/`, `transport::address`, `user@host:path`, `host.example:path` and `[::1]:path`; but not `a.py::test`.
  const isAddress =
    /^[a-z][\w+.-]*:\//i.test(word) ||
    /^\w+::/.test(word) ||
    /^[^/]*@[^/]*:/.test(word) ||
    /^[^/:]*\.[^/:]+:(?!:)/.test(word) ||
    word.startsWith('[');
  return isAddress ? 'is an address' : null;
}

/** What each `*` of a word stands for; null if the word is another one. */
function gapsIn(wanted: string, word: string): string[] | null {
  const [first = '', ...others] = wanted.split('*');
  if (others.length === 0) return wanted === word ? [] : null;
  const last = others.pop() ?? '';
  if (!word.startsWith(first)) return null;
  const gaps: string[] = [];
  let end = first.length;
  for (const part of others) {
    const found = word.indexOf(part, end);
    if (found < 0) return null;
    gaps.push(word.slice(end, found));
    end = found + part.length;
  }
  const rest = word.slice(end);
  if (!rest.endsWith(last)) return null;
  const gap = rest.slice(0, rest.length - last.length);
  // What follows the last `*` makes it an inner one.
  return last === '' ? [...gaps, gap] : [...gaps, gap, ''];
}
