import type { Base } from '../base.ts';
import { HookSeat } from '../hook-seat.ts';
import type { Children } from './children.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';

/** Builds the place of hooks and of links to approvals, which loads them where there are any. */
export function buildHooks(
  base: Base,
  { storage, children, sessions }: { storage: Storage; children: Children; sessions: Sessions },
): HookSeat {
  return new HookSeat(base, {
    feed: storage.feed,
    supervisor: children.supervisor,
    approval: (rx, id) => sessions.store.approvals.get(rx, id),
    session: (rx, id) => sessions.store.session(rx, id),
    decide: ({ session_id, id }, decision, by, saveResponse) =>
      sessions.service.decide(session_id, id, { decision }, by, saveResponse),
  });
}
