import { shorten } from '../../../../core/lib/shorten.ts';
import { type Gap, gapsIn } from './glob.ts';
import { isHidden, reachesOwnName } from './own-names.ts';

export interface StarContext {
  /** Whether its program takes `name:path` as an address. */
  takesAddresses: boolean;
  /**
   * Whether a symbolic link puts the file of that name out of `outer`, by default the directory of the command, or among
   * hidden files.
   */
  leadsOut: (name: string, outer?: string) => boolean;
}

/** Why a word does not fit a word of a pattern to allow, or why it is not certain that what a `*` stands for is harmless. */
export function harmIn(wanted: string, word: string, context: StarContext): string | null {
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
export function shown(word: string): string {
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

/** More characters of options that are written together are not judged. */
const MAX_JOINED = 64;

/**
 * Each text, by the place where it begins, that a program may take for a name of a file: the parts of the word between
 * `=`, `:`, `,` and the like, and what can follow the letters of short options, where a `*` stands for some of it.
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
  const isOpen = (place: number) => gaps.some(({ start, end }) => place >= start && place < end);
  if (text.startsWith('/') && isOpen(at))
    return 'is or contains an absolute path, which * does not match';
  if (text.startsWith('~') && isOpen(at)) return 'names a home directory, which * does not match';
  let place = at;
  for (const name of text.split('/')) {
    if (name === '..') return LEADS_OUT;
    if (isOpen(place) && isHidden(name)) return 'names a hidden file, which * does not match';
    place += name.length + 1;
  }
  if (reachesOwnName(text, wanted)) return 'names files of git or agents, which * does not match';
  // The pattern has the directory of an absolute path up to its first `*`.
  const written = word.slice(at, gaps.find(({ end }) => end > at)?.start ?? at);
  const outer = text.startsWith('/') ? written.slice(0, written.lastIndexOf('/') + 1) : undefined;
  return context.leadsOut(text, outer) ? LEADS_OUT : null;
}
