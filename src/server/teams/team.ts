import type { Session, Turn } from '../../api/sessions.ts';
import type { BodyOf } from '../../api/endpoint.ts';
import type { MemberRow } from '../../api/team-view.ts';
import type { addMember, Member, Team } from '../../api/teams.ts';
import { AppError, conflictError, notFoundError } from '../../api/errors.ts';

/** The value of `created_by` and `added_by` for what no session did. */
export const BY_API = 'api';

/** Throws `team_deleted` for a deleted team, which can only be read. */
export function assertNotDeleted(team: Team): void {
  if (team.deleted_at === null) return;
  throw new AppError('team_deleted', `team ${team.id} was deleted: create another team`);
}

export type NewMember = Pick<Member, 'agent_id'> & Partial<BodyOf<typeof addMember>>;

export function newMember(
  team: Team,
  { agent_id, title, added_by, worktree_id }: NewMember,
  now: number,
): Member {
  return {
    team_id: team.id,
    agent_id,
    title: title ?? null,
    joined_at: now,
    added_by: added_by ?? BY_API,
    worktree_id: worktree_id ?? null,
  };
}

/** Returns the member with the id of a session. Throws `not_found`. */
export function memberIn(members: readonly Member[], team: Team, agentId: string): Member {
  const found = members.find(({ agent_id }) => agent_id === agentId);
  if (found) return found;
  throw noMember(team, agentId);
}

/** Throws `not_found` if a session is not in a team. */
export function assertMember(agents: readonly string[], team: Team, agentId: string): void {
  if (!agents.includes(agentId)) throw noMember(team, agentId);
}

function noMember(team: Team, agentId: string): AppError {
  return notFoundError(`session "${agentId}" is not a member of team ${team.id}`);
}

/** Returns the team without a member. The oldest member replaces a lead. Throws `conflict` for the last member. */
export function withoutMember(
  team: Team,
  members: readonly Member[],
  agentId: string,
  now: number,
): { team: Team; isNewLead: boolean } {
  memberIn(members, team, agentId);
  const longest = members.find(({ agent_id }) => agent_id !== agentId);
  if (!longest)
    throw conflictError(
      `session ${agentId} is the last member of team ${team.id}: delete the team instead`,
    );
  if (team.lead_agent_id !== agentId) return { team, isNewLead: false };
  return { team: { ...team, lead_agent_id: longest.agent_id, updated_at: now }, isNewLead: true };
}

const states: Record<Session['status'], MemberRow['state']> = {
  ready: 'idle',
  running: 'working',
  waiting_for_approval: 'waiting_for_approval',
  closed: 'closed',
  failed: 'failed',
};

export function memberStateOf({ status }: Session): MemberRow['state'] {
  return states[status];
}

/** Returns the free percentage of a session's context by the usage of `turn`; null if the usage has no context. */
export function contextRemaining(turn: Turn | undefined): number | null {
  const { context_tokens: used, context_window: window } = turn?.usage ?? {};
  if (typeof used !== 'number' || typeof window !== 'number' || window <= 0) return null;
  return Math.min(100, Math.max(0, Math.round((100 * (window - used)) / window)));
}
