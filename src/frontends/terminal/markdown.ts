import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { plain } from '../../core/lib/plain.ts';
import { sum } from '../../core/lib/sum.ts';
import { highlighted } from './highlight.ts';
import type { LineShape, Palette } from './palette.ts';
import { padded, truncated, widthOf, wrapped } from './width.ts';

/** A Markdown text of an agent as lines for a terminal. Lines that the text breaks stay broken. */
export function markdownLines(text: string, shape: LineShape): string[] {
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
  return codeIn(tokensOf(text));
}

function codeIn(tokens: readonly Token[]): string[] {
  return (tokens as readonly MarkedToken[]).flatMap((token) => {
    if (token.type === 'code') return [token.text];
    if (token.type === 'list') return token.items.flatMap((item) => codeIn(item.tokens));
    return token.type === 'blockquote' ? codeIn(token.tokens) : [];
  });
}

/** The lines of some blocks, with an empty line between two. */
export function blockLines(tokens: readonly Token[], shape: LineShape): string[] {
  const blocks = tokens
    .map((token) => linesOf(token as MarkedToken, shape))
    .filter(({ length }) => length > 0);
  return blocks.flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

function linesOf(token: MarkedToken, shape: LineShape): string[] {
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

function codeLines({ text, lang = '' }: Tokens.Code, shape: LineShape): string[] {
  const [language = ''] = lang.split(/[\s,{:]/);
  const code = highlighted(text, language, shape.palette);
  return indented('  ', shape, ({ columns }) => wrapped(code, columns));
}

function markOf({ ordered, start }: Tokens.List, item: Tokens.ListItem, at: number): string {
  if (item.task) return item.checked ? '[x] ' : '[ ] ';
  return ordered ? `${Number(start) + at}. ` : '• ';
}

function itemLines(item: Tokens.ListItem, mark: string, shape: LineShape): string[] {
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

/** A column is never narrower than this: deeper nested text is not indented. */
const NARROWEST = 8;

/** Lines behind an indent, which are rendered for the columns that the indent leaves. */
function indented(
  indent: string,
  shape: LineShape,
  linesFor: (inner: LineShape) => string[],
): string[] {
  const columns = shape.columns - widthOf(indent);
  if (columns < NARROWEST) return linesFor(shape);
  return linesFor({ ...shape, columns }).map((line) => indent + line);
}

/** The text of inline Markdown, styled. The address of a link follows its text, unless the text is the address. */
function inlineText(tokens: readonly Token[], palette: Palette): string {
  return tokens.map((token) => styledText(token as MarkedToken, palette)).join('');
}

function styledText(token: MarkedToken, palette: Palette): string {
  switch (token.type) {
    case 'strong':
      return palette.strong(inlineText(token.tokens, palette));
    case 'em':
      return palette.emphasis(inlineText(token.tokens, palette));
    case 'del':
      // Few terminals strike a text through, and without colours nothing else would tell.
      return `~${inlineText(token.tokens, palette)}~`;
    case 'codespan':
      return palette.on ? palette.code(token.text) : `\`${token.text}\``;
    case 'link': {
      const text = inlineText(token.tokens, palette);
      const isBare = token.href === token.text || token.href === `mailto:${token.text}`;
      return isBare ? palette.accent(text) : `${text} ${palette.faint(`(${token.href})`)}`;
    }
    case 'image':
      return `[image: ${token.text}] ${palette.faint(`(${token.href})`)}`;
    case 'br':
      return '\n';
    case 'text':
      return token.tokens ? inlineText(token.tokens, palette) : token.text;
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}

const GAP = '  ';
/** A column of a table is not made narrower than this. */
const NARROWEST_CELL = 4;

/** A Markdown table as aligned columns; the widest are wrapped until all fit. */
function tableLines(table: Tokens.Table, { columns, palette }: LineShape): string[] {
  const textOf = ({ tokens }: Tokens.TableCell) => inlineText(tokens, palette);
  const head = table.header.map((cell) => palette.strong(textOf(cell)));
  const rows = table.rows.map((row) => row.map(textOf));
  const widths = fitting(
    head.map((cell, at) => Math.max(1, ...[cell, ...rows.map((row) => row[at] ?? '')].map(widest))),
    columns - GAP.length * (head.length - 1),
  );
  if (!widths) return asLists(head, rows, columns);
  const rule = palette.faint(widths.map((width) => '─'.repeat(width)).join(GAP));
  const lines = (cells: readonly string[]) => rowLines(cells, widths, table.align);
  return [...lines(head), rule, ...rows.flatMap(lines)];
}

/** The widths, the widest made narrower until they fit into `columns`; null where they cannot. */
function fitting(widths: readonly number[], columns: number): number[] | null {
  const fits = [...widths];
  for (let over = sum(fits) - columns; over > 0; over = sum(fits) - columns) {
    const most = Math.max(...fits);
    if (most <= NARROWEST_CELL) return null;
    fits[fits.indexOf(most)] = Math.max(NARROWEST_CELL, most - over, nextTo(most, fits));
  }
  return fits;
}

/** The second greatest width, so that no column shrinks far below the others; one less where all are equal. */
function nextTo(most: number, widths: readonly number[]): number {
  return Math.max(...widths.map((width) => (width === most ? 0 : width)), 0) || most - 1;
}

function rowLines(
  cells: readonly string[],
  widths: readonly number[],
  align: Tokens.Table['align'],
): string[] {
  const wrappedCells = widths.map((width, at) => wrapped(cells[at] ?? '', width, { trims: true }));
  const height = Math.max(...wrappedCells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    widths
      .map((width, at) => aligned(wrappedCells[at]?.[line] ?? '', width, align[at] ?? 'left'))
      .join(GAP)
      .trimEnd(),
  );
}

function aligned(text: string, width: number, align: 'left' | 'right' | 'center'): string {
  const room = width - widthOf(text);
  const before = align === 'right' ? room : align === 'center' ? Math.floor(room / 2) : 0;
  return padded(' '.repeat(Math.max(0, before)) + text, width);
}

/** The rows one below the other, for a terminal that is too narrow for the columns. */
function asLists(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): string[] {
  if (rows.length === 0) return head.flatMap((cell) => wrapped(cell, columns, { trims: true }));
  return rows.flatMap((row, at) => [
    ...(at === 0 ? [] : ['']),
    ...row.flatMap((cell, column) =>
      wrapped(`${head[column] ?? ''}: ${cell}`, columns, { trims: true }),
    ),
  ]);
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map(widthOf));
}
