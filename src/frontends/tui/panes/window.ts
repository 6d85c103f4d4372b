/** Text in blocks, of which only those are rendered that are looked at. */
export interface Blocks {
  readonly count: number;
  /** The lines of a block; none for one that is not shown. */
  linesOf: (at: number) => readonly string[];
}

/** A line of a block. */
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

/** The place some lines further down, or up where `by` is negative; null where the end is shown from there. */
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
  const place = { at, line };
  return isBefore(place, topOfEnd(blocks, rows)) ? place : null;
}

/** The `rows` lines from a place on, fewer at the end, each with its place. */
export function linesFrom(
  blocks: Blocks,
  { at: first, line }: LinePosition,
  rows: number,
): { text: string; place: LinePosition }[] {
  const shown: { text: string; place: LinePosition }[] = [];
  for (let at = first; at < blocks.count && shown.length < rows; at++)
    for (const [index, text] of blocks.linesOf(at).entries())
      if ((at > first || index >= line) && shown.length < rows)
        shown.push({ text, place: { at, line: index } });
  return shown;
}

export function isBefore(one: LinePosition, other: LinePosition): boolean {
  return one.at < other.at || (one.at === other.at && one.line < other.line);
}
