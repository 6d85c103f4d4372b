import { Box } from 'ink';
import { type ReactNode, useContext, useMemo, useState } from 'react';
import { AppError } from '../../../api/errors.ts';
import type { ReviewComment } from '../../../api/reviews.ts';
import type { DiffAndReview } from '../../../client/review.ts';
import { type ReviewLines, fileName, reviewLinesOf, rowText } from '../../terminal/review-lines.ts';
import { Bar } from '../bar.tsx';
import { useKeys } from '../keyboard.ts';
import { Notice, noticeLines } from '../notice.tsx';
import { Colors } from '../palette.ts';
import { useRead, useSource } from '../react-hooks.ts';
import { Tint } from '../tint.tsx';
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
import { Lines } from './lines.tsx';
import { emptyEditor, inserted } from '../forms/editor.ts';
import { Field } from '../forms/field.tsx';
import { useEditor } from '../forms/use-editor.ts';
import { counted } from '../../../core/lib/counted.ts';

/** From this width on the lines before and after a change are side by side, unless configured otherwise. */
const SPLIT_COLUMNS = 160;

/** The changes of a session, line by line, with the draft comments and the keys to write and send them. */
export function DiffDialog(props: DiffDialogProps): ReactNode {
  const { place, rows, columns, notices, onLeave } = props;
  const palette = useContext(Colors);
  const { read, reload } = useDiff(props);
  const [wanted, setWanted] = useState(place.diff);
  const isSplit = wanted === 'auto' ? columns >= SPLIT_COLUMNS : wanted === 'split';
  const sheet = useMemo(
    () => (read ? reviewLinesOf(read.diff, read.review.comments, columns, isSplit) : null),
    [read, columns, isSplit],
  );
  const [view, setView] = useState<View>({ key: '', index: 0, top: 0, left: 0, from: null });
  const [asking, setAsking] = useState<Asking | null>(null);
  const said = asking ? [] : noticeLines(notices, { columns, beside: ESCAPE.length });
  const below =
    asking?.what === 'text' ? Math.min(6, Math.floor(rows / 3)) : Math.max(1, said.length);
  const height = Math.max(1, rows - 1 - below);
  const index = sheet ? cursorIndex(sheet, view) : 0;
  const end = sheet ? withComments(sheet, index) : 0;
  const top = Math.max(0, Math.min(Math.max(view.top, end - height + 1), index));
  const comments = read?.review.comments ?? [];
  // The dialog ignores all keys while the editor is open.
  const edit = () => {
    if (!read) return;
    setAsking({ what: 'wait' });
    const done = () => setAsking(null);
    notices.attempt(props.place.acts.editReview(read).finally(done));
  };
  const keyContext = {
    ...props,
    sheet,
    comments,
    index,
    top,
    height,
    view,
    setView,
    setAsking,
    reload,
    toggleSplit: () => setWanted(isSplit ? 'unified' : 'split'),
    edit,
  };
  useKeys(sheet ? diffKeys(keyContext) : { escape: onLeave, q: onLeave }, asking === null);
  useKeys(
    asking && asking.what !== 'text' ? answerKeys(props, asking, () => setAsking(null)) : {},
    asking !== null && asking.what !== 'text',
  );
  const shown = (sheet?.rows ?? []).slice(top, top + height).map((row, i) =>
    rowText(sheet as ReviewLines, row, {
      columns,
      left: view.left,
      palette,
      isSplit,
      isCursor: top + i === index,
      isSelected: sheet !== null && isWithin(sheet, view, index, top + i),
    }),
  );
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Head sheet={sheet} read={read} index={index} comments={comments} />
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
        <Foot question={asking} said={said} columns={columns} isSplit={isSplit} />
      )}
    </Box>
  );
}

/** The diff and the draft: both are read again on request, and the draft also with each change of any review. */
function useDiff({ session, place, notices }: DiffDialogProps) {
  const { acts, overviewStore } = place;
  const { reviewSeq } = useSource(overviewStore.overview);
  const [times, setTimes] = useState(0);
  const found = useRead(notices, [acts, session.id, times], () => acts.diffAndReview(session.id));
  const review = useRead(notices, [acts, session.id, reviewSeq, times], () =>
    acts.review(session.id),
  );
  const read = useMemo(
    () => found && { ...found, review: review ?? found.review },
    [found, review],
  );
  return { read, reload: () => setTimes((before) => before + 1) };
}

/** Stores what was written: a new comment, or another text of one. */
function saved(
  { place: { acts }, session }: DiffDialogProps,
  asking: Asking & { what: 'text' },
  text: string,
) {
  const { comment, anchor } = asking;
  return comment
    ? acts.editComment(comment, text)
    : acts.addComment(session.id, { ...anchor, text });
}

/** The keys that answer a question about a comment, or about sending all. */
function answerKeys(
  { place: { acts }, session, notices, onLeave }: DiffDialogProps,
  asking: Asking,
  done: () => void,
) {
  if (asking.what === 'wait') return {};
  const no = { n: done, escape: done, q: done };
  if (asking.what === 'drop')
    return {
      ...no,
      y() {
        notices.attempt(acts.dropComment(asking.comment));
        done();
      },
    };
  const send = (queue: boolean) => () => {
    done();
    const work = async () => {
      try {
        await acts.sendReview(session.id, queue);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'turn_in_progress') throw error;
        return notices.tell('a turn is running: press s, then w to queue the comments');
      }
      notices.tell(`Comments ${queue ? 'queued' : 'sent'} as one turn`);
      onLeave();
    };
    notices.attempt(work());
  };
  return { ...no, y: send(false), w: send(true) };
}

function Head({
  sheet,
  read,
  index,
  comments,
}: {
  sheet: ReviewLines | null;
  read: DiffAndReview | null;
  index: number;
  comments: readonly ReviewComment[];
}): ReactNode {
  if (!sheet || !read) return <Bar left={<Tint tone="plain">Loading the diff …</Tint>} right="" />;
  const { additions, deletions, files } = read.diff;
  const row = sheet.rows[index];
  const name =
    files.length === 0
      ? 'No changes'
      : `${(row?.file ?? 0) + 1}/${files.length} ${fileName(sheet, row)}`;
  const stale = sheet.stale === 0 ? '' : `, ${sheet.stale} stale`;
  const said = comments.length === 0 ? '' : `  ${counted(comments.length, 'comment')}${stale}`;
  return (
    <Bar
      left={
        <Tint tone="plain" bold wrap="truncate-start">
          {name}
        </Tint>
      }
      right={<Tint tone="faint">{`+${additions} -${deletions}${said}`}</Tint>}
    />
  );
}

const ESCAPE = 'esc';

function Foot({
  question,
  said,
  columns,
  isSplit,
}: {
  question: Asking | null;
  said: readonly string[];
  columns: number;
  isSplit: boolean;
}): ReactNode {
  const toggle = columns < 100 ? '' : `  t ${isSplit ? 'unified' : 'side by side'}`;
  const keys = columns < 60 ? 'c comment  v range  s send  ? help' : DIFF_KEYS + toggle;
  const lines = question ? [questionOf(question)] : said;
  return (
    <Bar
      rows={Math.max(1, lines.length)}
      left={<Notice lines={lines} hint={keys} />}
      right={<Tint tone="faint">{ESCAPE}</Tint>}
    />
  );
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
    <Box flexDirection="column" height={rows} flexShrink={0}>
      <Bar
        left={
          <Tint tone="asks" wrap="truncate-end">
            {title}
          </Tint>
        }
        right={
          <Tint tone="faint">{columns < 60 ? '⏎ save' : '⏎ save  ^J new line  esc cancel'}</Tint>
        }
      />
      <Box height={rows - 1}>
        <Tint tone="name">{'> '}</Tint>
        <Field
          editor={editor}
          columns={columns - 2}
          rows={Math.max(2, rows - 1)}
          isActive
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
      </Box>
    </Box>
  );
}
