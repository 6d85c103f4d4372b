import type { Approval } from '../../api/approvals.ts';
import type { Process } from '../../api/processes.ts';
import type { Session } from '../../api/sessions.ts';
import type { Team } from '../../api/teams.ts';
import type { Worktree } from '../../api/worktrees.ts';

/** The current state: taken from lists once, and from then on from events alone. */
export interface Overview {
  /** The open and the failed ones, and the closed ones that were listed. */
  sessions: ReadonlyMap<string, SessionNow>;
  /** The pending ones, oldest first. */
  approvals: ReadonlyMap<string, Approval>;
  /** The running and the queued ones, and the ended ones that were listed. */
  processes: ReadonlyMap<string, Process>;
  /** Without deleted teams. */
  teams: ReadonlyMap<string, Team>;
  worktrees: ReadonlyMap<string, WorktreeLocation>;
  /** The entries of sessions in races, by the id of the session. */
  contenders: ReadonlyMap<string, RaceEntry>;
  /** The sessions of the entries of all queues, by the id of the entry. */
  queued: ReadonlyMap<string, string>;
  queueSeq: number;
  reviewSeq: number;
  /** The approval that was resolved last, by this client or another. */
  resolved: Resolved | null;
  /** The server of each item by the id of the item, if there are several servers; else empty. */
  nodes: ReadonlyMap<string, Node>;
}

/** One of several servers. */
export interface Node {
  name: string;
  /** Whether the server does not answer, so that its last known state is shown. */
  isAway: boolean;
}

export type WorktreeLocation = Pick<Worktree, 'id' | 'repo_root' | 'branch'>;

/** The entry of a session in a race. */
export interface RaceEntry {
  race_id: string;
  race_name: string;
  /** The name of the session in the race. */
  contender: string;
  /** The name of the contender that was kept; null if none was kept yet. */
  kept: string | null;
}

export type Resolved = Pick<
  Approval,
  'id' | 'session_id' | 'title' | 'status' | 'decided_by' | 'reason'
>;

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
  contenders: new Map(),
  queued: new Map(),
  queueSeq: 0,
  reviewSeq: 0,
  resolved: null,
  nodes: new Map(),
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

/** The overviews of several servers as one. `resolved`: what was resolved last on any of them. */
export function joined(
  parts: readonly { node: Node; overview: Overview }[],
  resolved: Resolved | null,
): Overview {
  const all = <T>(of: (overview: Overview) => ReadonlyMap<string, T>) =>
    new Map(parts.flatMap(({ overview }) => [...of(overview)]));
  return {
    sessions: all(({ sessions }) => sessions),
    approvals: byTime(all(({ approvals }) => approvals)),
    processes: all(({ processes }) => processes),
    teams: all(({ teams }) => teams),
    worktrees: all(({ worktrees }) => worktrees),
    contenders: all(({ contenders }) => contenders),
    queued: all(({ queued }) => queued),
    // The sum changes with each event of any server.
    queueSeq: parts.reduce((sum, { overview }) => sum + overview.queueSeq, 0),
    reviewSeq: parts.reduce((sum, { overview }) => sum + overview.reviewSeq, 0),
    resolved,
    nodes: new Map(
      parts.flatMap(({ node, overview: { sessions, approvals, processes, teams } }) =>
        [sessions, approvals, processes, teams].flatMap((one) =>
          [...one.keys()].map((id) => [id, node] as const),
        ),
      ),
    ),
  };
}

/** Approvals of several servers, oldest first. */
function byTime(approvals: ReadonlyMap<string, Approval>): Map<string, Approval> {
  return new Map([...approvals].toSorted(([, a], [, b]) => a.created_at - b.created_at));
}
