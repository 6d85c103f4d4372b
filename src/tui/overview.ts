import type { Approval } from '../api/approvals.ts';
import type { Process } from '../api/processes.ts';
import type { Session } from '../api/sessions.ts';
import type { Team } from '../api/teams.ts';
import type { Worktree } from '../api/worktrees.ts';

/** The current state: taken from lists once, and from then on from events alone. */
export interface Overview {
  /** The open and the failed ones, and the closed ones that were listed. */
  sessions: ReadonlyMap<string, SessionNow>;
  /** The pending ones, oldest first. */
  approvals: ReadonlyMap<string, Approval>;
  /** The running and the queued ones, and the ended ones that were listed. */
  processes: ReadonlyMap<string, Process>;
  /** Those that were not deleted. */
  teams: ReadonlyMap<string, Team>;
  worktrees: ReadonlyMap<string, WorktreePlace>;
  /** The approval that was resolved last, by this client or another. */
  resolved: Resolved | null;
}

/** Where a worktree belongs. */
export type WorktreePlace = Pick<Worktree, 'id' | 'repo_root' | 'branch'>;

export type Resolved = Pick<
  Approval,
  'id' | 'session_id' | 'title' | 'status' | 'decided_by' | 'reason'
>;

/** A session and what it does now. */
export interface SessionNow {
  session: Session;
  /** When its active turn was accepted. */
  since: number | null;
  /** Its latest message or tool call in this turn, as one line of plain text. */
  doing: string | null;
}

export const emptyOverview: Overview = {
  sessions: new Map(),
  approvals: new Map(),
  processes: new Map(),
  teams: new Map(),
  worktrees: new Map(),
  resolved: null,
};

/** A map with another value for a key; without the key where the value is null. */
export function changed<T>(
  map: ReadonlyMap<string, T>,
  key: string,
  value: T | null,
): Map<string, T> {
  const next = new Map(map);
  if (value === null) next.delete(key);
  else next.set(key, value);
  return next;
}
