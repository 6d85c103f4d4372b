import type { Session, Turn, Usage } from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import type { KnownSession } from '../providers/provider.ts';

/** The session after a turn was accepted. */
export function beginTurn(session: Session, turn: Turn, now: number): Session {
  return {
    ...session,
    status: 'running',
    active_turn_id: turn.turn_id,
    last_turn_id: turn.turn_id,
    updated_at: now,
  };
}

/**
 * Throws unless a turn may be sent to the session: `turn_conflict`, else `session_closed`, `session_failed` or
 * `turn_in_progress`. `expected` is the id of the turn that the sender takes for the most recent one; undefined or null
 * where it names none.
 */
export function assertTakesTurn(session: Session, expected: string | null | undefined): void {
  const { id, last_turn_id: last, active_turn_id: active } = session;
  if (expected !== undefined && expected !== null && expected !== last) {
    throw new AppError(
      'turn_conflict',
      `expected_turn_id is "${expected}", but the most recent turn of ${id} is ${last ?? 'none yet'}: read it, then send again`,
    );
  }
  assertNotClosed(session);
  if (session.status === 'failed') {
    throw new AppError(
      'session_failed',
      `session ${id} has failed (${session.failure?.message ?? 'unknown'}): open a new one`,
    );
  }
  if (active) {
    throw new AppError('turn_in_progress', `turn ${active} of ${id} is still running: wait for it`);
  }
}

/** Throws `session_closed` or `session_failed` for a session that takes nothing new. */
export function assertOpen(session: Session): void {
  assertNotClosed(session);
  if (session.status === 'failed')
    throw new AppError(
      'session_failed',
      `session ${session.id} has failed: resume it, or open a new one`,
    );
}

/** Throws `session_closed`. */
export function assertNotClosed({ id, status }: Session): void {
  if (status === 'closed')
    throw new AppError('session_closed', `session ${id} is closed: open a new one`);
}

/** The session after its turn ended: free for the next one. */
export function endTurn(session: Session, turn: Turn, now: number): Session {
  if (session.active_turn_id !== turn.turn_id) return session;
  return {
    ...session,
    status: session.status === 'closed' || session.status === 'failed' ? session.status : 'ready',
    active_turn_id: null,
    usage: addUsage(session.usage, turn.usage),
    updated_at: now,
  };
}

/** The session once it was closed, for good. */
export function closedSession(session: Session, reason: string | null, now: number): Session {
  return {
    ...session,
    status: 'closed',
    close_reason: reason,
    active_turn_id: null,
    closed_at: now,
    updated_at: now,
  };
}

/** The session once no agent can go on with it. */
export function failSession(
  session: Session,
  failure: { code: string; message: string },
  now: number,
): Session {
  return { ...session, status: 'failed', failure, active_turn_id: null, updated_at: now };
}

const counted = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'total_tokens',
  'cost_usd',
] as const;

/** The usage of a session: the sum over its turns, and the context of the newest turn that says how full it is. */
function addUsage(before: Usage | null, turn: Usage | null): Usage | null {
  if (!turn) return before;
  if (!before) return turn;
  const sum = { ...before };
  for (const field of counted)
    sum[field] = turn[field] === null ? before[field] : (before[field] ?? 0) + turn[field];
  sum.context_tokens = turn.context_tokens ?? before.context_tokens;
  sum.context_window = turn.context_window ?? before.context_window;
  return sum;
}

/** The session as events carry it after its creation: without its metadata, which never changes and may be large. */
export function sessionInEvents({
  metadata: _metadata,
  ...session
}: Session): Omit<Session, 'metadata'> {
  return session;
}

/** The session as its provider knows it; null for a session that no agent has seen. */
export function knownSession({
  provider_session_ref: ref,
  cwd,
  usage,
}: Session): KnownSession | null {
  return ref === null ? null : { ref, cwd, isEmpty: !usage?.output_tokens };
}
