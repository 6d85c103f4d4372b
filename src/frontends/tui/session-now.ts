import type { EventOf, KindIn } from '../../api/events.ts';
import type { Session } from '../../api/sessions.ts';
import { oneLine, summarizeEvent } from '../../client/event-summary.ts';
import { requestedApproval } from '../../client/requested-approval.ts';
import {
  sessionAfter,
  sessionAfterApproval,
  sessionAfterTurn,
} from '../../client/session-after.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { type Overview, type SessionNow, changed } from './overview.ts';

/** The maximum number of characters of the present work of a session. */
const MAX_DOING = 200;

/** The overview after an event of a session. */
export function withSession(overview: Overview, event: EventOf<KindIn<'session'>>): Overview {
  const { session_id } = event;
  const known = overview.sessions.get(session_id ?? '');
  if (known && event.kind === 'session.notice') return withNotice(overview, known, event);
  const session = sessionAfter(known?.session, event);
  // A session is known from the list or from session.created. Any other was closed before the list was read.
  if (session_id === null || !session) return overview;
  return withNow(overview, { ...idle(session), ...known, session });
}

/** The codes of notices that give the reason why a turn waits. */
const WAITS: ReadonlySet<string> = new Set(['waiting', 'waits_for_agent']);

function withNotice(
  overview: Overview,
  known: SessionNow,
  { payload, turn_id }: EventOf<'session.notice'>,
): Overview {
  if (turn_id !== known.session.active_turn_id || !WAITS.has(payload.code)) return overview;
  return withNow(overview, { ...known, doing: shorten(oneLine(payload.message), MAX_DOING) });
}

/** The overview after an event of a turn: the status of its session follows from it. */
export function withTurn(overview: Overview, event: EventOf<KindIn<'turn'>>): Overview {
  const { session_id, payload } = event;
  const known = overview.sessions.get(session_id ?? '');
  if (!known) return overview;
  const session = sessionAfterTurn(known.session, event);
  if (session.active_turn_id === null) return withNow(overview, idle(session));
  const since = known.since ?? payload.turn.accepted_at;
  return withNow(overview, { ...known, session, since });
}

/** The overview after an event of an approval: while one is pending, its session waits. */
export function withApproval(overview: Overview, event: EventOf<KindIn<'approval'>>): Overview {
  const { approval } = event.payload;
  const asked = event.kind === 'approval.requested' ? requestedApproval(event.payload) : null;
  const approvals = changed(overview.approvals, approval.id, asked);
  const resolved = asked ? overview.resolved : approval;
  const known = overview.sessions.get(approval.session_id);
  if (!known) return { ...overview, approvals, resolved };
  const session = sessionAfterApproval(known.session, event, approvals.values());
  return withNow({ ...overview, approvals, resolved }, { ...known, session });
}

/** The overview after a session said something, or used a tool. */
export function withWork(overview: Overview, event: EventOf<KindIn<'message' | 'tool'>>): Overview {
  const known = overview.sessions.get(event.session_id ?? '');
  if (!known) return overview;
  // A tool call that starts has only a title.
  const begun = event.kind === 'tool.started' ? event.payload.tool.title : undefined;
  const doing = begun === undefined ? summarizeEvent(event) : oneLine(begun);
  return withNow(overview, { ...known, doing: shorten(doing, MAX_DOING) });
}

/** A session that is at nothing. */
export function idle(session: Session): SessionNow {
  return { session, since: null, doing: null };
}

function withNow(overview: Overview, now: SessionNow): Overview {
  return { ...overview, sessions: changed(overview.sessions, now.session.id, now) };
}
