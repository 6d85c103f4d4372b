import type { SessionDiff } from '../../../api/diffs.ts';
import type { BodyOf, ResponseOf } from '../../../api/endpoint.ts';
import {
  type Review,
  type ReviewComment,
  type StoredReviewComment,
  type addReviewComment,
  reviewLimits,
  type sendReview,
} from '../../../api/reviews.ts';
import { AppError, conflictError, invalidError, notFoundError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { anchorOf, anchorStateOf } from '../../../core/lib/diff-anchor.ts';
import { type DiffFile, readPatches } from '../../../core/lib/unified-diff.ts';
import type { QueueService } from '../queue/service.ts';
import { assertNotClosed } from '../sessions/session.ts';
import type { SessionService } from '../sessions/service.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { revealed } from '../../../core/lib/plain.ts';
import { counted } from '../../../core/lib/counted.ts';

interface ReviewServiceDeps extends Pick<ServerParts, 'db' | 'log' | 'clock' | 'ids'> {
  sessionStore: SessionStore;
  sessions: SessionService;
  queue: QueueService;
  snapshots: {
    /** Returns the diff of a session. Throws an AppError if it cannot be read. */
    diff: (
      sessionId: string,
      options: { against: 'start'; path: string[]; stat: boolean; exact: boolean },
    ) => Promise<Pick<SessionDiff, 'files' | 'is_cut'>>;
  };
}

const wholeDiff = { against: 'start' as const, path: [], stat: false, exact: false };

/** The comments of people on the diffs of sessions: a draft that all clients share, until it is sent as one turn. */
export class ReviewService {
  readonly #deps: ReviewServiceDeps;
  readonly #table: RecordTable<StoredReviewComment>;

  constructor(deps: ReviewServiceDeps) {
    this.#deps = deps;
    this.#table = new RecordTable(deps.db, 'review_comments', ({ id }) => id);
  }

  /** Returns the draft of a session, with what has become of the lines of each comment. */
  async get(sessionId: string): Promise<Review> {
    const comments = await this.#deps.db.read((rx) => {
      this.#deps.sessionStore.session(rx, sessionId);
      return this.#of(rx, sessionId);
    });
    return { session_id: sessionId, comments: inOrder(await this.#judged(sessionId, comments)) };
  }

  /** Adds a comment. Throws `invalid` for lines that the diff does not show, unless the client says what they are. */
  async add(
    sessionId: string,
    body: BodyOf<typeof addReviewComment>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<ReviewComment> {
    const { db, log, clock, ids, sessionStore } = this.#deps;
    await db.read((rx) => assertNotClosed(sessionStore.session(rx, sessionId)));
    const { path, first_line, text } = body;
    const location = {
      path,
      side: body.side ?? ('new' as const),
      first_line,
      last_line: body.last_line ?? first_line,
    };
    const diff = await this.#diffOf(sessionId);
    const lines = body.lines ?? linesAt(location, diff.files);
    const state = anchorStateOf({ ...location, lines }, diff.files, diff);
    return db.transact((tx) => {
      assertNotClosed(sessionStore.session(tx, sessionId));
      if (this.#of(tx, sessionId).length >= reviewLimits.comments)
        throw new AppError(
          'too_many',
          `the review of session ${sessionId} is full (${reviewLimits.comments} comments): send the review, or remove some comments`,
        );
      const now = clock.now();
      const comment: StoredReviewComment = {
        id: ids.next('cmt'),
        session_id: sessionId,
        ...location,
        lines,
        text,
        created_by: by,
        created_at: now,
        updated_at: now,
      };
      this.#table.insert(tx, comment);
      log.append(tx, { kind: 'review.added', session_id: sessionId, payload: { comment } });
      return { ...comment, ...state };
    }, saveResponse);
  }

  async edit(sessionId: string, id: string, text: string): Promise<ReviewComment> {
    const { db, log, clock } = this.#deps;
    const comment = await db.transact((tx) => {
      const before = this.#comment(tx, sessionId, id);
      if (before.text === text) return before;
      const after = { ...before, text, updated_at: clock.now() };
      this.#table.update(tx, after);
      log.append(tx, { kind: 'review.edited', session_id: sessionId, payload: { comment: after } });
      return after;
    });
    const { files, isCut } = await this.#diffOf(sessionId);
    return { ...comment, ...anchorStateOf(comment, files, { isCut }) };
  }

  drop(sessionId: string, id: string): Promise<StoredReviewComment> {
    return this.#deps.db.transact((tx) => {
      const comment = this.#comment(tx, sessionId, id);
      this.#remove(tx, [comment]);
      this.#appendDropped(tx, sessionId, [comment]);
      return comment;
    });
  }

  /** Drops all comments of a session, and returns the draft, which is empty then. */
  dropAll(sessionId: string): Promise<Review> {
    return this.#deps.db.transact((tx) => {
      this.#deps.sessionStore.session(tx, sessionId);
      this.sessionTrimmed(tx, sessionId);
      return { session_id: sessionId, comments: [] };
    });
  }

  /** Removes the comments of a closed session whose contents retention deletes. */
  sessionTrimmed(tx: Writer, sessionId: string): void {
    const comments = this.#of(tx, sessionId);
    if (comments.length === 0) return;
    this.#remove(tx, comments);
    this.#appendDropped(tx, sessionId, comments);
  }

  /**
   * Sends the draft as one turn, or queues it as one. The comments go in the transaction that stores the turn: each is
   * sent once. Throws `conflict` for an empty draft, and where one of its comments was changed or dropped meanwhile; else
   * as a turn that is sent, or queued.
   */
  async send(
    sessionId: string,
    body: BodyOf<typeof sendReview>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<Sent> {
    const { text: preface, queue: isQueued, expected_turn_id, ...settings } = body;
    if (isQueued && (expected_turn_id ?? null) !== null)
      throw invalidError(
        'body.expected_turn_id: the fields "queue" and "expected_turn_id" cannot be combined: send only one of the two fields',
      );
    const { comments } = await this.get(sessionId);
    if (comments.length === 0)
      throw conflictError(`the review of session ${sessionId} has no comments`);
    const text = reviewText(comments, preface ?? '');
    assertSize(text);
    const input = { type: 'text' as const, text };
    let sent: Sent | undefined;
    const settle = (tx: Writer, { turn_id = null, entry_id = null }: Partial<Sent>) => {
      this.#assertSame(tx, sessionId, comments);
      this.#remove(tx, comments);
      const comment_ids = comments.map(({ id }) => id);
      this.#deps.log.append(tx, {
        kind: 'review.sent',
        session_id: sessionId,
        payload: { comment_ids, turn_id, entry_id },
      });
      sent = { session_id: sessionId, turn_id, entry_id, comments: comments.length };
      saveResponse?.(tx, sent);
    };
    if (isQueued)
      await this.#deps.queue.add(
        sessionId,
        { input, name: 'review', ...settings },
        by,
        (tx, entry) => settle(tx, { entry_id: (entry as { id: string }).id }),
      );
    else
      await this.#deps.sessions.send(
        sessionId,
        { input, expected_turn_id, ...settings },
        (tx, accepted) => settle(tx, { turn_id: (accepted as { turn_id: string }).turn_id }),
      );
    if (sent) return sent;
    throw new Error('a review was accepted, but its comments could not be removed');
  }

  /** Throws `conflict` unless each comment is as it was read. */
  #assertSame(rx: Reader, sessionId: string, comments: readonly StoredReviewComment[]): void {
    for (const { id, updated_at, text } of comments) {
      const now = this.#table.get(rx, id);
      if (now?.updated_at !== updated_at || now.text !== text)
        throw conflictError(
          `the review of session ${sessionId} has changed or was sent: check the review, and send it again`,
        );
    }
  }

  #of(rx: Reader, sessionId: string): StoredReviewComment[] {
    return this.#table.where(rx, 'session_id = ?', sessionId);
  }

  #comment(rx: Reader, sessionId: string, id: string): StoredReviewComment {
    const found = this.#table.get(rx, id);
    if (found?.session_id === sessionId) return found;
    throw notFoundError(`session "${sessionId}" has no review comment "${id}"`);
  }

  #remove(tx: Writer, comments: readonly StoredReviewComment[]): void {
    for (const { id } of comments) this.#table.delete(tx, id);
  }

  #appendDropped(tx: Writer, session_id: string, comments: readonly StoredReviewComment[]): void {
    const payload = { comment_ids: comments.map(({ id }) => id) };
    this.#deps.log.append(tx, { kind: 'review.dropped', session_id, payload });
  }

  async #judged(
    sessionId: string,
    comments: readonly StoredReviewComment[],
  ): Promise<ReviewComment[]> {
    if (comments.length === 0) return [];
    const diff = await this.#diffOf(sessionId);
    return comments.map((one) => ({ ...one, ...anchorStateOf(one, diff.files, diff) }));
  }

  /** The diff of a session; one that names no file where it cannot be read now, for example because its directory is gone. */
  async #diffOf(sessionId: string): Promise<{ files: DiffFile[]; isCut: boolean }> {
    try {
      const { files, is_cut } = await this.#deps.snapshots.diff(sessionId, wholeDiff);
      return { files: readPatches(files), isCut: is_cut };
    } catch (error) {
      if (error instanceof AppError) return { files: [], isCut: true };
      throw error;
    }
  }
}

type Sent = ResponseOf<typeof sendReview>;

function linesAt(
  location: Pick<StoredReviewComment, 'path' | 'side' | 'first_line' | 'last_line'>,
  files: readonly DiffFile[],
): string[] {
  const lines = anchorOf(files, location)?.lines;
  if (lines && lines.length <= reviewLimits.lines) return lines;
  const why = lines
    ? `exceed ${reviewLimits.lines} lines, the maximum for a comment`
    : 'are not in one hunk of the session diff: check the diff, or send the lines as text';
  throw invalidError(
    `body: cannot comment on lines ${location.first_line} to ${location.last_line} of "${location.path}", because these lines ${why}`,
  );
}

function assertSize(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > reviewLimits.turnBytes)
    throw conflictError(
      `the review is too large for one turn (${bytes} bytes, and the maximum is ${reviewLimits.turnBytes} bytes): send some of the comments in a second review`,
    );
}

function inOrder(comments: readonly ReviewComment[]): ReviewComment[] {
  return comments.toSorted(
    (a, b) =>
      Number(a.path > b.path) - Number(a.path < b.path) ||
      a.first_line - b.first_line ||
      Number(a.id > b.id) - Number(a.id < b.id),
  );
}

/** The states in which the lines of a comment are as they were, or nobody knows. */
const fresh = new Set<ReviewComment['state']>(['current', 'unknown']);

/** Returns the text of the turn that sends a review: all comments with files and lines, so that agents need no diff. */
function reviewText(comments: readonly ReviewComment[], text: string): string {
  const files = new Set(comments.map(({ path }) => path)).size;
  const head = `This is a review of your changes: ${counted(comments.length, 'comment')} on ${counted(files, 'file')}. Please address each of them.`;
  const key =
    'Each comment quotes its lines as they were when the comment was written: "+" marks a line that you added, "-" a line that you removed. Line numbers refer to the changed file, and removed lines have no number. If all lines of a comment are removed, the numbers refer to the file before your change.';
  const parts = comments.map((one, at) => commentText(one, at + 1));
  return [head, text.trim(), key, ...parts].filter((part) => part !== '').join('\n\n');
}

function commentText(comment: ReviewComment, number: number): string {
  const { lines, text, state } = comment;
  const isStale = !fresh.has(state);
  return [
    `## ${number}. ${locationText(comment)}`,
    ...(isStale ? [`(${staleText(comment)})`] : []),
    numberedLines(comment, lines),
    text.trim(),
  ].join('\n\n');
}

function locationText({ path, side, first_line, last_line }: ReviewComment): string {
  const removed = side === 'old' ? ' (removed)' : '';
  const lines =
    first_line === last_line ? `line ${first_line}` : `lines ${first_line} to ${last_line}`;
  return `${revealed(path).replaceAll('\n', '<U+000A>')}, ${lines}${removed}`;
}

function staleText({ state, found_at }: ReviewComment): string {
  if (state === 'moved')
    return `The file has changed since: these lines are now at line ${found_at}.`;
  if (state === 'gone') return 'This file is no longer among the changes.';
  return 'These lines have changed since: check whether the comment still applies.';
}

/** The lines of a comment with their numbers, indented by four spaces, as code. */
function numberedLines({ side, first_line, last_line }: ReviewComment, lines: string[]): string {
  const width = String(last_line).length;
  let next = first_line;
  return lines
    .map((line) => {
      const isOfSide = side === 'new' ? !line.startsWith('-') : !line.startsWith('+');
      const number = isOfSide ? String(next++) : '';
      return `    ${number.padStart(width)} ${line[0] ?? ' '} ${revealed(line.slice(1))}`.trimEnd();
    })
    .join('\n');
}
