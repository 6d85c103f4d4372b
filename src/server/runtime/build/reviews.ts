import { ReviewService } from '../../conversations/reviews/service.ts';
import type { Base } from '../base.ts';
import type { QueueService } from '../../conversations/queue/service.ts';
import type { Sessions } from './sessions.ts';
import type { Snapshots } from './snapshots.ts';

export type Reviews = ReturnType<typeof buildReviews>;

/** Builds the drafts of reviews. */
export function buildReviews(
  base: Base,
  needs: { sessions: Sessions; queue: QueueService; snapshots: Snapshots },
): ReviewService {
  const { differ } = needs.snapshots;
  return new ReviewService({
    ...base,
    sessionStore: needs.sessions.store,
    sessions: needs.sessions.service,
    queue: needs.queue,
    diffOf: (id) => differ.diff(id, { against: 'start', path: [], stat: false, exact: false }),
  });
}
