import { takesAddresses } from './known-safe.ts';
import { dangerIn } from './programs.ts';
import { isPlain, isScript } from './shell-words.ts';
import { harmIn, shown, type StarContext } from './star-harm.ts';

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

/**
 * Reads a pattern. Returns why it cannot be one, where it cannot. `isConfirmed`: a person knows what its program does with
 * any words, although the program is not on the list of known safe ones.
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

/** Why no command that rules can read fits the pattern, whatever the rule is for; null if some may. */
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

/** Why a `*` of a pattern cannot stand for any name, so that the rule would allow nothing; null if each can. */
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

/** The first word that does not fit the pattern of a rule to allow; null if the command fits. */
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
