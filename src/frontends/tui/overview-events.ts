import { type EventOf, type KindIn, type RuntimeEventRecord, isIn } from '../../api/events.ts';
import type { Session } from '../../api/sessions.ts';
import { oneLine, summarizeEvent } from '../../client/event-summary.ts';
import { processAfter, processKinds } from '../../client/process-after.ts';
import { requestedApproval } from '../../client/requested-approval.ts';
import {
  sessionAfter,
  sessionAfterApproval,
  sessionAfterTurn,
} from '../../client/session-after.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { changed, type Overview, type SessionNow } from './overview.ts';

/** The kinds that `withEvent` reads. Deltas are left out, because they would make the list flicker. */
export const overviewKinds = [
  'session.*',
  'turn.*',
  'approval.*',
  'message.completed',
  'tool.started',
  'tool.completed',
  ...processKinds,
  'team.created',
  'team.deleted',
  'team.lead_changed',
  'worktree.*',
  'race.*',
  'queue.*',
  'budget.*',
  'review.*',
] as const;

export function withEvent(overview: Overview, event: RuntimeEventRecord): Overview {
  if (isIn('session', event)) return withSession(overview, event);
  if (isIn('turn', event)) return withTurn(overview, event);
  if (isIn('approval', event)) return withApproval(overview, event);
  if (isIn('process', event)) return withProcess(overview, event);
  if (isIn('message', event) || isIn('tool', event)) return withWork(overview, event);
  if (isIn('team', event)) return withTeam(overview, event);
  if (isIn('worktree', event)) return withWorktree(overview, event);
  if (isIn('race', event)) return withRace(overview, event);
  if (isIn('queue', event)) return withQueue(overview, event);
  // The queues show sessions that a budget holds.
  if (isIn('budget', event)) return { ...overview, queueSeq: event.seq };
  if (isIn('review', event)) return { ...overview, reviewSeq: event.seq };
  return overview;
}

/** The maximum number of characters of the present work of a session. */
const MAX_DOING = 200;

function withSession(overview: Overview, event: EventOf<KindIn<'session'>>): Overview {
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
function withTurn(overview: Overview, event: EventOf<KindIn<'turn'>>): Overview {
  const { session_id, payload } = event;
  const known = overview.sessions.get(session_id ?? '');
  if (!known) return overview;
  const session = sessionAfterTurn(known.session, event);
  if (session.active_turn_id === null) return withNow(overview, idle(session));
  const since = known.since ?? payload.turn.accepted_at;
  return withNow(overview, { ...known, session, since });
}

/** The overview after an event of an approval: while one is pending, its session waits. */
function withApproval(overview: Overview, event: EventOf<KindIn<'approval'>>): Overview {
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
function withWork(overview: Overview, event: EventOf<KindIn<'message' | 'tool'>>): Overview {
  const known = overview.sessions.get(event.session_id ?? '');
  if (!known) return overview;
  // A tool call that starts has only a title.
  const begun = event.kind === 'tool.started' ? event.payload.tool.title : undefined;
  const doing = begun === undefined ? summarizeEvent(event) : oneLine(begun);
  return withNow(overview, { ...known, doing: shorten(doing, MAX_DOING) });
}

export function idle(session: Session): SessionNow {
  return { session, since: null, doing: null };
}

export function withNow(overview: Overview, now: SessionNow): Overview {
  return { ...overview, sessions: changed(overview.sessions, now.session.id, now) };
}

function withProcess(overview: Overview, event: EventOf<KindIn<'process'>>): Overview {
  const { process_id } = event;
  const process = processAfter(overview.processes.get(process_id ?? ''), event);
  if (process_id === null || !process) return overview;
  return { ...overview, processes: changed(overview.processes, process_id, process) };
}

function withTeam(overview: Overview, { payload }: EventOf<KindIn<'team'>>): Overview {
  if (!('team' in payload)) return overview;
  const { team } = payload;
  return {
    ...overview,
    teams: changed(overview.teams, team.id, team.deleted_at === null ? team : null),
  };
}

function withWorktree(overview: Overview, { payload }: EventOf<KindIn<'worktree'>>): Overview {
  if (!('worktree' in payload)) return overview;
  const { worktree } = payload;
  return { ...overview, worktrees: changed(overview.worktrees, worktree.id, worktree) };
}

function withRace(overview: Overview, { payload }: EventOf<KindIn<'race'>>): Overview {
  if ('race' in payload) {
    const { id, kept } = payload.race;
    const contenders = new Map(
      [...overview.contenders].map(([session, entry]) => [
        session,
        entry.race_id === id ? { ...entry, kept } : entry,
      ]),
    );
    return { ...overview, contenders };
  }
  const {
    race_id,
    race_name,
    contender: { contender, session_id },
  } = payload;
  if (session_id === null) return overview;
  const kept = overview.contenders.get(session_id)?.kept ?? null;
  const entry = { race_id, race_name, contender, kept };
  return { ...overview, contenders: changed(overview.contenders, session_id, entry) };
}

function withQueue(overview: Overview, event: EventOf<KindIn<'queue'>>): Overview {
  const after = { ...overview, queueSeq: event.seq };
  if (event.kind !== 'queue.added' && event.kind !== 'queue.removed') return after;
  const { id, session_id } = event.payload.entry;
  const session = event.kind === 'queue.added' ? session_id : null;
  return { ...after, queued: changed(overview.queued, id, session) };
}
