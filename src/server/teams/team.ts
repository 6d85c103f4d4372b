import type { Session, Turn } from '../../api/sessions.ts';
import type { BodyOf } from '../../api/endpoint.ts';
import type { MemberView } from '../../api/team-view.ts';
import type { addMember, Member, Team, spawnMember } from '../../api/teams.ts';
import { AppError, conflictError, notFoundError, invalidError } from '../../api/errors.ts';
import type { ProviderId } from '../../api/provider-kinds.ts';

/** The value of `created_by` and `added_by` for what no session did. */
export const BY_API = 'api';

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

const states: Record<Session['status'], MemberView['state']> = {
  ready: 'idle',
  running: 'working',
  waiting_for_approval: 'waiting_for_approval',
  closed: 'closed',
  failed: 'failed',
};

export function memberStateOf({ status }: Session): MemberView['state'] {
  return states[status];
}

/** Returns the free percentage of a session's context by the usage of `turn`; null if the usage has no context. */
export function contextRemaining(turn: Turn | undefined): number | null {
  const { context_tokens: used, context_window: window } = turn?.usage ?? {};
  if (typeof used !== 'number' || typeof window !== 'number' || window <= 0) return null;
  return Math.min(100, Math.max(0, Math.round((100 * (window - used)) / window)));
}

type SpawnRequest = BodyOf<typeof spawnMember>;

/** A named choice of provider, agent, model and effort for members. */
export interface ModelPreset {
  name: string;
  provider: ProviderId;
  /** Null: the default agent of the provider. */
  agent: string | null;
  model: string | null;
  thinking_effort: string | null;
  agent_mode: string | null;
}

/** Returns the preset. Throws `unknown_model_preset`, and `invalid` if the request also names what it sets. */
export function presetOf(
  { model_preset: name, provider, agent, model }: SpawnRequest,
  presets: readonly ModelPreset[],
): ModelPreset | null {
  if (name === undefined || name === null) return null;
  if (provider || agent || model)
    throw invalidError(
      'body.model_preset: a preset cannot be combined with provider, agent or model: leave out either the preset or these fields',
    );
  const found = presets.find((preset) => preset.name === name);
  if (found) return found;
  const names = presets.map((preset) => preset.name).join(', ') || 'none';
  throw new AppError(
    'unknown_model_preset',
    `unknown model preset "${name}": choose from ${names}`,
  );
}

/** Returns metadata with the name and the effort of a preset. Throws `invalid` for metadata that is not an object. */
export function withPreset(metadata: unknown, { name, thinking_effort }: ModelPreset): unknown {
  const presetFields = { model_preset: name, thinking_effort };
  if (metadata === undefined || metadata === null) return presetFields;
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw invalidError('body.metadata: metadata must be an object if model_preset is set');
  return { ...metadata, ...presetFields };
}
