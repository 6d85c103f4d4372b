import { z } from 'zod';
import { component, nullableText, optionalFlag, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';
import { turnOptions } from './turns.ts';

export const reviewLimits = {
  /** The maximum number of comments per session. */
  comments: 200,
  /** The maximum number of lines per comment. */
  lines: 200,
  /** The maximum length of a comment in UTF-16 code units. */
  text: 10_000,
  /** The maximum size in bytes of the turn that contains a review. */
  turnBytes: 256 * 1024,
};

const side = z.enum(['new', 'old']).meta({
  description:
    'File version that the line numbers refer to. `new`: after the change. `old`: before the change.',
});
const lineNumber = z
  .int()
  .min(1)
  .max(2 ** 31);
const commentText = z.string().trim().min(1).max(reviewLimits.text);
const quotedLine = z.string().min(1).max(1000);
const commentFields = {
  path: z.string().min(1).max(4096).meta({
    description:
      'Path of the file after the change, as in the diff. For a removed file, its path before the change.',
  }),
  side,
  first_line: lineNumber.describe('Number of the first line of the comment.'),
  last_line: lineNumber.describe('Number of the last line of the comment.'),
};

/** A comment as it is stored and as events contain it. */
export const storedReviewComment = component(
  'StoredReviewComment',
  'An unsent comment on lines of the diff of a session.',
  {
    id: z.string(),
    session_id: z.string(),
    ...commentFields,
    lines: z.array(z.string()).meta({
      description:
        'Lines at the time of the comment, each with its diff marker (" ", "+", "-"). Lines of the other side between them are included. Each line is cut after 1000 characters.',
    }),
    text: text('Text of the comment.'),
    created_by: text('Id of the token that created the comment.'),
    created_at: timestamp,
    updated_at: timestamp,
  },
);
export type StoredReviewComment = z.output<typeof storedReviewComment>;

const reviewComment = storedReviewComment
  .extend({
    state: z.enum(['current', 'moved', 'changed', 'gone', 'unknown']).meta({
      description:
        'State of the commented lines in the current diff. `current`: unchanged. `moved`: they have other numbers. `changed`: the diff no longer shows them in this form. `gone`: the file is no longer in the diff. `unknown`: the diff cannot be read. Comments are never moved. A comment in any state except `current` and `unknown` is outdated.',
    }),
    found_at: z.int().nullable().meta({
      description: 'Current number of the first line, if the lines have moved. Null otherwise.',
    }),
  })
  .meta({ id: 'ReviewComment', description: 'A comment with the state of its lines.' });
export type ReviewComment = z.output<typeof reviewComment>;

const review = component('Review', 'The unsent comments on the diff of a session.', {
  session_id: z.string(),
  comments: z.array(reviewComment).describe('Comments, ordered by path and line.'),
});
export type Review = z.output<typeof review>;

const commentParams = { ...sessionParam, comment_id: text('Comment id.') };

export const getReview = endpoint('GET /v1/sessions/{session_id}/review', {
  summary: 'List the unsent comments on the diff of a session',
  params: sessionParam,
  response: review,
});

export const addReviewComment = endpoint('POST /v1/sessions/{session_id}/review/comments', {
  summary: 'Add a comment on lines of the diff of a session; it is not sent yet',
  params: sessionParam,
  body: z
    .strictObject({
      ...commentFields,
      side: side.nullish().describe('File version that the line numbers refer to. Default: `new`.'),
      last_line: lineNumber.nullish().describe('Number of the last line. Default: `first_line`.'),
      lines: z.array(quotedLine).min(1).max(reviewLimits.lines).nullish().meta({
        description:
          'Lines as the user has seen them, with their diff markers, cut after 1000 characters. Default: the lines in the current diff.',
      }),
      text: commentText,
    })
    .refine(({ first_line, last_line }) => (last_line ?? first_line) >= first_line, {
      path: ['last_line'],
      error: 'is before first_line',
    }),
  bodyLimit: 2 * 1024 * 1024,
  response: reviewComment,
  errors: ['session_closed', 'conflict', 'too_many'],
});

export const editReviewComment = endpoint(
  'PATCH /v1/sessions/{session_id}/review/comments/{comment_id}',
  {
    summary: 'Update the text of a comment',
    params: commentParams,
    body: z.strictObject({ text: commentText }),
    response: reviewComment,
  },
);

export const dropReviewComment = endpoint(
  'DELETE /v1/sessions/{session_id}/review/comments/{comment_id}',
  {
    summary: 'Delete a comment',
    params: commentParams,
    response: storedReviewComment,
  },
);

export const dropReview = endpoint('DELETE /v1/sessions/{session_id}/review', {
  summary: 'Delete all comments on the diff of a session',
  params: sessionParam,
  response: review,
});

export const sendReview = endpoint('POST /v1/sessions/{session_id}/review/send', {
  summary: 'Send all comments on the diff of a session as one turn, and remove them from the draft',
  params: sessionParam,
  body: z.strictObject({
    text: z.string().max(reviewLimits.text).nullish().describe('Text to send before the comments.'),
    queue: optionalFlag(
      'Whether to queue the turn until the session is free. Default: false (send it now).',
    ),
    ...turnOptions,
  }),
  response: z.looseObject({
    session_id: z.string(),
    turn_id: nullableText('Turn that was accepted. Null if the comments were queued.'),
    entry_id: nullableText(
      'Queue entry that was created. Null if the comments were sent immediately.',
    ),
    comments: z.int().describe('Number of comments that were sent.'),
  }),
  errors: [
    'conflict',
    'turn_in_progress',
    'turn_conflict',
    'session_closed',
    'session_failed',
    'budget_reached',
    'provider_unavailable',
    'too_many',
  ],
});
