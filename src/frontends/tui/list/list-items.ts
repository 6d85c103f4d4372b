import type { Approval } from '../../../api/approvals.ts';
import type { Process } from '../../../api/processes.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Team } from '../../../api/teams.ts';
import type { Node, Overview, RaceEntry, SessionNow, WorktreeLocation } from '../overview.ts';

/** An item of the list, and its server if there are several. */
export type ListItem = Row & { node?: Node };

type Row =
  | { kind: 'approval'; id: string; approval: Approval; session: Session | null }
  | {
      kind: 'session';
      id: string;
      now: SessionNow;
      worktree: WorktreeLocation | null;
      queued?: number;
      race?: RaceEntry;
    }
  | { kind: 'process'; id: string; process: Process }
  | { kind: 'team'; id: string; team: Team };

/** The status of an item, in the order in which items need attention. */
export const itemStatuses = [
  'waiting',
  'failed',
  'unseen',
  'running',
  'idle',
  'snoozed',
  'done',
] as const;
export type ItemStatus = (typeof itemStatuses)[number];

/** Returns the status of an item at a time in Unix milliseconds. */
export function itemStatusOf(item: ListItem, now: number): ItemStatus {
  if (item.kind === 'approval') return 'waiting';
  if (item.kind === 'team') return 'idle';
  if (item.kind === 'process') return statusOfProcess(item.process);
  const { status, snoozed_until, news_seq, seen_seq, last_turn_status } = item.now.session;
  if (status === 'closed') return 'done';
  if (status === 'waiting_for_approval') return 'waiting';
  if (snoozed_until !== null && snoozed_until > now) return 'snoozed';
  if (status === 'running') return 'running';
  if (status === 'failed') return 'failed';
  if (news_seq <= seen_seq) return 'idle';
  return last_turn_status === 'failed' ? 'failed' : 'unseen';
}

function statusOfProcess({ status }: Process): ItemStatus {
  if (status === 'queued' || status === 'running') return 'running';
  return status === 'completed' || status === 'killed' ? 'done' : 'failed';
}

/** Returns all items, the newest of each kind first; approvals the oldest first. */
export function listItemsOf(overview: Overview): ListItem[] {
  const { nodes } = overview;
  const rows = rowsOf(overview);
  if (nodes.size === 0) return rows;
  return rows.map((row) => {
    const node = nodes.get(row.id);
    return node ? { ...row, node } : row;
  });
}

function rowsOf(overview: Overview): Row[] {
  const { sessions, approvals, processes, teams, worktrees, queued, contenders } = overview;
  const lengths = new Map<string, number>();
  for (const session of queued.values()) lengths.set(session, (lengths.get(session) ?? 0) + 1);
  return [
    ...[...approvals.values()].map((approval) => ({
      kind: 'approval' as const,
      id: approval.id,
      approval,
      session: sessions.get(approval.session_id)?.session ?? null,
    })),
    ...[...sessions.values()].toSorted(newest(({ session }) => session.created_at)).map((now) => {
      const { id, worktree_id } = now.session;
      const [queue, race] = [lengths.get(id), contenders.get(id)];
      return {
        kind: 'session' as const,
        id,
        now,
        worktree: worktrees.get(worktree_id ?? '') ?? null,
        ...(queue === undefined ? {} : { queued: queue }),
        ...(race === undefined ? {} : { race }),
      };
    }),
    ...[...processes.values()].toSorted(newest(({ queued_at }) => queued_at)).map((process) => ({
      kind: 'process' as const,
      id: process.process_id,
      process,
    })),
    ...[...teams.values()]
      .toSorted(newest(({ created_at }) => created_at))
      .map((team) => ({ kind: 'team' as const, id: team.id, team })),
  ];
}

function newest<T>(timeOf: (one: T) => number): (a: T, b: T) => number {
  return (a, b) => timeOf(b) - timeOf(a);
}

/**
 * Returns the time of the last status change of an item, in Unix milliseconds. Its age and its rank in the attention order
 * depend on it.
 */
export function sinceOf(item: ListItem): number {
  switch (item.kind) {
    case 'approval':
      return item.approval.created_at;
    case 'session':
      return item.now.since ?? item.now.session.last_activity_at;
    case 'process':
      return item.process.ended_at ?? item.process.started_at ?? item.process.queued_at;
    case 'team':
      return item.team.created_at;
  }
}

/** Returns the id of the session that an item is or belongs to; null for a team and for a process without a session. */
export function sessionIdOf(item: ListItem): string | null {
  switch (item.kind) {
    case 'approval':
      return item.approval.session_id;
    case 'session':
      return item.id;
    case 'process':
      return item.process.session_id;
    case 'team':
      return null;
  }
}
