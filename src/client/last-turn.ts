import type { Session } from '../api/sessions.ts';

type LastTurn = Pick<Session, 'status' | 'last_turn_status' | 'last_turn_error'>;

/** Whether the last turn of a session that is ready for the next one has failed. */
export function hasFailedTurn({ status, last_turn_status }: LastTurn): boolean {
  return status === 'ready' && last_turn_status === 'failed';
}

/** Why the last turn of a session ended early: `failed: boom`. Null if it completed, or a user interrupted it. */
export function lastTurnText({ last_turn_status: status, last_turn_error: error }: LastTurn) {
  return error && status && status !== 'completed' ? `${status}: ${error.message}` : null;
}
