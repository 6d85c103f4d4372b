import { type EventOf, type KindIn, type RuntimeEventRecord, isIn } from '../../api/events.ts';
import { processAfter, processKinds } from '../../client/process-after.ts';
import { type Overview, changed } from './overview.ts';
import { withApproval, withSession, withTurn, withWork } from './session-now.ts';

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
  'queue.*',
  'budget.*',
  'review.*',
] as const;

/** The overview after an event. */
export function withEvent(overview: Overview, event: RuntimeEventRecord): Overview {
  if (isIn('session', event)) return withSession(overview, event);
  if (isIn('turn', event)) return withTurn(overview, event);
  if (isIn('approval', event)) return withApproval(overview, event);
  if (isIn('process', event)) return withProcess(overview, event);
  if (isIn('message', event) || isIn('tool', event)) return withWork(overview, event);
  if (isIn('team', event)) return withTeam(overview, event);
  if (isIn('worktree', event)) return withWorktree(overview, event);
  if (isIn('queue', event)) return withQueue(overview, event);
  // The queues show sessions that a budget holds.
  if (isIn('budget', event)) return { ...overview, queueSeq: event.seq };
  if (isIn('review', event)) return { ...overview, reviewSeq: event.seq };
  return overview;
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

function withQueue(overview: Overview, event: EventOf<KindIn<'queue'>>): Overview {
  const after = { ...overview, queueSeq: event.seq };
  if (event.kind !== 'queue.added' && event.kind !== 'queue.removed') return after;
  const { id, session_id } = event.payload.entry;
  const session = event.kind === 'queue.added' ? session_id : null;
  return { ...after, queued: changed(overview.queued, id, session) };
}
