import { QueueInboxSource } from '../../conversations/queue/inbox-source.ts';
import { QueueService } from '../../conversations/queue/service.ts';
import { QueueStore } from '../../conversations/queue/store.ts';
import type { Base } from '../base.ts';
import type { Sessions } from './sessions.ts';

/** Builds the queue of prompts for later. */
export function buildQueue(base: Base, { sessions }: { sessions: Sessions }): QueueService {
  const { inbox, scheduler, limits, store: sessionStore, service } = sessions;
  const store = new QueueStore(base.db);
  const line = new QueueInboxSource({ ...base, store, inbox, scheduler });
  return new QueueService({ ...base, store, line, inbox, sessionStore, sessions: service, limits });
}
