import { ReviewService } from '../../conversations/reviews/service.ts';
import type { Base } from '../base.ts';
import type { Queue } from './queue.ts';
import type { Sessions } from './sessions.ts';
import type { Snapshots } from './snapshots.ts';

export type Reviews = ReturnType<typeof buildReviews>;

/** Builds the drafts of reviews. */
export function buildReviews(
  base: Base,
  needs: { sessions: Sessions; queue: Queue; snapshots: Snapshots },
): ReviewService {
  const { service: snapshots } = needs.snapshots;
  return new ReviewService({
    ...base,
    sessionStore: needs.sessions.store,
    sessions: needs.sessions.service,
    queue: needs.queue.service,
    diffOf: (id) => snapshots.diff(id, { against: 'start', path: [], stat: false, exact: false }),
  });
}
