import { z } from 'zod';
import { timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentMode, sessionParam } from './sessions.ts';

/** The limits of a review. */
export const reviewLimits = {
  /** The maximum number of comments of a session. */
  comments: 200,
  /** The maximum number of lines that a comment is about. */
  lines: 200,
  /** The maximum length of a comment, in UTF-16 code units. */
  text: 10_000,
  /** The maximum size of the turn that sends a review, in bytes. */
  turnBytes: 256 * 1024,
};

const side = z
  .enum(['new', 'old'])
  .describe('Of which file the numbers are. new: after the change. old: before it.');
const lineNumber = z
  .int()
  .min(1)
  .max(2 ** 31);
const commentText = z.string().trim().min(1).max(reviewLimits.text);
const quotedLine = z.string().min(1).max(1000);
const commentFields = {
  path: z
    .string()
    .min(1)
    .max(4096)
    .describe('The file, as the diff names it after the change; a removed one as it was named.'),
  side,
  first_line: lineNumber.describe('The first line that it is about.'),
  last_line: lineNumber.describe('The last one.'),
};

/** A comment as it is stored, and as events carry it. */
export const storedReviewComment = z
  .looseObject({
    id: z.string(),
    session_id: z.string(),
    ...commentFields,
    lines: z
      .array(z.string())
      .describe(
        'The lines as they were when the comment was written, each with its mark of the diff (" ", "+", "-"), also those of the other side between them. A line is cut after 1000 characters.',
      ),
    text: z.string().describe('What is said of them.'),
    created_by: z.string().describe('The id of the token of the request.'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({
    id: 'StoredReviewComment',
    description: 'A comment on lines of the diff of a session, which was not sent yet.',
  });
export type StoredReviewComment = z.output<typeof storedReviewComment>;

const reviewComment = storedReviewComment
  .extend({
    state: z
      .enum(['current', 'moved', 'changed', 'gone', 'unknown'])
      .describe(
        'What has become of its lines. current: the diff shows them as they were. moved: they have other numbers now. changed: the diff does not show them so any more. gone: the file is no longer in the diff. unknown: the diff cannot be read now. A comment is never moved; all but current and unknown are stale.',
      ),
    found_at: z
      .int()
      .nullable()
      .describe('Of a comment whose lines have moved: the number of the first of them now.'),
  })
  .meta({ id: 'ReviewComment', description: 'A comment, with what has become of its lines.' });
export type ReviewComment = z.output<typeof reviewComment>;

const review = z
  .looseObject({
    session_id: z.string(),
    comments: z.array(reviewComment).describe('By path and line.'),
  })
  .meta({ id: 'Review', description: 'The comments on the diff of a session that were not sent.' });
export type Review = z.output<typeof review>;

const commentParams = { ...sessionParam, comment_id: z.string().describe('The comment.') };

export const getReview = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/review',
  summary: 'The comments on the diff of a session that were not sent yet',
  params: sessionParam,
  response: review,
  errors: ['not_found'],
});

export const addReviewComment = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/review/comments',
  summary: 'Comment on lines of the diff of a session; nothing is sent yet',
  params: sessionParam,
  body: z
    .strictObject({
      ...commentFields,
      side: side.nullish().describe('Of which file the numbers are; absent: new.'),
      last_line: lineNumber.nullish().describe('The last line; absent: the first one.'),
      lines: z
        .array(quotedLine)
        .min(1)
        .max(reviewLimits.lines)
        .nullish()
        .describe(
          'The lines as the person has seen them, with their marks, cut after 1000 characters; absent: as the diff shows them now.',
        ),
      text: commentText,
    })
    .refine(({ first_line, last_line }) => (last_line ?? first_line) >= first_line, {
      path: ['last_line'],
      error: 'is before first_line',
    }),
  bodyLimit: 2 * 1024 * 1024,
  response: reviewComment,
  errors: ['not_found', 'session_closed', 'conflict', 'too_many'],
});

export const editReviewComment = endpoint({
  method: 'PATCH',
  path: '/v1/sessions/{session_id}/review/comments/{comment_id}',
  summary: 'Change what a comment says',
  params: commentParams,
  body: z.strictObject({ text: commentText }),
  response: reviewComment,
  errors: ['not_found'],
});

export const dropReviewComment = endpoint({
  method: 'DELETE',
  path: '/v1/sessions/{session_id}/review/comments/{comment_id}',
  summary: 'Drop a comment',
  params: commentParams,
  response: storedReviewComment,
  errors: ['not_found'],
});

export const dropReview = endpoint({
  method: 'DELETE',
  path: '/v1/sessions/{session_id}/review',
  summary: 'Drop all comments on the diff of a session',
  params: sessionParam,
  response: review,
  errors: ['not_found'],
});

export const sendReview = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/review/send',
  summary: 'Send all comments on the diff of a session as one turn; they leave the draft with it',
  params: sessionParam,
  body: z.strictObject({
    text: z.string().max(reviewLimits.text).nullish().describe('What is said before the comments.'),
    queue: z
      .boolean()
      .nullish()
      .describe('true: it becomes a turn once the session is free; absent: now.'),
    expected_turn_id: z
      .string()
      .nullish()
      .describe("A guard: it is refused unless this is the session's most recent turn."),
    permission_mode: z.string().min(1).nullish().describe('For this turn only.'),
    agent_mode: agentMode.describe("For this turn only: the agent's own mode."),
    model: z.string().min(1).nullish().describe('For this turn only.'),
    thinking_effort: z.string().min(1).nullish().describe('For this turn only.'),
  }),
  response: z.looseObject({
    session_id: z.string(),
    turn_id: z.string().nullable().describe('The turn that was accepted; null: it was queued.'),
    entry_id: z.string().nullable().describe('The entry of the queue; null: it was sent at once.'),
    comments: z.int().describe('How many comments it has.'),
  }),
  errors: [
    'not_found',
    'conflict',
    'turn_in_progress',
    'turn_conflict',
    'session_closed',
    'session_failed',
    'provider_unavailable',
    'too_many',
  ],
});
