import type { FileChange, SessionDiff } from '../api/diffs.ts';
import { endpoints } from '../api/index.ts';
import type { Review, ReviewComment } from '../api/reviews.ts';
import { isAppError, notFoundError } from '../api/errors.ts';
import type { Anchor } from '../core/lib/diff-anchor.ts';
import type { Client } from './client.ts';

export interface DiffAndReview {
  diff: SessionDiff;
  review: Review;
}

export async function readDiffAndReview(
  client: Client,
  session_id: string,
): Promise<DiffAndReview> {
  const params = { session_id };
  const [diff, review] = await Promise.all([
    client.call(endpoints.getSessionDiff, { params }),
    client.call(endpoints.getReview, { params }),
  ]);
  return { diff, review };
}

/** The changes in an edited file of a review: new comments, and the ids of removed comments. */
interface Changes {
  add: (Anchor & { text: string })[];
  drop: string[];
}

/** Makes the file of a review; see terminal/review-file. */
type MakeFile = (
  changes: readonly FileChange[],
  comments: readonly ReviewComment[],
) => { text: string; read: (text: string) => Changes };

/** Has a person edit a text until `read` can read it. */
export type Edit = <T>(name: string, text: string, read: (text: string) => T) => Promise<T>;

/** Has a person edit all comments of a session at once. Resolves with the draft after that. Throws as `edit`. */
export async function editReview(
  client: Client,
  { diff, review }: DiffAndReview,
  makeFile: MakeFile,
  edit: Edit,
): Promise<Review> {
  const { session_id } = diff;
  if (diff.files.length === 0) throw notFoundError(`session ${session_id} has no changes`);
  const { text, read } = makeFile(diff.files, review.comments);
  const { add, drop } = await edit('review.diff', text, read);
  const params = { session_id };
  for (const body of add) await client.call(endpoints.addReviewComment, { params, body });
  for (const comment_id of drop) await dropComment(client, session_id, comment_id);
  return client.call(endpoints.getReview, { params });
}

/** Drops a comment; one that is gone already is none less. */
async function dropComment(client: Client, session_id: string, comment_id: string): Promise<void> {
  try {
    await client.call(endpoints.dropReviewComment, { params: { session_id, comment_id } });
  } catch (error) {
    if (!isAppError(error, 'not_found')) throw error;
  }
}
