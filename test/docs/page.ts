import fs from 'node:fs';
import path from 'node:path';
import { lexer, type Token, walkTokens } from 'marked';

/** A fenced block of a page. */
export interface Block {
  /** The page, as `docs/teams.md`. */
  page: string;
  /** The line of the page on which the text begins. */
  line: number;
  language: string;
  text: string;
  notes: Notes;
}

/** Notes of a page for the test of the next block, in comments that no reader sees. */
export interface Notes {
  /** Commands that run before the block, one per comment. */
  first?: string[];
  /** Keys that are typed, after which text: `"accept?" y`. `^C` and the like are keys; commas separate several. */
  keys?: string;
  /** The size of the terminal of its last command: `80x24`. */
  size?: string;
  /** Why it is not run: one of the reasons in `reasons.ts`. */
  'not run'?: string;
}

const root = path.join(import.meta.dirname, '../..');

/** The pages that people read: each block is run, or says why not. */
export function pages(): string[] {
  const read = documents('docs').filter((name) => !SHOWS_NO_COMMAND.has(name));
  return ['README.md', 'SECURITY.md', ...read];
}

/** All that has links and names commands. */
export function allPages(): string[] {
  const records = ['docs/decisions', 'docs/proof'].flatMap(documents);
  return ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', ...documents('docs'), ...records];
}

/** A map of the sources, generated pages, and a page whose examples have tests of their own. */
const SHOWS_NO_COMMAND = new Set(
  [
    'architecture',
    'design-core',
    'design-server',
    'design-runtime',
    'design-frontends',
    'reference',
    'events',
    'client',
  ].map((name) => `docs/${name}.md`),
);

function documents(folder: string): string[] {
  const names = fs.readdirSync(path.join(root, folder)).filter((name) => name.endsWith('.md'));
  return names.map((name) => `${folder}/${name}`).toSorted();
}

/** The fenced blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const found: Block[] = [];
  let line = 1;
  let notes: Notes = {};
  for (const token of partsOf(page)) {
    if (token.type === 'html') Object.assign(notes, noteIn(token.raw, notes));
    else if (token.type === 'code') {
      found.push({ page, line: line + 1, language: token.lang ?? '', text: token.text, notes });
      notes = {};
    } else if (token.type !== 'space') notes = {};
    line += token.raw.split('\n').length - 1;
  }
  return found;
}

/** The code between backquotes in the text of a page, outside of blocks. */
export function codeIn(page: string): string[] {
  return tokensOf(page).flatMap((token) =>
    token.type === 'codespan' ? [token.text.replaceAll(/\s+/g, ' ')] : [],
  );
}

/** The elements of a page, each before those that it has inside. */
export function tokensOf(page: string): Token[] {
  const found: Token[] = [];
  void walkTokens([...partsOf(page)], (token: Token) => void found.push(token));
  return found;
}

/** The parts of the pages that were read: some are linked to a hundred times. */
const read = new Map<string, readonly Token[]>();

function partsOf(page: string): readonly Token[] {
  const known = read.get(page);
  if (known) return known;
  const parts = lexer(fs.readFileSync(path.join(root, page), 'utf8'));
  read.set(page, parts);
  return parts;
}

function noteIn(comment: string, { first = [] }: Notes): Notes {
  const [, name, text = ''] =
    /^<!--\s*(first|keys|size|not run):\s*(.*?)\s*-->\s*$/s.exec(comment) ?? [];
  if (name === 'first') return { first: [...first, text] };
  return name === undefined ? {} : { [name]: text };
}
