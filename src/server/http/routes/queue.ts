import { endpoints } from '../../../api/index.ts';
import type { QueueService } from '../../conversations/queue/service.ts';
import { type Mount, onePage, senderOf } from '../mount.ts';

export function queueRoutes(mount: Mount, queue: QueueService): void {
  mount(endpoints.addToQueue, ({ params, body, bearer, saveResponse }) =>
    queue.add(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.getSessionQueue, ({ params }) => queue.ofSession(params.session_id));
  mount(endpoints.pauseSessionQueue, ({ params, body, saveResponse }) =>
    queue.pauseSession(params.session_id, body, saveResponse),
  );
  mount(endpoints.resumeSessionQueue, ({ params, saveResponse }) =>
    queue.resumeSession(params.session_id, saveResponse),
  );

  mount(endpoints.listQueue, async ({ query, setHeader }) =>
    onePage(await queue.list(query), setHeader),
  );
  mount(endpoints.getQueueEntry, ({ params }) => queue.get(params.entry_id));
  mount(endpoints.editQueueEntry, ({ params, body }) => queue.edit(params.entry_id, body));
  mount(endpoints.moveQueueEntry, ({ params, body, saveResponse }) =>
    queue.move(params.entry_id, body, saveResponse),
  );
  mount(endpoints.pauseQueueEntry, ({ params, body, saveResponse }) =>
    queue.pause(params.entry_id, body.reason ?? null, saveResponse),
  );
  mount(endpoints.resumeQueueEntry, ({ params, saveResponse }) =>
    queue.resume(params.entry_id, saveResponse),
  );
  mount(endpoints.dropQueueEntry, ({ params }) => queue.drop(params.entry_id));
}
