import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  spansIn,
  matchExpression,
  termsOf,
} from '../../../../src/server/conversations/search/query.ts';
import { snippetOf } from '../../../../src/server/conversations/search/finder.ts';
import { indexText, wordsOf } from '../../../../src/server/conversations/search/words.ts';
import { anyText } from '../../../support/any-text.ts';

const textsOf = (text: string) => wordsOf(text).map((word) => word.text);
const finds = (query: string, text: string) => spansIn(text, termsOf(query)) !== null;
const marked = (query: string, text: string) => {
  const snippet = snippetOf(text, spansIn(text, termsOf(query)) ?? []);
  let shown = snippet.text;
  for (const { start, end } of snippet.marks.toReversed())
    shown = `${shown.slice(0, start)}[${shown.slice(start, end)}]${shown.slice(end)}`;
  return shown;
};

test.for<[string, string[]]>([
  ['Hello, World!', ['hello', 'world']],
  ['src/lib/utf8-page.ts', ['src', 'lib', 'utf8', 'page', 'ts']],
  ['Ärger naïve ΣΊΣΥΦΟΣ Straße', ['arger', 'naive', 'σισυφοσ', 'strasse']],
  ['日本語 text', ['日', '本', '語', 'text']],
  ['がは', ['が', 'は']],
  ['utf8日本x', ['utf8', '日', '本', 'x']],
  ['ship it 🚀🚀 🇩🇪', ['ship', 'it', '🚀', '🚀', '🇩🇪']],
  ['--flag=on $HOME', ['flag', 'on', 'home']],
  ['… — "', []],
  [`${'a'.repeat(100)} b`, ['a'.repeat(64), 'b']],
])('The words of "%s" are found.', ([text, words]) => {
  expect(textsOf(text)).toEqual(words);
});

test('The index has the parts of joined words after the words.', () => {
  expect(indexText('replaceFile in HTTPServer2Go')).toBe(
    'replacefile in httpserver2go replace file http server2 go',
  );
});

test('Words are at their positions in the text, whatever the text.', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 60 }), (text) => {
      let last = 0;
      for (const { start, end } of wordsOf(text)) {
        expect(start).toBeGreaterThanOrEqual(last);
        expect(end).toBeGreaterThan(start);
        last = end;
      }
      expect(last).toBeLessThanOrEqual(text.length);
    }),
  );
});

test.for<[string, string, boolean]>([
  ['login fix', 'Fix the LOGIN page', true],
  ['login fix', 'the login page', false],
  ['"the login"', 'fix the login', true],
  ['"login the"', 'fix the login', false],
  ['“the login”', 'fix the login', true],
  ['log*', 'fix the login', true],
  ['log', 'fix the login', false],
  ['"the log"*', 'fix the login', true],
  ['fix -login', 'fix the login', false],
  ['fix -logout', 'fix the login', true],
  ['fix -"the login"', 'fix the login', false],
  ['--login', 'fix the --login', true],
  ['cafe', 'un CAFÉ', true],
  ['語', '日本語', true],
  ['本語', '日本語', true],
  ['日語', '日本語', false],
  ['검색', '검색을 하다', true],
  ['src/lib/cut.ts', 'see src/lib/cut.ts.', true],
  ['src/lib/cut.ts', 'see src, lib and cut.ts', false],
  ['file', 'replaceFile()', true],
  ['replaceFile', 'call replace_file', true],
  ['replace_file', 'call replaceFile', true],
  ['replaceFile', 'replacefile', true],
  ['🚀', 'ship it 🚀!', true],
  ['OR', 'this or that', true],
  ['NEAR/2', 'near 2 of them', true],
  ['-login', 'fix it', true],
])('The query %s is compared with the text: %s.', ([query, text, isFound]) => {
  expect(finds(query, text)).toBe(isFound);
});

test('A query without a word, or with too many words, is refused.', () => {
  expect(() => termsOf('"!? --')).toThrow('query.q: the query contains no word to search for');
  expect(() => termsOf('ab '.repeat(65))).toThrow(
    'query.q: the query has too many words (65): the maximum is 64 words',
  );
});

test('Any query becomes an expression of words only.', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 80 }), (query) => {
      let terms;
      try {
        terms = termsOf(query);
      } catch {
        return;
      }
      const bare = matchExpression(terms, [['k']]).replaceAll(/"[^"]*"/g, '"');
      expect(bare).toMatch(/^(\(+)?["() ANDORNOT]*$/);
      expect(matchExpression(terms, [])).not.toMatch(/[\u0000-\u001f:^]/);
    }),
  );
});

test('A snippet has the part of the text with the most matches, as one line.', () => {
  const far = 'nothing here. '.repeat(40);
  expect(marked('login page', `login. ${far}the\n\n login\tpage is\nbroken ${far}`)).toMatch(
    /^…[^[]*the \[login\] \[page\] is broken [^[]*…$/,
  );
  expect(marked('fix', 'fix it')).toBe('[fix] it');
  expect(marked('"the login"', 'fix the   login')).toBe('fix [the login]');
  expect(marked('replaceFile file', 'replaceFile')).toBe('[replaceFile]');
});

test('A snippet is short and cuts no character, whatever the text.', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 300 }), anyText({ maxLength: 300 }), (before, after) => {
      const text = `${before} needle ${after}`;
      const { text: shown, marks } = snippetOf(text, spansIn(text, termsOf('needle')) ?? []);
      expect(shown.isWellFormed() || !text.isWellFormed()).toBe(true);
      expect(shown.length).toBeLessThan(260);
      const [mark] = marks;
      expect(shown.slice(mark?.start, mark?.end)).toBe('needle');
    }),
  );
});
