import type { ReviewComment } from '../../../api/reviews.ts';
import type { Session } from '../../../api/sessions.ts';
import { ANCHOR_LINES, type Anchor, anchorIn } from '../../../core/lib/diff-anchor.ts';
import {
  type ReviewLine,
  type ReviewLines,
  lineKey,
  commentLinesText,
} from '../../terminal/review-lines.ts';
import { type KeyTable, moveKeys } from '../keyboard.ts';
import type { DialogProps } from '../screen/screen-context.ts';

export interface DiffDialogProps extends DialogProps {
  session: Session;
}

/** The place of the cursor, and the lines that are shown around it. */
export interface View {
  /** The row of the cursor. */
  key: string;
  /** Where that row was: the cursor stays there when the row has gone. */
  index: number;
  /** The first row that is shown. */
  top: number;
  /** The first column of lines that is shown. */
  left: number;
  /** The row at which a range of lines begins; null: there is no range. */
  from: string | null;
}

/** The question on the last lines. */
export type Asking =
  | { what: 'drop'; comment: ReviewComment }
  | { what: 'send'; count: number }
  | { what: 'wait' }
  | ({ what: 'text'; title: string } & (
      | { what: 'text'; comment: ReviewComment; anchor?: undefined }
      | { what: 'text'; comment?: undefined; anchor: Anchor }
    ));

/** The index of the row of the cursor in the rows as they are now. */
export function cursorIndex({ rows }: ReviewLines, { key, index }: View): number {
  if (rows[index]?.key === key) return index;
  const found = rows.findIndex(
    (row) => row.key === key || lineKey(row.file, row.hunk, row.beside) === key,
  );
  return found === -1 ? Math.max(0, Math.min(index, rows.length - 1)) : found;
}

/** The index of the last of the comments below a row, which are to be seen with it; of the row itself where there are none. */
export function withComments({ rows }: ReviewLines, index: number): number {
  const next = rows.findIndex((row, i) => i > index && row.kind !== 'comment');
  return (next === -1 ? rows.length : next) - 1;
}

/** Whether a row is a line of the range that ends at the cursor: all lines of a range are in one hunk. */
export function isWithin(
  reviewLines: ReviewLines,
  { from }: View,
  cursor: number,
  index: number,
): boolean {
  const row = reviewLines.rows[index];
  if (from === null || row?.kind !== 'line') return false;
  const range = rangeOf(reviewLines, from, cursor);
  return (
    range !== null &&
    row.file === range.file &&
    row.hunk === range.hunk &&
    row.at >= range.from &&
    row.at <= range.to
  );
}

interface DiffKeys extends DiffDialogProps {
  reviewLines: ReviewLines;
  comments: readonly ReviewComment[];
  index: number;
  top: number;
  height: number;
  view: View;
  setView: (view: View) => void;
  setAsking: (asking: Asking) => void;
  reload: () => void;
  /** Shows the lines side by side, or one below the other. */
  toggleSplit: () => void;
  /** Opens all comments in an editor. */
  edit: () => void;
}

/** How many columns one key moves long lines. */
const SCROLL = 8;

/** The keys of the dialog, in at most 80 columns. */
export const DIFF_KEYS =
  'c comment  v range  x drop  s send  e editor  ] [ hunk  } { file  r reload';

export function diffKeys(context: DiffKeys): KeyTable {
  const { reviewLines, view, setView, index, top, height, comments, onLeave, setAsking } = context;
  const { rows } = reviewLines;
  const to = (wanted: number, first = top) => {
    const at = Math.max(0, Math.min(wanted, rows.length - 1));
    setView({ ...view, key: rows[at]?.key ?? '', index: at, top: first });
  };
  const by = (count: number) => () => to(index + count);
  // A file or a part begins at the top of what is shown.
  const toFirst = (at: number) => {
    if (at >= 0) to(at, at);
  };
  const next = (isWanted: (row: ReviewLine) => boolean) => () =>
    toFirst(rows.findIndex((row, i) => i > index && isWanted(row)));
  const previous = (isWanted: (row: ReviewLine) => boolean) => () =>
    toFirst(rows.findLastIndex((row, i) => i < index && isWanted(row)));
  const isFile = ({ kind }: ReviewLine) => kind === 'file';
  const isHunk = ({ kind }: ReviewLine) => kind === 'hunk';
  const isComment = ({ kind, comment }: ReviewLine) =>
    kind === 'comment' && comment !== rows[index]?.comment;
  const scroll = (columns: number) => () =>
    setView({ ...view, left: Math.max(0, view.left + columns) });
  // Only lines have comments: from any other row, the comment goes to the next line.
  const commentNear = () => {
    const line = rows.findIndex((row, i) => i > index && row.kind === 'line');
    const isNear =
      view.from === null && !/^(line|comment)$/.test(rows[index]?.kind ?? '') && line >= 0;
    if (isNear) to(line);
    comment({ ...context, index: isNear ? line : index });
  };
  return {
    ...moveKeys({ height, by, toStart: () => to(0), toEnd: () => to(rows.length - 1) }),
    ' ': by(height - 1),
    b: by(1 - height),
    leftArrow: scroll(-SCROLL),
    rightArrow: scroll(SCROLL),
    ']': next(isHunk),
    '[': previous(isHunk),
    '}': next(isFile),
    '{': previous(isFile),
    tab: next(isComment),
    'shift tab': previous(isComment),
    v: () => setView({ ...view, from: view.from === null ? (rows[index]?.key ?? null) : null }),
    c: commentNear,
    return: commentNear,
    x: () => drop(context),
    s() {
      if (comments.length > 0) setAsking({ what: 'send', count: comments.length });
      else context.notices.showNotice('no comments: press c to add one');
    },
    e: context.edit,
    '?': () => context.notices.showNotice(DIFF_KEYS),
    r: context.reload,
    t: context.toggleSplit,
    escape: () => (view.from === null ? onLeave() : setView({ ...view, from: null })),
    q: onLeave,
    D: onLeave,
  };
}

/** Asks for the text of a comment on the line or the range, or for another text of the comment at the cursor. */
function comment(context: DiffKeys): void {
  const { reviewLines, index, view, setAsking, notices } = context;
  const known = commentAt(context);
  if (known)
    return setAsking({
      what: 'text',
      title: `Comment on ${commentLinesText(known)}`,
      comment: known,
    });
  const range = rangeOf(reviewLines, view.from ?? reviewLines.rows[index]?.key ?? '', index);
  const file = reviewLines.files[range?.file ?? -1];
  const hunk = file?.hunks[range?.hunk ?? -1];
  const anchor = file && hunk && range ? anchorIn(file, hunk, range.from, range.to) : null;
  if (!anchor)
    return notices.showNotice(
      view.from === null
        ? 'select a line or a comment'
        : 'a comment covers lines of one hunk: press v to end the range',
    );
  if (anchor.lines.length > ANCHOR_LINES)
    return notices.showNotice(`a comment covers at most ${ANCHOR_LINES} lines`);
  setAsking({ what: 'text', title: `Comment on ${commentLinesText(anchor)}`, anchor });
}

function drop(context: DiffKeys): void {
  const known = commentAt(context);
  if (known) context.setAsking({ what: 'drop', comment: known });
  else context.notices.showNotice('select a comment: press tab for the next one');
}

function commentAt({ reviewLines, comments, index }: DiffKeys): ReviewComment | undefined {
  const id = reviewLines.rows[index]?.comment;
  return comments.find((one) => one.id === id);
}

/** The lines between two rows; null where they are not in one hunk. */
function rangeOf({ rows }: ReviewLines, from: string, cursor: number) {
  const one = rows.find(({ key }) => key === from);
  const other = rows[cursor];
  if (one?.kind !== 'line' || !other || one.file !== other.file || one.hunk !== other.hunk)
    return null;
  // The cursor may be on a comment below the line.
  const at = rows.findLast((row, i) => i <= cursor && row.kind === 'line')?.at ?? one.at;
  const { file, hunk } = one;
  return { file, hunk, from: Math.min(one.at, at), to: Math.max(one.at, at) };
}
