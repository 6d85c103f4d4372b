import type { FileChange, SessionDiff } from '../../api/diffs.ts';
import type { ReviewComment } from '../../api/reviews.ts';
import {
  type Anchor,
  type AnchorState,
  locateAnchor,
  anchorStateOf,
} from '../../core/lib/diff-anchor.ts';
import { oneLine, revealed, revealedLine } from '../../core/lib/plain.ts';
import { type DiffFile, type DiffLine, readPatches } from '../../core/lib/unified-diff.ts';
import { type Palette, same, type Style } from './palette.ts';
import { between, padded, truncated, widthOf, wrapped } from './width.ts';

/** A row of a diff: a heading, a line of the diff, or a line of a comment below it. */
export interface ReviewLine {
  /** The same for the same thing, also after comments have come and gone. */
  key: string;
  kind: 'file' | 'hunk' | 'line' | 'note' | 'comment';
  /** The index of its file; -1 below all files. */
  file: number;
  /** The index of the hunk in its file; -1 outside of hunks. */
  hunk: number;
  /** The index of the line in its hunk; -1 for other rows. */
  at: number;
  /** The index of the removed line on the left side, if the row has two lines; else -1. */
  beside: number;
  /** The id of the comment; null for other rows. */
  comment: string | null;
  text: string;
  /** Whether the row belongs to a stale comment. */
  isStale: boolean;
}

/** A diff with its comments, in rows. */
export interface ReviewLines {
  files: readonly DiffFile[];
  rows: readonly ReviewLine[];
  /** How many comments are stale. */
  stale: number;
  /** The width of a line number. */
  digits: number;
}

/** The rows of a diff with its comments: each below its last line, a stale one below the name of its file. */
export function reviewLinesOf(
  diff: CutDiff,
  comments: readonly ReviewComment[],
  columns: number,
  isSplit = false,
): ReviewLines {
  const files = readPatches(diff.files);
  const judged = comments.map((comment) => {
    const location = locateAnchor(comment, files);
    return {
      comment,
      location,
      lost: location ? null : anchorStateOf(comment, files, { isCut: diff.is_cut }),
    };
  });
  const byHunk = Map.groupBy(judged, ({ location }) => location?.hunk);
  const rows: ReviewLine[] = [];
  const add = (row: Partial<ReviewLine> & Pick<ReviewLine, 'key' | 'kind' | 'text'>) =>
    rows.push({ ...blank, ...row });
  const write = (comment: ReviewComment, file: number, head: string, isStale: boolean) => {
    const shownText = wrapped(
      revealed(comment.text).replaceAll('\t', '  '),
      Math.max(10, columns - 8),
    );
    for (const [part, text] of [...(head === '' ? [] : [head]), ...shownText].entries())
      add({
        key: `c${comment.id}.${part}`,
        kind: 'comment',
        file,
        comment: comment.id,
        text,
        isStale,
      });
  };
  for (const [f, file] of files.entries()) {
    const change = diff.files[f];
    add({ key: `f${f}`, kind: 'file', file: f, text: change ? headOf(change) : file.path });
    for (const { comment, lost } of judged)
      if (lost && (file.path === comment.path || file.old_path === comment.path))
        write(comment, f, lostHead(comment, lost), isStale(lost));
    if (change?.no_patch)
      add({ key: `n${f}`, kind: 'note', file: f, text: notes[change.no_patch] });
    for (const [h, hunk] of file.hunks.entries()) {
      add({ key: `h${f}.${h}`, kind: 'hunk', file: f, hunk: h, text: hunk.head });
      const here = byHunk.get(hunk) ?? [];
      for (const { at, beside } of isSplit ? sideBySide(hunk.lines) : inOrder(hunk.lines)) {
        add({ key: lineKey(f, h, at), kind: 'line', file: f, hunk: h, at, beside, text: '' });
        for (const { comment, location } of here)
          if (location?.to === at || location?.to === beside) write(comment, f, '', false);
      }
    }
  }
  for (const { comment, lost } of judged)
    if (lost && !files.some(({ path, old_path }) => [path, old_path].includes(comment.path)))
      write(
        comment,
        -1,
        `${revealedLine(comment.path)} ${isStale(lost) ? 'is no longer' : 'is not shown'} in the diff`,
        isStale(lost),
      );
  const more = missing(diff);
  if (more !== '') add({ key: 'more', kind: 'note', text: more });
  return {
    files,
    rows,
    stale: judged.filter(({ lost }) => lost && isStale(lost)).length,
    digits: digitsOf(files),
  };
}

const blank = { file: -1, hunk: -1, at: -1, beside: -1, comment: null, isStale: false };

type LinePair = Pick<ReviewLine, 'at' | 'beside'>;

export function lineKey(file: number, hunk: number, at: number): string {
  return `l${file}.${hunk}.${at}`;
}

function inOrder(lines: readonly DiffLine[]): LinePair[] {
  return lines.map((_, at) => ({ at, beside: -1 }));
}

/** The lines of a hunk, each added line beside the removed line that it replaces. */
function sideBySide(lines: readonly DiffLine[]): LinePair[] {
  const pairs: LinePair[] = [];
  let removed: number[] = [];
  const flush = () => {
    pairs.push(...removed.map((at) => ({ at, beside: -1 })));
    removed = [];
  };
  for (const [at, { mark }] of lines.entries()) {
    // A note of git belongs to the line before.
    const side = mark === '\\' ? lines[at - 1]?.mark : mark;
    if (side === '-') removed.push(at);
    else {
      if (side !== '+') flush();
      pairs.push({ at, beside: removed.shift() ?? -1 });
    }
  }
  flush();
  return pairs;
}

const notes: Record<NonNullable<FileChange['no_patch']>, string> = {
  binary: 'not shown: binary file',
  large: 'not shown: file too large',
  limit: 'not shown: diff too long',
  not_asked: 'not shown',
};

function headOf({ path, old_path, status, additions, deletions }: FileChange): string {
  const from = old_path === null ? '' : `${old_path} → `;
  const counts = additions === null ? '' : `  +${additions} -${deletions ?? 0}`;
  return revealedLine(`${from}${path}  ${status.replace('_', ' ')}${counts}`);
}

/** The line above a comment whose lines are not in the diff. */
function lostHead(comment: ReviewComment, lost: AnchorState): string {
  const location = `on ${commentLinesText(comment)}`;
  if (!isStale(lost)) return location;
  return `stale: ${location}, ${lost.found_at === null ? 'changed' : `now at ${lost.found_at}`}`;
}

/** The lines of a comment, such as `line 3` or `lines 3-5 (removed)`. */
export function commentLinesText({ first_line, last_line, side }: Omit<Anchor, 'lines'>): string {
  const lines =
    first_line === last_line ? `line ${first_line}` : `lines ${first_line}-${last_line}`;
  return side === 'old' ? `${lines} (removed)` : lines;
}

function isStale({ state }: AnchorState): boolean {
  return state !== 'unknown' && state !== 'current';
}

type CutDiff = Pick<SessionDiff, 'files' | 'is_cut' | 'left_out_count'>;

function missing({ is_cut, left_out_count }: CutDiff): string {
  const left = left_out_count === 0 ? '' : `${left_out_count} files not read`;
  return [is_cut ? 'diff too long: the end is not shown' : '', left].filter(Boolean).join('; ');
}

function digitsOf(files: readonly DiffFile[]): number {
  let most = 1;
  for (const { hunks } of files)
    for (const { lines } of hunks)
      for (const line of lines) most = Math.max(most, line.old ?? 0, line.new ?? 0);
  return String(most).length;
}

/** How a row is shown. `left`: the first column of the text of lines that is shown. */
export interface RowLook {
  columns: number;
  left: number;
  palette: Palette;
  isCursor: boolean;
  isSelected: boolean;
  /** Whether the lines before and after the change are side by side. */
  isSplit?: boolean;
}

/** A row as one line of at most `columns` columns: what a terminal would obey in it is shown as code points. */
export function rowText({ files, digits }: ReviewLines, row: ReviewLine, look: RowLook): string {
  const { columns, palette, isCursor, isSelected, isSplit = false } = look;
  const edge = isCursor ? palette.accent('▌') : isSelected ? palette.accent('│') : ' ';
  const lines = files[row.file]?.hunks[row.hunk]?.lines ?? [];
  const line = lines[row.at];
  if (row.kind !== 'line' || !line) {
    const style = styles(palette)[row.kind];
    const indent = row.kind === 'comment' ? `  ${row.isStale ? '!' : '┃'} ` : '';
    const text = truncated(`${indent}${revealedLine(row.text)}`, columns - 1);
    return `${edge}${(row.isStale ? palette.bad : style)(text)}`;
  }
  const number = (one: number | null) => String(one ?? '').padStart(digits);
  if (!isSplit) {
    const gutter = `${number(line.old)} ${number(line.new)} `;
    return `${edge}${lineText(line, gutter, columns - 1, look)}`;
  }
  const isNote = line.mark === '\\';
  const isOld = line.mark === '-' || (isNote && lines[row.at - 1]?.mark === '-');
  const before = lines[row.beside] ?? (isOld || line.mark === ' ' ? line : null);
  const after = isOld ? null : line;
  const room = Math.floor((columns - 3) / 2);
  const half = (one: DiffLine | null, at: number | null = null) =>
    one === null ? '' : lineText(one, `${number(at)} `, room, look);
  return `${edge}${padded(half(before, before?.old), room)}  ${half(after, after?.new)}`;
}

/** A line of a diff behind its numbers, in `columns` columns. */
function lineText(
  { mark, text }: DiffLine,
  gutter: string,
  columns: number,
  { left, palette, isSelected }: RowLook,
): string {
  const style = { '+': palette.added, '-': palette.removed, '\\': palette.faint, ' ': same }[mark];
  const cut = cutText(text, left, columns - gutter.length - 1);
  return (isSelected ? same : palette.faint)(gutter) + style(`${mark}${cut}`);
}

/** The columns of a line from `left` on that there is room for; a mark stands for what is missing at either end. */
function cutText(text: string, left: number, room: number): string {
  // Text far to the right of the visible part is not read, because lines may be very long.
  const shown = withoutTabs(revealedLine(text.slice(0, (left + room + 1) * 4)));
  if (left === 0) return truncated(shown, room);
  const rest = between(shown, left, widthOf(shown));
  return rest === '' ? '' : truncated(`…${between(rest, 1, widthOf(rest))}`, room);
}

const TAB = 4;

/** A text with spaces up to the next stop for each tab. */
function withoutTabs(text: string): string {
  if (!text.includes('\t')) return text;
  let line = '';
  for (const [i, part] of text.split('\t').entries())
    line += i === 0 ? part : ' '.repeat(TAB - (widthOf(line) % TAB)) + part;
  return line;
}

function styles(palette: Palette): Record<ReviewLine['kind'], Style> {
  const { strong, accent, faint, warn } = palette;
  return { file: strong, hunk: accent, note: faint, comment: warn, line: same };
}

/** The name of the file of a row, as one line. */
export function fileName({ files }: ReviewLines, row: ReviewLine | undefined): string {
  return oneLine(files[row?.file ?? -1]?.path ?? '');
}
