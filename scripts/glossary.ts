// Reads docs/glossary.md: its terms, and the words that it refuses in prose and in names.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Term {
  term: string;
  /** Phrases that prose does not use. */
  phrases: readonly string[];
  /** Names that identifiers do not use: `Name` as one of their words, `=Name` as the whole identifier. */
  names: readonly string[];
}

const page = fileURLToPath(new URL('../docs/glossary.md', import.meta.url));

export function readGlossary(text: string = readFileSync(page, 'utf8')): Term[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|(?:-|\s*Term\s*\|)/.test(line))
    .map((line) => {
      const [term = '', , not = ''] = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      const entries = not.split(',').map((entry) => entry.trim());
      return {
        term,
        phrases: entries.filter((entry) => entry !== '' && !entry.startsWith('`')),
        names: entries.filter((entry) => entry.startsWith('`')).map((entry) => entry.slice(1, -1)),
      };
    });
}

export interface Refusal {
  /** The name or phrase that the glossary refuses. */
  not: string;
  /** The term to use. */
  term: string;
}

/** Returns a function that returns why the glossary refuses an identifier or file name; undefined if it does not. */
export function nameCheck(terms: readonly Term[]): (name: string) => Refusal | undefined {
  const refused = terms.flatMap(({ term, names }) =>
    names.map((not) => ({ not, term, words: wordsOf(not) })),
  );
  return (name) => {
    const words = wordsOf(name);
    const found = refused.find(({ not, words: wanted }) =>
      not.startsWith('=') ? name === not.slice(1) : containsWords(words, wanted),
    );
    return found && { not: found.not, term: found.term };
  };
}

/** Returns the words of a camel-case, kebab-case or snake-case name, in lower case. */
function wordsOf(name: string): string[] {
  return name
    .split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .filter(Boolean)
    .map((word) => word.toLowerCase());
}

/** Whether `words` contains `wanted` as consecutive words, the last of them possibly in the plural. */
function containsWords(words: readonly string[], wanted: readonly string[]): boolean {
  return words.some((_, at) =>
    wanted.every((word, index) => {
      const found = words[at + index];
      return found === word || (index === wanted.length - 1 && found === `${word}s`);
    }),
  );
}
