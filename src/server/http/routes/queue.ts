import { endpoints } from '../../../api/index.ts';
import type { QueueService } from '../../conversations/queue/service.ts';
import { type Mount, onePage, senderOf } from '../mount.ts';

/** What waits to become a turn. */
export function queueRoutes(mount: Mount, queue: QueueService): void {
  mount(endpoints.addToQueue, ({ params, body, bearer, keep }) =>
    queue.add(params.session_id, body, senderOf({ bearer }), keep),
  );
  mount(endpoints.getSessionQueue, ({ params }) => queue.ofSession(params.session_id));
  mount(endpoints.pauseSessionQueue, ({ params, body, keep }) =>
    queue.pauseSession(params.session_id, body, keep),
  );
  mount(endpoints.resumeSessionQueue, ({ params, keep }) =>
    queue.resumeSession(params.session_id, keep),
  );

  mount(endpoints.listQueue, async ({ query, setHeader }) =>
    onePage(await queue.list(query), setHeader),
  );
  mount(endpoints.getQueueEntry, ({ params }) => queue.get(params.entry_id));
  mount(endpoints.editQueueEntry, ({ params, body }) => queue.edit(params.entry_id, body));
  mount(endpoints.moveQueueEntry, ({ params, body, keep }) =>
    queue.move(params.entry_id, body, keep),
  );
  mount(endpoints.pauseQueueEntry, ({ params, body, keep }) =>
    queue.pause(params.entry_id, body.reason ?? null, keep),
  );
  mount(endpoints.resumeQueueEntry, ({ params, keep }) => queue.resume(params.entry_id, keep));
  mount(endpoints.dropQueueEntry, ({ params }) => queue.drop(params.entry_id));
}
