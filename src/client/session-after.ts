import type { EventOf, KindIn } from '../api/events.ts';
import type { Approval } from '../api/approvals.ts';
import type { Session } from '../api/sessions.ts';
import { cutLine } from '../core/lib/cut-line.ts';

type Ended = EventOf<'turn.completed' | 'turn.interrupted' | 'turn.failed'>;

/** Returns a session after an event of its own; null where that changes none that is known. */
export function sessionAfter(
  known: Session | undefined,
  event: EventOf<KindIn<'session'>>,
): Session | null {
  if (event.kind === 'session.notice') return null;
  if (event.kind === 'session.created') return { metadata: null, ...event.payload.session };
  return known ? { ...known, ...event.payload.session } : null;
}

/**
 * Returns a session after an event of one of its approvals. `pending`: the pending approvals of all sessions after the
 * event.
 */
export function sessionAfterApproval(
  session: Session,
  event: EventOf<KindIn<'approval'>>,
  pending: Iterable<Approval>,
): Session {
  if (event.payload.approval.kind === 'budget') return sessionAfterBudget(session, event);
  if (session.active_turn_id === null) return session;
  if (event.kind === 'approval.requested') return sessionAfterRequest(session, event);
  const waits = [...pending].some(
    ({ session_id, kind }) => session_id === session.id && kind !== 'budget',
  );
  return { ...session, status: waits ? 'waiting_for_approval' : 'running' };
}

/** No turn waits for the approval of a budget: it is news of its session, and nothing more. */
function sessionAfterBudget(session: Session, event: EventOf<KindIn<'approval'>>): Session {
  return event.kind === 'approval.requested' ? { ...session, news_seq: event.seq } : session;
}

/** Returns a session after an event of its turn, as the server stores it; its usage and provider fields stay. */
export function sessionAfterTurn(session: Session, event: EventOf<KindIn<'turn'>>): Session {
  const { kind, seq, created_at: updated_at, turn_id } = event;
  if (kind === 'turn.interrupt_requested') return session;
  if (kind === 'turn.started')
    return { ...session, status: 'running', last_activity_at: updated_at, updated_at };
  if (kind !== 'turn.accepted')
    return { ...session, ...afterEnd(session, event), news_seq: seq, updated_at };
  return {
    ...session,
    status: 'running',
    active_turn_id: turn_id,
    last_turn_id: turn_id,
    title: event.payload.title ?? session.title,
    ...(session.title === null
      ? { title_source: event.payload.title === null ? null : ('prompt' as const) }
      : {}),
    last_activity_at: updated_at,
    updated_at,
  };
}

/** Returns a session after an approval was requested of a person. */
export function sessionAfterRequest(
  session: Session,
  { seq, created_at: last_activity_at }: EventOf<'approval.requested'>,
): Session {
  return { ...session, status: 'waiting_for_approval', news_seq: seq, last_activity_at };
}

const statusOfEnd = {
  'turn.completed': 'completed',
  'turn.interrupted': 'interrupted',
  'turn.failed': 'failed',
} as const;

const ERROR_CHARACTERS = 200;

function shortError(error: Failure): Failure {
  return { ...error, message: cutLine(error.message, ERROR_CHARACTERS) ?? error.code };
}

type Failure = NonNullable<Ended['payload']['turn']['error']>;

function afterEnd(
  { status, last_words }: Session,
  { kind, created_at, payload }: Ended,
): Partial<Session> {
  return {
    status: status === 'closed' || status === 'failed' ? status : 'ready',
    active_turn_id: null,
    last_words: payload.last_words ?? last_words,
    last_turn_status: statusOfEnd[kind],
    last_turn_error: payload.turn.error && shortError(payload.turn.error),
    last_activity_at: created_at,
  };
}
