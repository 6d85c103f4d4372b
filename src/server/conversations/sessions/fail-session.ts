import type { Clock } from '../../../core/lib/clock.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { failSession } from './session.ts';
import type { SessionStore } from './store.ts';

/** Fails a session that no agent can resume, and drops its inbox. Its turn must have ended before. */
export function failSessionInRows(
  tx: Writer,
  sessionId: string,
  failure: { code: string; message: string },
  { store, inbox, clock }: { store: SessionStore; inbox: Inbox; clock: Clock },
): void {
  const failed = failSession(store.session(tx, sessionId), failure, clock.now());
  inbox.giveUp(tx, failed);
  store.updateSession(tx, failed, 'session.failed');
}
