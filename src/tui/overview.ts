import type { Approval } from '../api/approvals.ts';
import { type EventOf, isIn, type KindIn, type RuntimeEventRecord } from '../api/events.ts';
import type { Process } from '../api/processes.ts';
import type { Diagnostics } from '../api/runtime.ts';
import type { Session } from '../api/sessions.ts';
import { requestedApproval } from '../client/requested-approval.ts';
import { sessionAfterRequest, sessionAfterTurn } from '../client/session-after.ts';
import { telling } from '../client/telling.ts';

/** The current state: taken from lists once, and from then on from events alone. */
export interface Overview {
  /** As of the last poll; null before the first. */
  server: Diagnostics | null;
  sessions: ReadonlyMap<string, SessionNow>;
  /** The pending ones, oldest first. */
  approvals: ReadonlyMap<string, Approval>;
  /** The running and the queued ones. */
  processes: ReadonlyMap<string, Process>;
  /** The approval that was resolved last, by this client or another. */
  resolved: Resolved | null;
}

export type Resolved = Pick<
  Approval,
  'id' | 'session_id' | 'title' | 'status' | 'decided_by' | 'reason'
>;

/** A session and what it does now. */
export interface SessionNow {
  session: Session;
  /** When its active turn was accepted. */
  since: number | null;
  /** Its latest message or tool call. */
  doing: Doing | null;
}

interface Doing {
  item: string;
  isTool: boolean;
  /** As the agent sent it, so with control characters. */
  text: string;
  /** The offset in bytes at which the text ends in its item. */
  end: number;
}

export const emptyOverview: Overview = {
  server: null,
  sessions: new Map(),
  approvals: new Map(),
  processes: new Map(),
  resolved: null,
};

/** The kinds that `withEvent` reads. */
export const overviewKinds = [
  'session.*',
  'turn.*',
  'approval.*',
  'message.*',
  'tool.*',
  'process.queued',
  'process.started',
  'process.completed',
  'process.failed',
  'process.timed_out',
  'process.killed',
] as const;

/** Of a message, this many characters at its end are kept. */
const MAX_TEXT = 400;

/** The overview after an event. */
export function withEvent(overview: Overview, event: RuntimeEventRecord): Overview {
  if (isIn('session', event)) return withSession(overview, event);
  if (isIn('turn', event)) return withTurn(overview, event);
  if (isIn('approval', event)) return withApproval(overview, event);
  if (isIn('process', event)) return withProcess(overview, event);
  if (isIn('message', event) || isIn('tool', event)) return withWork(overview, event);
  return overview;
}

function withSession(overview: Overview, event: EventOf<KindIn<'session'>>): Overview {
  const { session_id } = event;
  const known = overview.sessions.get(session_id ?? '');
  const session =
    event.kind === 'session.created'
      ? { metadata: null, ...event.payload.session }
      : known && { ...known.session, ...event.payload.session };
  // A session is known from the list or from session.created. Any other was closed before the list was read.
  if (session_id === null || !session) return overview;
  const now = { since: null, doing: null, ...known, session };
  const sessions = changed(overview.sessions, session_id, session.status === 'closed' ? null : now);
  return { ...overview, sessions };
}

/** The status of a session follows from the events of its turn. */
function withTurn(overview: Overview, event: EventOf<KindIn<'turn'>>): Overview {
  const { session_id, payload } = event;
  const known = overview.sessions.get(session_id ?? '');
  if (session_id === null || !known) return overview;
  const session = sessionAfterTurn(known.session, event);
  const acceptedAt = payload.turn.accepted_at;
  const since = session.active_turn_id === null ? null : (known.since ?? acceptedAt);
  return {
    ...overview,
    sessions: changed(overview.sessions, session_id, { ...known, session, since }),
  };
}

function withApproval(overview: Overview, event: EventOf<KindIn<'approval'>>): Overview {
  const { approval } = event.payload;
  const asked = event.kind === 'approval.requested' ? requestedApproval(event.payload) : null;
  const approvals = changed(overview.approvals, approval.id, asked);
  const resolved = asked ? overview.resolved : approval;
  const known = overview.sessions.get(approval.session_id);
  if (!known || known.session.active_turn_id === null) return { ...overview, approvals, resolved };
  const waits = [...approvals.values()].some(
    ({ session_id }) => session_id === approval.session_id,
  );
  const status = waits ? 'waiting_for_approval' : 'running';
  const session: Session =
    event.kind === 'approval.requested'
      ? sessionAfterRequest(known.session, event)
      : { ...known.session, status };
  return {
    ...overview,
    approvals,
    resolved,
    sessions: changed(overview.sessions, approval.session_id, { ...known, session }),
  };
}

function withProcess(overview: Overview, event: EventOf<KindIn<'process'>>): Overview {
  const { kind, process_id } = event;
  if (kind === 'process.output') return overview;
  const known = overview.processes.get(process_id ?? '');
  const process =
    kind === 'process.queued'
      ? event.payload.process
      : known && { ...known, ...event.payload.process };
  if (process_id === null || !process) return overview;
  const isOver = process.status !== 'queued' && process.status !== 'running';
  return {
    ...overview,
    processes: changed(overview.processes, process_id, isOver ? null : process),
  };
}

function withWork(overview: Overview, event: EventOf<KindIn<'message' | 'tool'>>): Overview {
  const { kind, session_id, payload } = event;
  const known = overview.sessions.get(session_id ?? '');
  if (session_id === null || !known) return overview;
  const { item_id: item } = payload;
  const isTool = kind.startsWith('tool.');
  const doing =
    kind === 'message.delta'
      ? grown(known.doing, item, payload)
      : { item, isTool, text: telling(event).slice(-MAX_TEXT), end: Number.POSITIVE_INFINITY };
  return {
    ...overview,
    sessions: changed(overview.sessions, session_id, { ...known, doing }),
  };
}

/** A message with one more delta. A delta that it has already changes nothing. */
function grown(
  doing: Doing | null,
  item: string,
  { offset, text }: { offset: number; text: string },
): Doing {
  const before = doing?.item === item ? doing : null;
  if (before && offset < before.end) return before;
  const end = offset + Buffer.byteLength(text);
  return { item, isTool: false, text: ((before?.text ?? '') + text).slice(-MAX_TEXT), end };
}

function changed<T>(map: ReadonlyMap<string, T>, key: string, value: T | null): Map<string, T> {
  const next = new Map(map);
  if (value === null) next.delete(key);
  else next.set(key, value);
  return next;
}

const ATTENTION: Record<Session['status'], number> = {
  waiting_for_approval: 0,
  running: 1,
  failed: 2,
  ready: 3,
  closed: 4,
};

/** The sessions, those that need a person first, and among equals the latest first. */
export function byAttention({ sessions }: Overview): SessionNow[] {
  return [...sessions.values()].toSorted(
    ({ session: a }, { session: b }) =>
      ATTENTION[a.status] - ATTENTION[b.status] || b.updated_at - a.updated_at,
  );
}
