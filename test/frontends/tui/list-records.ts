import type { Approval } from '../../../src/api/approvals.ts';
import type { Process } from '../../../src/api/processes.ts';
import type { Session } from '../../../src/api/sessions.ts';
import type { Team } from '../../../src/api/teams.ts';
import { emptyOverview, type Overview } from '../../../src/frontends/tui/overview.ts';
import { idle } from '../../../src/frontends/tui/overview-events.ts';
import { anApproval } from '../../support/records.ts';

/** The time at which the tests of the list look, in Unix milliseconds. */
export const NOW = 10_000_000_000;
const MINUTE = 60_000;

/** A session that was made that many minutes ago, and did nothing since. */
export function session(id: string, minutes: number, more: Partial<Session> = {}): Session {
  return {
    id,
    provider: 'acp',
    title: `title of ${id}`,
    cwd: '/home/ada/project',
    status: 'ready',
    active_turn_id: null,
    worktree_id: null,
    failure: null,
    pinned: false,
    snoozed_until: null,
    muted: false,
    seen_seq: 0,
    news_seq: 0,
    last_words: null,
    last_activity_at: NOW - minutes * MINUTE,
    created_at: NOW - minutes * MINUTE,
    ...more,
  } as Session;
}

/** A process that began that many minutes ago. */
export function process(id: string, minutes: number, more: Partial<Process> = {}): Process {
  return {
    process_id: id,
    session_id: null,
    command: `run ${id}`,
    cwd: '/home/ada/project',
    status: 'running',
    exit_code: null,
    signal: null,
    failure: null,
    queued_at: NOW - minutes * MINUTE,
    started_at: NOW - minutes * MINUTE,
    ended_at: null,
    ...more,
  } as Process;
}

/** An approval that waits since that many minutes. */
export function approval(id: string, session_id: string, minutes: number): Approval {
  return anApproval({ id, session_id, title: `ask ${id}`, created_at: NOW - minutes * MINUTE });
}

/** An overview of these. */
export function overviewOf({
  sessions = [],
  approvals = [],
  processes = [],
  teams = [],
}: {
  sessions?: Session[];
  approvals?: Approval[];
  processes?: Process[];
  teams?: string[];
}): Overview {
  const team = (name: string) => ({ id: `team_${name}`, name, created_at: NOW }) as Team;
  return {
    ...emptyOverview,
    sessions: new Map(sessions.map((one) => [one.id, idle(one)])),
    approvals: new Map(approvals.map((one) => [one.id, one])),
    processes: new Map(processes.map((one) => [one.process_id, one])),
    teams: new Map(teams.map(team).map((one) => [one.id, one])),
  };
}
