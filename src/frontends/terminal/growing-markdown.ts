import type { Token, Tokens } from 'marked';
import { plain } from '../../core/lib/plain.ts';
import { blockLines, tokensOf } from './markdown.ts';
import { type LineShape, withoutColors } from './palette.ts';

/** A block that grows beyond this is rendered in parts. In UTF-16 code units. */
const LONG = 600;

/** A part that is rendered for the last time: its text, its lines, and how the rest continues it. */
interface Finished {
  source: string;
  lines: readonly string[];
  /** The opening fence of code that the rest continues; empty without one. */
  again: string;
  /** Whether the rest belongs to the last block of this part, so that no empty line is between them. */
  goesOn: boolean;
}

const nothing: Finished = { source: '', lines: [], again: '', goesOn: false };

/**
 * A Markdown text that grows at its end. Only its last block is rendered again when it has grown, or the end of a long last
 * block. Later text may change earlier lines (the address of a link, the widths of a table), so the
 * whole text is rendered anew by `markdownLines` once it is complete.
 */
export class GrowingMarkdown {
  #finished = nothing;
  #shape: LineShape | undefined;

  /** The lines of the text, which begins with the text of the call before. */
  lines(text: string, shape: LineShape): string[] {
    const readable = plain(text);
    const isSame =
      this.#shape?.columns === shape.columns && this.#shape.palette.on === shape.palette.on;
    if (!isSame || !readable.startsWith(this.#finished.source)) this.#finished = nothing;
    this.#shape = shape;
    const { source, again } = this.#finished;
    const tokens = tokensOf(again + readable.slice(source.length));
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    if (last > 0) this.#finish(tokens.slice(0, last), shape);
    const rest = tokens.slice(Math.max(0, last));
    const cut = rest[0] && rest[0].raw.length > LONG ? cutOf(rest[0], shape) : null;
    if (!cut) return joined(this.#finished, blockLines(rest, shape));
    this.#finishPart(cut, shape);
    return joined(this.#finished, blockLines(tokensOf(cut.again + cut.rest), shape));
  }

  /** Keeps the lines of blocks that do not grow any more. */
  #finish(tokens: readonly Token[], shape: LineShape): void {
    const { source, again } = this.#finished;
    const raw = tokens.map((token) => token.raw).join('');
    const lines = joined(this.#finished, blockLines(tokens, shape));
    this.#finished = { ...nothing, source: source + raw.slice(again.length), lines };
  }

  /** Keeps the lines of the first part of a block that grows. */
  #finishPart({ head, again, goesOn }: Cut, shape: LineShape): void {
    const before = this.#finished;
    const source = before.source + head.slice(before.again.length);
    const lines = joined(before, blockLines(tokensOf(head), shape));
    this.#finished = { source, lines, again, goesOn };
  }
}

function joined({ lines, goesOn }: Finished, more: readonly string[]): string[] {
  const isApart = lines.length > 0 && more.length > 0 && !goesOn;
  return isApart ? [...lines, '', ...more] : [...lines, ...more];
}

interface Cut {
  head: string;
  rest: string;
  again: string;
  goesOn: boolean;
}

/** Where a long block can be cut so that its lines stay the same; null where it cannot. */
function cutOf(token: Token, shape: LineShape): Cut | null {
  if (token.type === 'code') return cutOfCode(token as Tokens.Code);
  if (token.type === 'list') return cutOfList(token as Tokens.List);
  return token.type === 'paragraph' ? cutOfParagraph(token as Tokens.Paragraph, shape) : null;
}

/** Before the last line of the code. */
function cutOfCode({ raw }: Tokens.Code): Cut | null {
  const [again] = /^ {0,3}(?:`{3,}|~{3,})[^\n]*\n/.exec(raw) ?? [];
  const at = raw.lastIndexOf('\n', raw.length - 2) + 1;
  if (again === undefined || at <= again.length) return null;
  return { head: raw.slice(0, at), rest: raw.slice(at), again, goesOn: true };
}

/** Before the last item of the list. */
function cutOfList({ raw, items, loose }: Tokens.List): Cut | null {
  const at = items.length < 2 ? -1 : raw.lastIndexOf(items.at(-1)?.raw ?? '');
  if (at <= 0) return null;
  return { head: raw.slice(0, at), rest: raw.slice(at), again: '', goesOn: !loose };
}

/** Before the last line that the paragraph is wrapped to, if no mark is open there and it can begin a paragraph. */
function cutOfParagraph({ raw }: Tokens.Paragraph, shape: LineShape): Cut | null {
  const end = withoutColors(blockLines(tokensOf(raw), shape).at(-1) ?? '');
  const text = raw.trimEnd();
  if (!/^\p{L}/u.test(end) || !text.endsWith(end) || end === text) return null;
  const at = text.length - end.length;
  const head = raw.slice(0, at);
  return isClosed(head) ? { head, rest: raw.slice(at), again: '', goesOn: true } : null;
}

/** Whether every opening mark seems to have a closing one, by their number. */
function isClosed(text: string): boolean {
  const count = (mark: string) => text.split(mark).length - 1;
  return ['*', '_', '`', '~'].every((mark) => count(mark) % 2 === 0) && count('[') === count(']');
}
