// The habits of style that prose.mjs refuses. CONTRIBUTING.md describes the style.
import type { Term } from '../glossary.ts';

/** One text for a reader. `…` in it is a value or a piece of code. */
export interface Text {
  kind: 'help' | 'errors' | 'messages' | 'schema' | 'docs' | 'comments' | 'titles' | 'groups';
  file: string;
  line: number;
  text: string;
  /** Whether it describes a command, an option or an argument in the help. */
  isLabel?: boolean;
}

export interface Finding extends Text {
  habit: string;
  found: string;
}

const opening = /^(?:what|whose|those|that|of(?! course)|each of)\b/i;
const comparative =
  'longer|more|less|fewer|later|earlier|larger|bigger|smaller|older|newer|greater|higher|lower|better|worse|different|other';

/** A habit may be found several times in a text. */
const phrases: Readonly<Record<string, RegExp>> = {
  'negated noun': new RegExp(
    `(?<!\\bthere |\\bthere (?:may|must|can|could|should|will|would) )\\b(?:is|are|was|were|be) (?:no|none)\\b(?! (?:${comparative})\\b)`,
    'gi',
  ),
  'things that tell': /\b(?:told|tells|hears)\b/gi,
  'goes on': /\b(?:goes|go|went) on\b/gi,
  'at the begin': /\b(?:at the begin|begin of)\b/gi,
  'stands above': /\bstands? (?:above|below)\b/gi,
  'be had': /\bbe had\b/gi,
  'good for': /\bgood for\b/gi,
  'that of': /\b(?:that|those) of\b/gi,
};

/** Returns a function that finds the habits in a text, and the words that the glossary refuses in prose. */
export function proseCheck(terms: readonly Term[]): (text: Text) => Finding[] {
  const words = terms.flatMap(({ term, phrases: refused }) =>
    refused.map((not) => ({
      habit: `"${not}", where the glossary has "${term}"`,
      pattern: new RegExp(`(?<![\\w-])${not.replaceAll(' ', '\\s+')}s?(?![\\w-])`, 'gi'),
    })),
  );
  const patterns = [
    ...Object.entries(phrases).map(([habit, pattern]) => ({ habit, pattern })),
    ...words,
  ];
  return (text) => {
    const flat = text.text.replaceAll(/\s+/g, ' ').trim();
    return [
      ...sentencesOf(text.text)
        .filter((sentence) => opening.test(sentence) && !sentence.endsWith('?'))
        .map((sentence) => ({ habit: 'clause for a noun', found: sentence })),
      ...patterns.flatMap(({ habit, pattern }) =>
        [...flat.matchAll(pattern)].map(({ index, 0: match }) => ({
          habit,
          found: flat.slice(Math.max(0, index - 40), index + match.length + 40),
        })),
      ),
      ...(text.isLabel === true && isPoorLabel(flat) ? [{ habit: 'label', found: flat }] : []),
      ...(text.kind === 'titles' && !hasSubject(flat)
        ? [{ habit: 'title without a subject', found: flat }]
        : []),
    ].map((found) => ({ ...text, ...found }));
  };
}

/** The sentences of a text, without marks before their first word. A blank line ends a sentence, too. */
function sentencesOf(text: string): string[] {
  return text
    .split(/\n\s*\n|(?<=[.!?][)"'*_]*)\s+/)
    .map((sentence) => sentence.replace(/^[^\p{L}\p{N}…]+/u, '').trim())
    .filter(Boolean);
}

/** A label starts with a capital letter and a noun or verb, and has no full stop. */
function isPoorLabel(text: string): boolean {
  return /^\p{Ll}/u.test(text) || /^(?:its?|their|they|them)\b/i.test(text) || /[^.]\.$/.test(text);
}

/** Commands that may be the subject of a title. */
const commands = new Set(['cadre', 'make']);

/** A title starts with a capital letter, a quote, a command, a value, or a name that contains `_`, `.` or `/`. */
function hasSubject(title: string): boolean {
  const [first = ''] = title.split(' ');
  return !/^\p{Ll}/u.test(first) || /[_/]|\.\w/.test(first) || commands.has(first);
}
