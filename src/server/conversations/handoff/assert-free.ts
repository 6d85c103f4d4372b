import { AppError, conflictError } from '../../../api/errors.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { assertNotClosed } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';

/** Throws if a turn or a check of the session runs, it is closed, or an open session continues it already. */
export function assertFree(
  rx: Reader,
  session: Session,
  { store, inbox }: { store: SessionStore; inbox: Inbox },
): void {
  const { id, active_turn_id: active, continued_by: next } = session;
  assertNotClosed(session);
  if (active !== null)
    throw new AppError(
      'turn_in_progress',
      `turn ${active} of session ${id} is still running: wait until the turn ends, or interrupt the turn`,
    );
  const continuation = next === undefined ? undefined : store.sessions.get(rx, next);
  if (continuation && continuation.status !== 'closed')
    throw conflictError(
      `session ${id} was handed over to session ${continuation.id}: hand over or close session ${continuation.id}`,
    );
  const check = inbox.holds.of(rx, id).find(({ code }) => code === 'goal');
  if (check) throw conflictError(`session ${id} is busy, because ${check.message}`);
}
