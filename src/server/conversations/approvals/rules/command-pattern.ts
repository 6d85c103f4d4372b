import { takesAddresses, dangerIn } from './programs.ts';
import { isPlain, isScript } from './shell-words.ts';
import { shorten } from '../../../../core/lib/shorten.ts';
import { type Gap, gapsIn } from './glob.ts';
import { isHidden, reachesOwnName } from './own-names.ts';

/** The words of a command. `*` is any word or any part of one; `**` at the end is any number of words. */
export interface CommandPattern {
  readonly words: readonly string[];
}

/**
 * How strictly a `*` matches. In a rule that allows, it matches only text that is known to be harmless; in a rule that
 * denies or asks, it matches any text.
 */
export type Strictness = 'strict' | 'any';

/** The index (from 0) of the first word of a command that does not match a pattern, and the reason as a text for users. */
export interface Misfit {
  at: number;
  why: string;
}

/**
 * Parses a pattern. Returns the reason if the pattern is invalid. `isConfirmed`: the user has confirmed that the program is
 * safe with any arguments, although it is not on the list of safe programs.
 */
export function readPattern(
  text: string,
  strictness: Strictness,
  isConfirmed = false,
): CommandPattern | { why: string } {
  const words = text.split(/[ \t]+/).filter((word) => word !== '');
  const rest = words.indexOf('**');
  if (rest >= 0 && rest !== words.length - 1)
    return { why: '`**` matches all remaining words: it has to be the last word' };
  if (strictness === 'any') return { words };
  const why = addressIn(words) ?? dangerIn(words, isConfirmed) ?? whyNeverAllowed(words);
  return why === null ? { words } : { why };
}

/** Returns the reason why the pattern can match no command, for any kind of rule; null if it can match some command. */
export function whyNothingFits(text: string): string | null {
  const words = text.split(/[ \t]+/).filter((word) => word !== '');
  const [program = ''] = words;
  const operator = words.find(
    (word) => program !== 'find' && /^[;&|<>]|^\d+[<>]|;|&&|\|\||[&|<>]$|`|\$\(/.test(word),
  );
  if (operator !== undefined)
    return `a rule with ${shown(operator)} never matches, because more than one simple command always requires an answer from a user: add one rule per command`;
  const quoted = words.find((word) => /^["']|["']$/.test(word));
  if (quoted !== undefined)
    return `a rule with ${shown(quoted)} never matches, because rules do not read quotes: leave them out, and use * for a word with spaces`;
  const unread = /[\\\p{C}\p{Zl}\p{Zp}]/u.exec(text);
  if (unread)
    return `the rule never matches, because a command with ${JSON.stringify(unread[0])} always requires an answer from a user`;
  if (program.includes('='))
    return `a rule with ${shown(program)} never matches, because a command that starts with an assignment always requires an answer from a user`;
  if (!isPlain(program.replaceAll('*', '')))
    return `the rule never matches: ${shown(program)} is not the name of a program`;
  if (isScript(words))
    return `the rule never matches, because cadre checks the command after ${shown(words.slice(0, 2).join(' '))}: use that command alone`;
  return null;
}

/** Returns the reason why a `*` of a pattern can match no name, so that the rule would allow nothing; null if each can. */
function whyNeverAllowed(words: readonly string[]): string | null {
  for (const wanted of words.filter((word) => word.includes('*') && word !== '**')) {
    const example = wanted.replaceAll('*', 'x');
    const why = harmIn(wanted, example, { takesAddresses: false, leadsOut: () => false });
    if (why !== null) return `${shown(wanted)} never matches: ${shown(example)} ${why}`;
  }
  return null;
}

/** Why the addresses of a pattern are open; null if each has its host. */
function addressIn(words: readonly string[]): string | null {
  for (const word of words) {
    const [, scheme = '', host = '', end = ''] =
      /^([a-z][\w+.-]*):\/\/([^/]*)(.?)/i.exec(word) ?? [];
    if (scheme === '' || !word.includes('*')) continue;
    if (!/^https?$/i.test(scheme))
      return `* never matches a part of an address of ${scheme}: write all of ${shown(word)}`;
    if ((host.includes('*') && !/^\*\.[^*@]+\.[^*.@]+$/.test(host)) || end === '')
      return 'the host of an address has to be complete, as in https://example.com/*';
  }
  return null;
}

/** Returns the first word that does not match the pattern of a rule that allows; null if the command matches. */
export function misfitOf(
  { words: pattern }: CommandPattern,
  words: readonly string[],
  leadsOut: StarContext['leadsOut'] = () => false,
): Misfit | null {
  const context = { takesAddresses: takesAddresses(pattern), leadsOut };
  const isOpen = pattern.at(-1) === '**';
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  for (const [at, word] of words.entries()) {
    const wanted = fixed[at] ?? (isOpen ? '*' : null);
    const why = wanted === null ? 'is an extra word' : harmIn(wanted, word, context);
    if (why !== null) return { at, why: `${shown(word)} ${why}` };
  }
  const missing = fixed[words.length];
  return missing === undefined ? null : { at: words.length, why: `${shown(missing)} is missing` };
}

export interface StarContext {
  /** Whether its program takes `name:path` as an address. */
  takesAddresses: boolean;
  /** Whether a link leads from that name out of `outer` (default: the directory of the command) or to hidden files. */
  leadsOut: (name: string, outer?: string) => boolean;
}

/** Why a word does not fit a word of a pattern to allow, or why it is not certain that what a `*` stands for is harmless. */
function harmIn(wanted: string, word: string, context: StarContext): string | null {
  const gaps = gapsIn(wanted, word);
  if (gaps === null) return `does not match ${shown(wanted)}`;
  if (gaps.length === 0) return null;
  const texts = gaps.map(({ start, end }) => word.slice(start, end));
  const last = wanted.endsWith('*') ? texts.pop() : undefined;
  if (texts.some((text) => /[/\\?#@:]/.test(text)))
    return `does not match ${shown(wanted)}: only * at the end of a word matches several names`;
  // `main*` of a branch is not `main:other`.
  if (last?.includes(':') === true && !wanted.startsWith('*') && !wanted.includes(':'))
    return `does not match ${shown(wanted)}: * does not match ":" here`;
  // The pattern has the host.
  if (/^https?:\/\//i.test(wanted)) return word.split(/[/?#&=]/).includes('..') ? LEADS_OUT : null;
  const why =
    (wanted.startsWith('*') ? meaningOf(word) : null) ??
    (context.takesAddresses && !wanted.includes(':') && /^[^/:]*:(?!:)/.test(word)
      ? 'is an address'
      : null);
  if (why !== null) return `${why}, which * does not match`;
  for (const name of namesIn(word, gaps)) {
    const harm = harmOfName(name, { wanted, word, gaps, context });
    if (harm !== null) return harm;
  }
  return null;
}

/** A word for a message. */
function shown(word: string): string {
  return JSON.stringify(shorten(word, 80));
}

const LEADS_OUT = 'leads out of the directory, which * does not match';

/** Returns the meaning of a word for programs if it is more than a name in the directory; null if it is only a name. */
function meaningOf(word: string): string | null {
  if (word === '') return 'is an empty word';
  if (/^[-+]/.test(word)) return 'is an option';
  if (word.startsWith('@')) return 'names a file of arguments';
  if (word.startsWith('/')) return 'is an absolute path';
  if (/^[^/]*=/.test(word)) return 'is an assignment';
  if (/^\.{2,}(?:\/|$)/.test(word)) return 'leads out of the directory';
  if (word.startsWith(':')) return 'starts with ":"';
  // `scheme:/`, `transport::address`, `user@host:path`, `host.example:path` and `[::1]:path`; but not `a.py::test`.
  const isAddress =
    /^[a-z][\w+.-]*:\//i.test(word) ||
    /^\w+::/.test(word) ||
    /^[^/]*@[^/]*:/.test(word) ||
    /^[^/:]*\.[^/:]+:(?!:)/.test(word) ||
    word.startsWith('[');
  return isAddress ? 'is an address' : null;
}

/** Maximum number of combined short options that are examined. */
const MAX_JOINED = 64;

/**
 * Each text, by the position where it begins, that a program may take for a name of a file: the parts of the word
 * between `=`, `:`, `,` and the like, and what can follow the letters of short options, where a `*` stands for some of it.
 */
function namesIn(word: string, gaps: readonly Gap[]): { text: string; at: number }[] {
  const names: { text: string; at: number }[] = [];
  let at = 0;
  for (const text of word.split(/[=:,;@|<>]/)) {
    const end = at + text.length;
    const isOpen = gaps.some((gap) => gap.start <= end && gap.end > at);
    if (isOpen && at === 0 && /^-[^-]/.test(text)) {
      const slash = text.indexOf('/');
      const latest = slash < 0 ? text.length - 1 : slash;
      for (let from = 2; from <= Math.min(latest, MAX_JOINED); from++)
        names.push({ text: text.slice(from), at: from });
      if (latest > MAX_JOINED) names.push({ text: '..', at: 0 });
    } else if (isOpen) {
      names.push({ text, at });
      // `x*` may be an option with its value: `/etc` of `x/etc`.
      for (const { start } of gaps)
        if (start > at && start < end && word[start] === '/' && word[start - 1] !== '/')
          names.push({ text: word.slice(start, end), at: start });
    }
    at = end + 1;
  }
  return names;
}

function harmOfName(
  { text, at }: { text: string; at: number },
  {
    wanted,
    word,
    gaps,
    context,
  }: { wanted: string; word: string; gaps: readonly Gap[]; context: StarContext },
): string | null {
  const isOpen = (position: number) =>
    gaps.some(({ start, end }) => position >= start && position < end);
  if (text.startsWith('/') && isOpen(at))
    return 'is or contains an absolute path, which * does not match';
  if (text.startsWith('~') && isOpen(at)) return 'names a home directory, which * does not match';
  let position = at;
  for (const name of text.split('/')) {
    if (name === '..') return LEADS_OUT;
    if (isOpen(position) && isHidden(name)) return 'names a hidden file, which * does not match';
    position += name.length + 1;
  }
  if (reachesOwnName(text, wanted)) return 'names files of git or agents, which * does not match';
  // The pattern has the directory of an absolute path up to its first `*`.
  const written = word.slice(at, gaps.find(({ end }) => end > at)?.start ?? at);
  const outer = text.startsWith('/') ? written.slice(0, written.lastIndexOf('/') + 1) : undefined;
  return context.leadsOut(text, outer) ? LEADS_OUT : null;
}
