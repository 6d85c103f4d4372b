import { Box } from 'ink';
import { type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import type { ReviewComment } from '../../../api/reviews.ts';
import type { DiffAndReview } from '../../../client/review.ts';
import { fileName, rowText, type ReviewLines, reviewLinesOf } from '../../terminal/review-lines.ts';
import { AppError } from '../../../api/errors.ts';
import { Bar } from '../bar.tsx';
import { useKeys } from '../keyboard.ts';
import { Colors } from '../palette.ts';
import { Notice, noticeLines } from '../notice.tsx';
import { Tint } from '../tint.tsx';
import { Compose } from './compose.tsx';
import {
  type Asking,
  DIFF_KEYS,
  diffKeys,
  type DiffDialogProps,
  isWithin,
  cursorIndex,
  type View,
  withComments,
} from './diff-keys.ts';
import { Lines } from './lines.tsx';

/** What a session has changed, line by line, with the comments of the draft and the keys that write and send them. */
export function DiffDialog(props: DiffDialogProps): ReactNode {
  const { rows, columns, notices, onLeave } = props;
  const palette = useContext(Colors);
  const { read, reload } = useDiff(props);
  const sheet = useMemo(
    () => (read ? reviewLinesOf(read.diff, read.review.comments, columns) : null),
    [read, columns],
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
  // Meanwhile no key is for the sheet.
  const edit = () => {
    if (!read) return;
    setAsking({ what: 'wait' });
    const done = () => setAsking(null);
    notices.attempt(props.acts.editReview(read).finally(done));
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
      isCursor: top + i === index,
      isSelected: sheet !== null && isWithin(sheet, view, index, top + i),
    }),
  );
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Head sheet={sheet} read={read} index={index} comments={comments} />
      <Lines lines={shown} top={0} height={height} />
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
        <Foot question={asking} said={said} columns={columns} />
      )}
    </Box>
  );
}

/** The diff and the draft: both are read again when somebody asks for it, the draft alone with each change of it. */
function useDiff({ session, acts, notices: { attempt }, version }: DiffDialogProps) {
  const [read, setRead] = useState<DiffAndReview | null>(null);
  const [times, setTimes] = useState(0);
  useEffect(() => {
    let isShown = true;
    attempt(
      acts.diffAndReview(session.id).then((found) => {
        if (isShown) setRead(found);
      }),
    );
    return () => {
      isShown = false;
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- read again when asked, and not with each drawing
  }, [acts, session.id, times]);
  useEffect(() => {
    let isShown = true;
    attempt(
      acts.review(session.id).then((review) => {
        if (isShown) setRead((before) => before && { ...before, review });
      }),
    );
    return () => {
      isShown = false;
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- read again with each change, and not with each drawing
  }, [acts, session.id, version]);
  return { read, reload: () => setTimes((before) => before + 1) };
}

/** Stores what was written: a new comment, or another text of one. */
function saved(
  { acts, session }: DiffDialogProps,
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
  { acts, session, notices, onLeave }: DiffDialogProps,
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
  const said = comments.length === 0 ? '' : `  ${counted(comments.length)}${stale}`;
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
}: {
  question: Asking | null;
  said: readonly string[];
  columns: number;
}): ReactNode {
  const keys = columns < 60 ? 'c comment  v range  s send  ? help' : DIFF_KEYS;
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
    return `Send ${counted(asking.count)} as one turn?  y yes  w queue  n no`;
  return '';
}

function counted(count: number): string {
  return count === 1 ? '1 comment' : `${count} comments`;
}
