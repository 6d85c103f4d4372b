import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { plain } from '../../core/lib/plain.ts';
import { highlighted } from './highlight.ts';
import { inlineText } from './markdown-inline.ts';
import { tableLines } from './markdown-table.ts';
import type { Palette } from './palette.ts';
import { truncated, widthOf, wrapped } from './width.ts';

export interface MarkdownShape {
  /** No line is wider. */
  columns: number;
  palette: Palette;
}

/** A Markdown text of an agent as lines for a terminal. Lines that the text breaks stay broken. */
export function markdownLines(text: string, shape: MarkdownShape): string[] {
  return blockLines(tokensOf(text), shape);
}

/** The blocks of a Markdown text. One that cannot be read as Markdown, or not in time, is text. */
export function tokensOf(text: string): Token[] {
  const readable = plain(text);
  if (readable.length > LONGEST) return [asText(readable)];
  try {
    const lexer = new Lexer();
    lexer.blockTokens(readable, lexer.tokens);
    for (const { src, tokens } of lexer.inlineQueue)
      if (isSimple(src)) lexer.inlineTokens(src, tokens);
      else tokens.push(asText(src));
    return lexer.tokens;
  } catch {
    // For instance, ten thousand quotes within each other are more than the stack holds.
    return [asText(readable)];
  }
}

/** A longer text is not read as Markdown, because that would take seconds. In UTF-16 code units. */
const LONGEST = 200_000;

function asText(text: string): Tokens.Text {
  return { type: 'text', raw: text, text, escaped: true };
}

/** The work for one paragraph grows with the square of these marks: 10,000 of them would take ten seconds. */
const MOST_MARKS = 200;

function isSimple(text: string): boolean {
  let marks = 0;
  for (const _mark of text.matchAll(/[*_`~[]/g)) if (++marks > MOST_MARKS) return false;
  return true;
}

/** The code blocks of a Markdown text, as they are to be copied. */
export function codeBlocks(text: string): string[] {
  return tokensOf(text).flatMap(codeOf);
}

function codeIn(token: MarkedToken): string[] {
  if (token.type === 'code') return [token.text];
  if (token.type === 'list') return token.items.flatMap((item) => item.tokens.flatMap(codeOf));
  return token.type === 'blockquote' ? token.tokens.flatMap(codeOf) : [];
}

function codeOf(token: Token): string[] {
  return codeIn(token as MarkedToken);
}

/** The lines of some blocks, with an empty line between two. */
export function blockLines(tokens: readonly Token[], shape: MarkdownShape): string[] {
  const blocks = tokens
    .map((token) => linesOf(token as MarkedToken, shape))
    .filter(({ length }) => length > 0);
  return blocks.flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

function linesOf(token: MarkedToken, shape: MarkdownShape): string[] {
  const { columns, palette } = shape;
  switch (token.type) {
    case 'space':
    case 'def':
      return [];
    case 'heading': {
      const text = inlineText(token.tokens, palette);
      return wrapped(palette.strong(palette.accent(text)), columns, { trims: true });
    }
    case 'code':
      return codeLines(token, shape);
    case 'blockquote':
      return indented(palette.faint('│ '), shape, (inner) => blockLines(token.tokens, inner));
    case 'list':
      return token.items.flatMap((item, at) => {
        const lines = itemLines(item, markOf(token, item, at), shape);
        return token.loose && at > 0 ? ['', ...lines] : lines;
      });
    case 'hr':
      return [palette.faint('─'.repeat(Math.min(columns, 40)))];
    case 'table':
      return tableLines(token, shape);
    default: {
      const tokens = 'tokens' in token && token.tokens ? token.tokens : [token];
      const text = inlineText(tokens, palette).replace(/\n+$/, '');
      return wrapped(text, columns, { trims: true });
    }
  }
}

function codeLines({ text, lang = '' }: Tokens.Code, shape: MarkdownShape): string[] {
  const [language = ''] = lang.split(/[\s,{:]/);
  const code = highlighted(text, language, shape.palette);
  return indented('  ', shape, ({ columns }) => wrapped(code, columns));
}

function markOf({ ordered, start }: Tokens.List, item: Tokens.ListItem, at: number): string {
  if (item.task) return item.checked ? '[x] ' : '[ ] ';
  return ordered ? `${Number(start) + at}. ` : '• ';
}

function itemLines(item: Tokens.ListItem, mark: string, shape: MarkdownShape): string[] {
  const tokens = item.tokens.filter(({ type }) => type !== 'checkbox');
  const blank = ' '.repeat(mark.length);
  const lines = indented(blank, shape, (inner) =>
    // A list within a tight item follows its text without an empty line.
    item.loose ? blockLines(tokens, inner) : tokens.flatMap((token) => blockLines([token], inner)),
  );
  const [first = '', ...rest] = lines;
  if (!first.startsWith(blank)) {
    return [shape.palette.faint(truncated(mark.trimEnd(), shape.columns)), ...lines];
  }
  return [shape.palette.faint(mark) + first.slice(mark.length), ...rest];
}

/** A column is never narrower than this: what is nested deeper stands at the left. */
const NARROWEST = 8;

/** Lines behind an indent, which are rendered for what it leaves of the columns. */
function indented(
  indent: string,
  shape: MarkdownShape,
  linesFor: (inner: MarkdownShape) => string[],
): string[] {
  const columns = shape.columns - widthOf(indent);
  if (columns < NARROWEST) return linesFor(shape);
  return linesFor({ ...shape, columns }).map((line) => indent + line);
}
