import type { StoredInputItem } from '../../../api/input.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { digestOf, inputForFork } from '../handoff/digest.ts';
import { readRecord } from '../handoff/record.ts';
import type { ImportStore } from '../imports/store.ts';
import type { SessionStore } from '../sessions/store.ts';

const MAX_TURNS = 200;

/**
 * Returns the record of the history that precedes the next prompt of a session. It is empty if the agent has the history: it
 * has forked its conversation, or a turn with the record has completed.
 */
export function recordForPrompt(
  rx: Reader,
  sessionId: string,
  rows: { store: SessionStore; imports: ImportStore; log: EventLog },
): StoredInputItem[] {
  const { store } = rows;
  const session = store.session(rx, sessionId);
  if (session.forked_from?.way !== 'record' || store.newestCompleted(rx, sessionId)) return [];
  return [inputForFork(digestOf(readRecord(rx, session, MAX_TURNS, rows)))];
}
