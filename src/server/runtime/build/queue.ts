import type { Limits } from '../../conversations/usage/limits/service.ts';
import { QueueInboxSource } from '../../conversations/queue/inbox-source.ts';
import { QueueService } from '../../conversations/queue/service.ts';
import { QueueStore } from '../../conversations/queue/store.ts';
import { Scheduler } from '../../conversations/queue/scheduler.ts';
import type { Base } from '../base.ts';
import { fill } from '../hooks.ts';
import type { Budgets } from './budgets.ts';
import type { Sessions } from './sessions.ts';

export type Queue = ReturnType<typeof buildQueue>;

/** Builds the queue of what people want to become turns later. */
export function buildQueue(
  base: Base,
  { sessions, limits, budgets }: { sessions: Sessions; limits: Limits; budgets: Budgets },
) {
  const { inbox, holds, store: sessionStore } = sessions;
  const store = new QueueStore(base.db);
  const line = new QueueInboxSource({ ...base, store, inbox, onTime: (at) => scheduler.wake(at) });
  const scheduler: Scheduler = new Scheduler({
    ...base,
    store,
    line,
    holds,
    budgets: budgets.guard,
    inbox,
  });
  fill(budgets.hooks, { onTime: (at) => scheduler.wake(at) });
  const service = new QueueService({
    ...base,
    store,
    line,
    holds,
    inbox,
    sessionStore,
    sessions: sessions.service,
    onResumed: (tx, sessionId) => limits.resume(tx, sessionId),
  });
  return { store, scheduler, service };
}
