import type { Session, Turn } from '../../../api/sessions.ts';
import type { AttachedTurn } from '../../../agents/attached-turn.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { ApprovalBroker } from '../approvals/approval-broker.ts';
import type { StoredReader } from './agent-readers.ts';
import { settingsOf } from './settings.ts';
import type { SessionStore } from './store.ts';
import { type StoredOutput, storedTools } from './stored-output.ts';

interface Dependencies extends Pick<ServerParts, 'db'> {
  store: SessionStore;
  broker: ApprovalBroker;
}

/** Returns a running turn for the agent that an earlier server has started. */
export function attachedTurn(
  { session, turn }: { session: Session; turn: Turn },
  stored: { reader: StoredReader; output: StoredOutput },
  { db, store, broker }: Dependencies,
): AttachedTurn {
  const approvals = db.peek((rx) =>
    stored.reader.asked.flatMap(([id, key]) => {
      const approval = store.approvals.get(rx, id);
      return approval ? [{ key, approval }] : [];
    }),
  );
  return {
    settings: settingsOf(session, turn),
    isInterrupted: turn.interrupt_requested_at !== null,
    tools: storedTools(stored.output),
    requests: approvals.map(({ key, approval }) => ({
      key,
      kind: approval.kind,
      title: approval.title,
      request: approval.request,
      isCancelled: approval.status === 'cancelled',
      answer: (withdrawn) => broker.askAgain(approval, withdrawn),
    })),
  };
}
