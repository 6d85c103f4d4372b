import type { Session } from '../../../api/sessions.ts';
import type { ForkPoint } from '../../../agents/conversations.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import type { SessionStore } from './store.ts';

/**
 * Returns the point at which the agent of a session forks the conversation of another one. Undefined if the session is not
 * a fork, or its agent has no id of a point before the end of that conversation.
 */
export function forkPointOf(
  rx: Reader,
  { forked_from: origin }: Session,
  store: SessionStore,
): ForkPoint | undefined {
  if (!origin) return undefined;
  if (origin.conversation !== null) return { ref: origin.conversation, turnRef: null };
  if (origin.session_id === null || origin.turn_id === null) return undefined;
  const { provider_session_ref: ref, last_turn_id: last } = store.session(rx, origin.session_id);
  const { agent_turn_ref: turnRef } = store.turn(rx, origin.session_id, origin.turn_id);
  const isKnown = turnRef !== undefined || last === origin.turn_id;
  if (ref === null || !isKnown) return undefined;
  return { ref, turnRef: turnRef ?? null };
}
