import { z } from 'zod';
import { nullableText } from '../common.ts';
import { storedReviewComment } from '../reviews.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

const comment = {
  id: 'cmt_019aa8d5ee107b7d9c0a7f5e2d1c0b12',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  path: 'src/auth.ts',
  side: 'new' as const,
  first_line: 12,
  last_line: 13,
  lines: ['+const token = read();', ' return token;'],
  text: 'What if there is none?',
  created_by: 'api',
  created_at: 1795312001000,
  updated_at: 1795312001000,
};

/** The unsent comments on the diff of a session. */
export const reviewKinds = {
  'review.added': kind({
    when: 'Emitted when a user comments on lines of the diff of a session. The agent receives the comments only when the review is sent.',
    payload: { comment: storedReviewComment },
    large: ['comment.lines'],
    example: { comment },
  }),
  'review.edited': kind({
    when: 'Emitted when a user changes the text of a review comment.',
    payload: { comment: storedReviewComment },
    large: ['comment.lines'],
    example: { comment: { ...comment, text: 'What if there is no token?' } },
  }),
  'review.dropped': kind({
    when: 'Emitted when review comments are deleted, by a user or, for a closed session, by retention.',
    payload: { comment_ids: z.array(z.string()) },
    large: ['comment_ids'],
    example: { comment_ids: [comment.id] },
  }),
  'review.sent': kind({
    when: 'Emitted when review comments are sent or queued as one turn, and are removed from the draft.',
    payload: {
      comment_ids: z.array(z.string()),
      turn_id: nullableText('Turn that was accepted. Null if the comments were queued.'),
      entry_id: nullableText('Queue entry. Null if the comments were sent immediately.'),
    },
    large: ['comment_ids'],
    example: {
      comment_ids: [comment.id],
      turn_id: 'turn_019aa8d26f307d6a8c1f91b7a3e0d422',
      entry_id: null,
    },
  }),
};
