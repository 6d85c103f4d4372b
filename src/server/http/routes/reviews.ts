import { endpoints } from '../../../api/index.ts';
import type { ReviewService } from '../../conversations/reviews/service.ts';
import { type Mount, senderOf } from '../mount.ts';

/** The comments on the diff of a session. */
export function reviewRoutes(mount: Mount, reviews: ReviewService): void {
  mount(endpoints.getReview, ({ params }) => reviews.get(params.session_id));
  mount(endpoints.addReviewComment, ({ params, body, bearer, saveResponse }) =>
    reviews.add(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.editReviewComment, ({ params, body }) =>
    reviews.edit(params.session_id, params.comment_id, body.text),
  );
  mount(endpoints.dropReviewComment, ({ params }) =>
    reviews.drop(params.session_id, params.comment_id),
  );
  mount(endpoints.dropReview, ({ params }) => reviews.dropAll(params.session_id));
  mount(endpoints.sendReview, ({ params, body, bearer, saveResponse }) =>
    reviews.send(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
}
