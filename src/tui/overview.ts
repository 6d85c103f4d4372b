import type { Approval } from '../api/approvals.ts';
import type { RuntimeEventRecord } from '../api/events.ts';
import type { Process } from '../api/processes.ts';
import type { Diagnostics } from '../api/runtime.ts';
import type { Session, Turn } from '../api/sessions.ts';
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
  const { kind } = event;
  if (kind.startsWith('session.')) return withSession(overview, event);
  if (kind.startsWith('turn.')) return withTurn(overview, event);
  if (kind.startsWith('approval.')) return withApproval(overview, event);
  if (kind.startsWith('process.')) return withProcess(overview, event);
  return withWork(overview, event);
}

function withSession(overview: Overview, { session_id, payload }: RuntimeEventRecord): Overview {
  const news = payload.session as Partial<Session>;
  const known = overview.sessions.get(session_id ?? '');
  const session = { ...known?.session, ...news } as Session;
  // A session is known from the list or from session.created. Any other was closed before the list was read.
  if (session_id === null || session.provider === undefined) return overview;
  const now = { since: null, doing: null, ...known, session };
  const sessions = changed(overview.sessions, session_id, session.status === 'closed' ? null : now);
  return { ...overview, sessions };
}

/** The status of a session follows from the events of its turn. */
function withTurn(overview: Overview, event: RuntimeEventRecord): Overview {
  const { session_id, turn_id, created_at, payload } = event;
  const known = overview.sessions.get(session_id ?? '');
  if (session_id === null || !known) return overview;
  const { status, accepted_at } = payload.turn as Turn;
  const isOver = ['completed', 'interrupted', 'failed'].includes(status);
  const session: Session = {
    ...known.session,
    status: isOver ? 'ready' : status === 'accepted' ? 'running' : (status as Session['status']),
    active_turn_id: isOver ? null : turn_id,
    updated_at: created_at,
  };
  const since = isOver ? null : (known.since ?? accepted_at ?? created_at);
  return {
    ...overview,
    sessions: changed(overview.sessions, session_id, { ...known, session, since }),
  };
}

function withApproval(overview: Overview, { kind, payload }: RuntimeEventRecord): Overview {
  const approval = payload.approval as Approval;
  const isAsked = kind === 'approval.requested';
  const approvals = changed(overview.approvals, approval.id, isAsked ? approval : null);
  const resolved = isAsked ? overview.resolved : approval;
  const known = overview.sessions.get(approval.session_id);
  if (!known || known.session.active_turn_id === null) return { ...overview, approvals, resolved };
  const waits = [...approvals.values()].some(
    ({ session_id }) => session_id === approval.session_id,
  );
  const status = waits ? 'waiting_for_approval' : 'running';
  const session = { ...known.session, status } as const;
  return {
    ...overview,
    approvals,
    resolved,
    sessions: changed(overview.sessions, approval.session_id, { ...known, session }),
  };
}

function withProcess(overview: Overview, { process_id, payload }: RuntimeEventRecord): Overview {
  const known = overview.processes.get(process_id ?? '');
  const process = { ...known, ...(payload.process as Partial<Process>) } as Process;
  if (process_id === null || process.command === undefined) return overview;
  const isOver = process.status !== 'queued' && process.status !== 'running';
  return {
    ...overview,
    processes: changed(overview.processes, process_id, isOver ? null : process),
  };
}

function withWork(overview: Overview, event: RuntimeEventRecord): Overview {
  const { kind, session_id, payload } = event;
  const known = overview.sessions.get(session_id ?? '');
  if (session_id === null || !known) return overview;
  const item = String(payload.item_id);
  const isTool = kind.startsWith('tool.');
  const doing =
    kind === 'message.delta'
      ? grown(known.doing, item, payload as { offset: number; text: string })
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
