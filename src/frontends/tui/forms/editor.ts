import { plain } from '../../../core/lib/plain.ts';
import { widthOf } from '../../terminal/width.ts';

/** A text that is being written, and the position of the cursor in it, in UTF-16 code units. */
export interface Editor {
  text: string;
  cursor: number;
}

export const emptyEditor: Editor = { text: '', cursor: 0 };

/** A line as it is shown: a part of the text. */
interface ShownLine {
  text: string;
  /** Where the line begins in the whole text. */
  from: number;
}

/** The lines of a text of which none is wider than `columns`, and where the cursor is shown in them. */
export function visibleLines(
  { text, cursor }: Editor,
  columns: number,
): { lines: ShownLine[]; row: number } {
  const lines: ShownLine[] = [];
  let from = 0;
  for (const line of text.split('\n')) {
    lines.push(...broken(line, from, columns));
    from += line.length + 1;
  }
  return {
    lines,
    row: Math.max(
      0,
      lines.findLastIndex((line) => line.from <= cursor),
    ),
  };
}

/** The part of a text of one line that is shown in `columns`: it ends with the cursor where not all has room. */
export function visiblePart({ text, cursor }: Editor, columns: number): ShownLine {
  let from = cursor;
  let width = 1;
  for (const piece of graphemesOf(text.slice(0, cursor)).toReversed()) {
    width += widthOf(piece);
    if (width > columns) break;
    from -= piece.length;
  }
  return { text: text.slice(from), from };
}

/** The parts of a line that fit. The last one leaves a column for the cursor behind it. */
function broken(line: string, from: number, columns: number): ShownLine[] {
  const parts: ShownLine[] = [];
  let part = { text: '', from };
  let width = 0;
  for (const piece of graphemesOf(line)) {
    const wide = widthOf(piece);
    if (width + wide > Math.max(2, columns - 1)) {
      parts.push(part);
      part = { text: '', from: part.from + part.text.length };
      width = 0;
    }
    part.text += piece;
    width += wide;
  }
  return [...parts, part];
}

/** The editor with a text at its cursor: line breaks stay, tabs become spaces, other control characters go. */
export function inserted({ text, cursor }: Editor, more: string): Editor {
  const clean = plain(more.replaceAll(/\r\n?/g, '\n')).replaceAll('\t', '    ');
  return {
    text: text.slice(0, cursor) + clean + text.slice(cursor),
    cursor: cursor + clean.length,
  };
}

export function withoutBefore(editor: Editor): Editor {
  return without(editor, left(editor).cursor, editor.cursor);
}

export function withoutUnder(editor: Editor): Editor {
  return without(editor, editor.cursor, right(editor).cursor);
}

export function withoutWord(editor: Editor): Editor {
  const before = editor.text.slice(0, editor.cursor);
  return without(editor, before.replace(/\S*\s*$/, '').length, editor.cursor);
}

export function withoutLineBefore(editor: Editor): Editor {
  return without(editor, home(editor).cursor, editor.cursor);
}

export function withoutLineAfter(editor: Editor): Editor {
  return without(editor, editor.cursor, end(editor).cursor);
}

function without({ text }: Editor, from: number, to: number): Editor {
  return { text: text.slice(0, from) + text.slice(to), cursor: from };
}

export function left({ text, cursor }: Editor): Editor {
  const last = graphemesOf(text.slice(0, cursor)).at(-1) ?? '';
  return { text, cursor: cursor - last.length };
}

export function right({ text, cursor }: Editor): Editor {
  const [next = ''] = graphemesOf(text.slice(cursor, cursor + 64));
  return { text, cursor: cursor + next.length };
}

/** To the beginning of the line. */
export function home({ text, cursor }: Editor): Editor {
  return { text, cursor: text.slice(0, cursor).lastIndexOf('\n') + 1 };
}

/** To the end of the line. */
export function end({ text, cursor }: Editor): Editor {
  const at = text.indexOf('\n', cursor);
  return { text, cursor: at < 0 ? text.length : at };
}

/** To the shown line above (-1) or below (1), at about the same column; null where there is none. */
export function vertically(editor: Editor, by: 1 | -1, columns: number): Editor | null {
  const { lines, row } = visibleLines(editor, columns);
  const [here, there] = [lines[row], lines[row + by]];
  if (!here || !there) return null;
  const column = widthOf(editor.text.slice(here.from, editor.cursor));
  let cursor = there.from;
  let width = 0;
  for (const piece of graphemesOf(there.text)) {
    if (width + widthOf(piece) > column) break;
    width += widthOf(piece);
    cursor += piece.length;
  }
  return { ...editor, cursor };
}

const segmenter = new Intl.Segmenter();

/** The characters of a text as people count them. */
export function graphemesOf(text: string): string[] {
  return /^[ -~]*$/.test(text)
    ? text.split('')
    : [...segmenter.segment(text)].map(({ segment }) => segment);
}
