import { Box, Text } from 'ink';
import { type ReactNode, useContext, useMemo, useState } from 'react';
import { isAppError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import { type DiffAndReview, editReview, readDiffAndReview } from '../../../client/review.ts';
import { reviewFile } from '../../terminal/review-file.ts';
import { type ReviewLines, fileName, reviewLinesOf, rowText } from '../../terminal/review-lines.ts';
import { Bar } from '../bar.tsx';
import { useKeys } from '../keyboard.ts';
import { Notice, noticeLines } from '../notice.tsx';
import { useRead, useObservable } from '../react-hooks.ts';
import { Colors, StyledText } from '../styled-text.tsx';
import {
  type Asking,
  DIFF_KEYS,
  type DiffDialogProps,
  type View,
  cursorIndex,
  diffKeys,
  isWithin,
  withComments,
} from './diff-keys.ts';
import { Lines } from './dialog.tsx';
import { emptyEditor, inserted } from '../forms/editor.ts';
import { TextBox, useEditor } from '../forms/field.tsx';
import { counted } from '../../../core/lib/counted.ts';

/** From this width on the lines before and after a change are side by side, unless configured otherwise. */
const SPLIT_COLUMNS = 160;

/** The changes of a session, line by line, with the draft comments and the keys to write and send them. */
export function DiffDialog(props: DiffDialogProps): ReactNode {
  const { context, rows, columns, notices, onLeave } = props;
  const palette = useContext(Colors);
  const { read, reload } = useDiff(props);
  const [wanted, setWanted] = useState(context.diff);
  const isSplit = wanted === 'auto' ? columns >= SPLIT_COLUMNS : wanted === 'split';
  const reviewLines = useMemo(
    () => (read ? reviewLinesOf(read.diff, read.review.comments, columns, isSplit) : null),
    [read, columns, isSplit],
  );
  const [view, setView] = useState<View>({ key: '', index: 0, top: 0, left: 0, from: null });
  const [asking, setAsking] = useState<Asking | null>(null);
  const lines = asking
    ? [questionOf(asking)]
    : noticeLines(notices, { columns, beside: ESCAPE.length });
  const below =
    asking?.what === 'text' ? Math.min(6, Math.floor(rows / 3)) : Math.max(1, lines.length);
  const height = Math.max(1, rows - 1 - below);
  const index = reviewLines ? cursorIndex(reviewLines, view) : 0;
  const end = reviewLines ? withComments(reviewLines, index) : 0;
  const top = Math.max(0, Math.min(Math.max(view.top, end - height + 1), index));
  const comments = read?.review.comments ?? [];
  // The dialog ignores all keys while the editor is open.
  const edit = () => {
    if (!read) return;
    if (!context.edit) return notices.showNotice(NO_EDITOR);
    setAsking({ what: 'wait' });
    const done = () => setAsking(null);
    notices.attempt(editReview(context.client, read, reviewFile, context.edit).finally(done));
  };
  const toggleSplit = () => setWanted(isSplit ? 'unified' : 'split');
  const shownRows = { comments, index, top, height, view };
  const changes = { setView, setAsking, reload, toggleSplit, edit };
  useKeys(
    reviewLines
      ? diffKeys({ ...props, reviewLines, ...shownRows, ...changes })
      : { escape: onLeave, q: onLeave },
    asking === null,
  );
  useKeys(
    asking && asking.what !== 'text' ? answerKeys(props, asking, () => setAsking(null)) : {},
    asking !== null && asking.what !== 'text',
  );
  const shown = (reviewLines?.rows ?? []).slice(top, top + height).map((row, i) =>
    rowText(reviewLines as ReviewLines, row, {
      columns,
      left: view.left,
      palette,
      isSplit,
      isCursor: top + i === index,
      isSelected: reviewLines !== null && isWithin(reviewLines, view, index, top + i),
    }),
  );
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {reviewLines && read ? headOf(reviewLines, read, index) : <Text>Loading the diff …</Text>}
      <Lines lines={shown} height={height} />
      {asking?.what === 'text' ? (
        <Compose
          title={asking.title}
          initial={asking.comment?.text ?? ''}
          columns={columns}
          rows={below}
          onLeave={() => setAsking(null)}
          onDone={(text) => {
            setAsking(null);
            setView({ ...view, from: null });
            notices.attempt(saved(props, asking, text));
          }}
        />
      ) : (
        <Bar
          rows={below}
          left={<Notice lines={lines} hint={hintOf(columns, isSplit)} />}
          right={ESCAPE}
        />
      )}
    </Box>
  );
}

/** The diff and the draft: both are read again on request, and the draft also with each change of any review. */
function useDiff({ session, context, notices }: DiffDialogProps) {
  const { client, overviewStore } = context;
  const { id: session_id } = session;
  const { reviewSeq } = useObservable(overviewStore.overview);
  const [times, setTimes] = useState(0);
  const found = useRead(notices, [client, session_id, times], () =>
    readDiffAndReview(client, session_id),
  );
  const review = useRead(notices, [client, session_id, reviewSeq, times], () =>
    client.call(endpoints.getReview, { params: { session_id } }),
  );
  const read = useMemo(
    () => found && { ...found, review: review ?? found.review },
    [found, review],
  );
  return { read, reload: () => setTimes((before) => before + 1) };
}

/** Stores a new comment, or the changed text of a comment. */
function saved(
  { context: { client }, session: { id: session_id } }: DiffDialogProps,
  { comment, anchor }: Asking & { what: 'text' },
  text: string,
): Promise<unknown> {
  if (!comment) {
    const body = { ...anchor, text };
    return client.call(endpoints.addReviewComment, { params: { session_id }, body });
  }
  const params = { session_id, comment_id: comment.id };
  return client.call(endpoints.editReviewComment, { params, body: { text } });
}

/** The keys that answer a question about a comment, or about sending all. */
function answerKeys(
  { context: { client }, session: { id: session_id }, notices, onLeave }: DiffDialogProps,
  asking: Asking,
  done: () => void,
) {
  if (asking.what === 'wait') return {};
  const no = { n: done, escape: done, q: done };
  if (asking.what === 'drop')
    return {
      ...no,
      y() {
        const params = { session_id, comment_id: asking.comment.id };
        notices.attempt(client.call(endpoints.dropReviewComment, { params }));
        done();
      },
    };
  const send = (queue: boolean) => () => {
    done();
    const work = async () => {
      try {
        await client.call(endpoints.sendReview, { params: { session_id }, body: { queue } });
      } catch (error) {
        if (!isAppError(error, 'turn_in_progress')) throw error;
        return notices.showNotice('a turn is running: press s, then w to queue the comments');
      }
      notices.showNotice(`Comments ${queue ? 'queued' : 'sent'} as one turn`);
      onLeave();
    };
    notices.attempt(work());
  };
  return { ...no, y: send(false), w: send(true) };
}

function headOf(
  reviewLines: ReviewLines,
  { diff, review }: DiffAndReview,
  index: number,
): ReactNode {
  const { additions, deletions, files } = diff;
  const { comments } = review;
  const row = reviewLines.rows[index];
  const name =
    files.length === 0
      ? 'No changes'
      : `${(row?.file ?? 0) + 1}/${files.length} ${fileName(reviewLines, row)}`;
  const stale = reviewLines.stale === 0 ? '' : `, ${reviewLines.stale} stale`;
  const commentCount =
    comments.length === 0 ? '' : `  ${counted(comments.length, 'comment')}${stale}`;
  const left = (
    <Text bold wrap="truncate-start">
      {name}
    </Text>
  );
  return <Bar left={left} right={`+${additions} -${deletions}${commentCount}`} />;
}

const ESCAPE = 'esc';
const NO_EDITOR = 'no editor is available: press c to write a comment';

function hintOf(columns: number, isSplit: boolean): string {
  if (columns < 60) return 'c comment  v range  s send  ? help';
  return columns < 100 ? DIFF_KEYS : `${DIFF_KEYS}  t ${isSplit ? 'unified' : 'side by side'}`;
}

function questionOf(asking: Asking): string {
  if (asking.what === 'drop') return 'Drop this comment?  y yes  n no';
  if (asking.what === 'wait') return 'Editing in $EDITOR …';
  if (asking.what === 'send')
    return `Send ${counted(asking.count, 'comment')} as one turn?  y yes  w queue  n no`;
  return '';
}

interface ComposeProps {
  title: string;
  initial: string;
  columns: number;
  /** With the line of the title. */
  rows: number;
  onDone: (text: string) => void;
  onLeave: () => void;
}

/** A field for a text of several lines below the diff. An empty text leaves the field. */
function Compose(props: ComposeProps): ReactNode {
  const { title, initial, columns, rows, onDone, onLeave } = props;
  const { editor, change, latest } = useEditor(inserted(emptyEditor, initial));
  return (
    <TextBox
      title={<StyledText tone="asks">{title}</StyledText>}
      hint={columns < 60 ? '⏎ save' : '⏎ save  ^J new line  esc cancel'}
      editor={editor}
      columns={columns}
      rows={Math.max(2, rows - 1)}
      height={rows - 1}
      placeholder="Comment for the agent"
      onChange={change}
      onEnter={() => {
        const text = latest().text.trim();
        if (text === '') onLeave();
        else onDone(text);
      }}
      onOther={(_input, key) => {
        if (key.escape) onLeave();
      }}
    />
  );
}
