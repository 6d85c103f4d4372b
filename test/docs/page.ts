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

/** What a page says of the block that follows to its tests, in comments that no reader sees. */
export interface Notes {
  /** What is run before it, a comment at a time. */
  first?: string[];
  /** What is typed, and after which text: `"accept?" y`. `^C` and the like are keys; several are separated by commas. */
  keys?: string;
  /** The size of the terminal of its last command: `80x24`. */
  size?: string;
  /** Why it is not run: one of the reasons in `reasons.ts`. */
  'not run'?: string;
}

const root = path.join(import.meta.dirname, '../..');

/** The pages whose blocks are run: all that people read, and no page that is generated or tested elsewhere. */
export function pages(): string[] {
  const apart = ['architecture.md', 'events.md', 'interface.md', 'performance.md'];
  const docs = fs
    .readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md') && !apart.includes(name));
  return ['README.md', 'SECURITY.md', ...docs.map((name) => `docs/${name}`)];
}

/** The fenced blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const found: Block[] = [];
  let line = 1;
  let notes: Notes = {};
  for (const token of lexer(textOf(page))) {
    if (token.type === 'html') notes = { ...notes, ...noteIn(token.raw, notes) };
    else if (token.type === 'code') {
      found.push({ page, line: line + 1, language: token.lang ?? '', text: token.text, notes });
      notes = {};
    } else if (token.type !== 'space') notes = {};
    line += token.raw.split('\n').length - 1;
  }
  return found;
}

/** What stands between backquotes in the text of a page, outside of blocks. */
export function codeIn(page: string): string[] {
  const found: string[] = [];
  walkTokens(lexer(textOf(page)), (token: Token) => {
    if (token.type === 'codespan') found.push(token.text.replaceAll(/\s+/g, ' '));
  });
  return found;
}

/** The text of a page. */
export function textOf(page: string): string {
  return fs.readFileSync(path.join(root, page), 'utf8');
}

function noteIn(comment: string, { first = [] }: Notes): Notes {
  const [, name, text = ''] =
    /^<!--\s*(first|keys|size|not run):\s*(.*?)\s*-->\s*$/s.exec(comment) ?? [];
  if (name === 'first') return { first: [...first, text] };
  return name === undefined ? {} : { [name]: text };
}
