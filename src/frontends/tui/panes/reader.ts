import { colorless, type LineShape, withoutColors } from '../../terminal/palette.ts';
import { matchingLines, withMatches } from '../../terminal/search.ts';
import { Observable } from '../observable.ts';

/** The text that somebody reads, in blocks that may grow, be replaced and be joined by older ones. */
export interface Text {
  count: () => number;
  linesOf: (at: number, shape: Shape) => readonly string[];
  /** The text of a block, as it was given: what a search looks through first. */
  textOf: (at: number) => string;
  /** The line of a block that has the cursor. Only a text with a cursor has it: each of its blocks is one line. */
  lineWithCursor?: (at: number, shape: Shape) => string;
  /** Whether a block matches a search, for blocks that match by more than their lines show. */
  contains?: (at: number, search: string) => boolean;
}

/** Caches a value for each object until its key changes. */
export class ObjectCache<Of extends object, Made> {
  readonly #known = new WeakMap<Of, { key: string; made: Made }>();

  get(of: Of, key: string, make: () => Made): Made {
    const known = this.#known.get(of);
    if (known?.key === key) return known.made;
    const made = make();
    this.#known.set(of, { key, made });
    return made;
  }
}

/** The scroll position of a reader in a text, and the search text. */
export class Reader {
  /** Counts the changes, of the text and of the position. */
  readonly changes = new Observable(0);
  readonly follows = new Observable(true);
  readonly #text: Text;
  #shape: Shape = { rows: 1, columns: 80, palette: colorless };
  /** The first line that is shown; null: the end is. */
  #top: LinePosition | null = null;
  #search = '';
  /** The line with the cursor, or the last match; null: none, or the cursor follows the end. */
  #cursor: LinePosition | null = null;
  /** The matches in lines that were rendered once. */
  readonly #found = new ObjectCache<readonly string[], number[]>();

  constructor(text: Text) {
    this.#text = text;
  }

  get search(): string {
    return this.#search;
  }

  lines(shape: Shape): string[] {
    this.#shape = shape;
    const { found } = shape.palette;
    return this.#visible().map(({ text, position }) => {
      const isCursor = position.at === this.#cursor?.at;
      const line = (isCursor && this.#text.lineWithCursor?.(position.at, shape)) || text;
      return this.#search === '' ? line : withMatches(line, this.#search, found);
    });
  }

  /** The block with the cursor: the last one while the end is followed. */
  get cursor(): number {
    return this.#cursor?.at ?? this.#text.count() - 1;
  }

  /** Moves the cursor to a block, scrolls no more than needed to show it, and no longer follows the end. */
  select(at: number): void {
    if (this.#text.count() === 0) return;
    const position = { at, line: 0 };
    this.#cursor = position;
    const { rows } = this.#shape;
    const top = this.top();
    const lowest =
      moved(this.#blocks(), position, 1 - rows, rows) ?? topOfEnd(this.#blocks(), rows);
    this.#goTo(isBefore(position, top) ? position : isBefore(top, lowest) ? lowest : top);
  }

  visibleText(): string {
    return this.#visible()
      .map(({ text }) => withoutColors(text).trimEnd())
      .join('\n');
  }

  /** The position of the first line that is shown. */
  top(): LinePosition {
    return this.#top ?? topOfEnd(this.#blocks(), this.#shape.rows);
  }

  /** Whether the first line of the text is shown. */
  isAtStart(): boolean {
    const { at, line } = this.top();
    return line === 0 && !this.#hasLines(at);
  }

  /** Scrolls, or moves the cursor, by some lines. A cursor that is moved below the last line follows the end. */
  scroll(by: number): void {
    if (this.#hasCursor) {
      const [at, count] = [this.cursor + by, this.#text.count()];
      return by > 0 && at >= count ? this.toEnd() : this.select(Math.max(0, at));
    }
    this.#goTo(moved(this.#blocks(), this.top(), by, this.#shape.rows));
  }

  toStart(): void {
    if (this.#hasCursor) return this.select(0);
    this.#goTo(moved(this.#blocks(), { at: 0, line: 0 }, 0, this.#shape.rows));
  }

  toEnd(): void {
    if (this.#hasCursor) this.#cursor = null;
    this.#goTo(null);
  }

  /** Shows a block from its first line on that is not empty. */
  toBlock(at: number): void {
    const line = this.#text.linesOf(at, this.#shape)[0] === '' ? 1 : 0;
    this.#goTo(moved(this.#blocks(), { at, line }, 0, this.#shape.rows));
  }

  /** The text has changed. `before` is the number of blocks that came before the first, negative where some left. */
  changed(before = 0): void {
    if (this.#top) this.#top = shifted(this.#top, before);
    if (this.#cursor) this.#cursor = shifted(this.#cursor, before);
    this.#signalChange();
  }

  /** Searches backwards from the cursor or the last visible line, then from the end; the empty text ends the search. */
  find(search: string): void {
    this.#search = search;
    if (!this.#hasCursor) this.#cursor = null;
    if (search === '') return this.#signalChange();
    const last = this.#cursor ?? this.#visible().at(-1)?.position ?? { at: 0, line: 0 };
    const below = { at: last.at, line: last.line + 1 };
    this.#goToMatch(this.#nearest(-1, below) ?? this.#nearest(-1, this.#far(-1)));
  }

  /** Goes to the match before (-1) or after (1); beyond the last one to the first one at the other end. */
  findNext(direction: 1 | -1): void {
    if (this.#search === '') return;
    const from = this.#cursor ?? (this.#hasCursor ? { at: this.cursor, line: 0 } : this.top());
    this.#goToMatch(
      this.#nearest(direction, from) ?? this.#nearest(direction, this.#far(direction)),
    );
  }

  /** How many lines match, and which of them the reader went to, from 1; 0: none. */
  matches(): { index: number; count: number } {
    let [index, count] = [0, 0];
    for (let at = 0; at < this.#text.count(); at++)
      for (const line of this.#matchesIn(at)) {
        count++;
        const isPassed = this.#cursor && !isBefore(this.#cursor, { at, line });
        if (isPassed || (!this.#cursor && this.#hasCursor)) index = count;
      }
    return { index, count };
  }

  /** The position that a search in a direction comes from when it has passed the other end. */
  #far(direction: 1 | -1): LinePosition {
    return { at: direction < 0 ? this.#text.count() : -1, line: 0 };
  }

  #nearest(direction: 1 | -1, from: LinePosition): LinePosition | null {
    for (let at = from.at; at >= -1 && at <= this.#text.count(); at += direction) {
      const positions = this.#matchesIn(at).map((line) => ({ at, line }));
      const next =
        direction < 0
          ? positions.findLast((position) => isBefore(position, from))
          : positions.find((position) => isBefore(from, position));
      if (next) return next;
    }
    return null;
  }

  /** The lines of a block that match. Only blocks whose text matches are rendered for it. */
  #matchesIn(at: number): readonly number[] {
    if (this.#search === '' || at < 0 || at >= this.#text.count()) return [];
    if (this.#text.contains) return this.#text.contains(at, this.#search) ? [0] : [];
    const words = this.#search.toLowerCase().split(/\s+/).filter(Boolean);
    const text = this.#text.textOf(at).toLowerCase();
    if (!words.every((word) => text.includes(word))) return [];
    const lines = this.#text.linesOf(at, this.#shape);
    return this.#found.get(lines, this.#search, () => matchingLines(lines, this.#search));
  }

  #goToMatch(position: LinePosition | null): void {
    if (!position) return this.#signalChange();
    if (this.#hasCursor) return this.select(position.at);
    this.#cursor = position;
    const isShown = this.#visible().some(
      (one) => one.position.at === position.at && one.position.line === position.line,
    );
    if (isShown) return this.#signalChange();
    const above = Math.floor(this.#shape.rows / 3);
    this.#goTo(moved(this.#blocks(), position, -above, this.#shape.rows));
  }

  get #hasCursor(): boolean {
    return this.#text.lineWithCursor !== undefined;
  }

  #goTo(top: LinePosition | null): void {
    this.#top = top;
    this.follows.set(top === null);
    this.#signalChange();
  }

  #signalChange(): void {
    this.changes.change((count) => count + 1);
  }

  #visible() {
    const blocks = this.#blocks();
    const { rows } = this.#shape;
    // A text that became shorter, or a terminal that became larger, shows no empty lines while there are others.
    const end = topOfEnd(blocks, rows);
    return linesFrom(blocks, this.#top && isBefore(this.#top, end) ? this.#top : end, rows);
  }

  #blocks(): Blocks {
    const text = this.#text;
    return { count: text.count(), linesOf: (at) => text.linesOf(at, this.#shape) };
  }

  #hasLines(before: number): boolean {
    for (let at = 0; at < before; at++)
      if (this.#text.linesOf(at, this.#shape).length > 0) return true;
    return false;
  }
}

function shifted({ at, line }: LinePosition, by: number): LinePosition {
  return at + by < 0 ? { at: 0, line: 0 } : { at: at + by, line };
}

export interface Shape extends LineShape {
  /** How many lines of text are shown. */
  rows: number;
}

/** Text in blocks. Only the visible blocks are rendered. */
export interface Blocks {
  readonly count: number;
  /** The lines of a block; none for one that is not shown. */
  linesOf: (at: number) => readonly string[];
}

export interface LinePosition {
  at: number;
  line: number;
}

/** The top of the last `rows` lines. */
export function topOfEnd(blocks: Blocks, rows: number): LinePosition {
  let need = rows;
  for (let at = blocks.count - 1; at >= 0; at--) {
    const { length } = blocks.linesOf(at);
    if (length >= need) return { at, line: length - need };
    need -= length;
  }
  return { at: 0, line: 0 };
}

/** The position some lines further down, or up where `by` is negative; null where the end is shown from there. */
export function moved(
  blocks: Blocks,
  from: LinePosition,
  by: number,
  rows: number,
): LinePosition | null {
  let { at, line } = from;
  line += by;
  while (line < 0 && at > 0) line += blocks.linesOf(--at).length;
  line = Math.max(0, line);
  while (at < blocks.count && line >= blocks.linesOf(at).length)
    line -= blocks.linesOf(at++).length;
  const position = { at, line };
  return isBefore(position, topOfEnd(blocks, rows)) ? position : null;
}

/** The `rows` lines from a position on, fewer at the end, each with its position. */
export function linesFrom(
  blocks: Blocks,
  { at: first, line }: LinePosition,
  rows: number,
): { text: string; position: LinePosition }[] {
  const shown: { text: string; position: LinePosition }[] = [];
  for (let at = first; at < blocks.count && shown.length < rows; at++)
    for (const [index, text] of blocks.linesOf(at).entries())
      if ((at > first || index >= line) && shown.length < rows)
        shown.push({ text, position: { at, line: index } });
  return shown;
}

function isBefore(one: LinePosition, other: LinePosition): boolean {
  return one.at < other.at || (one.at === other.at && one.line < other.line);
}
