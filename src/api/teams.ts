import { z } from 'zod';
import {
  component,
  nameOfLength,
  nullableText,
  nullableTime,
  optionalFlag,
  optionalName,
  optionalText,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { worktree, worktreeName, worktreeSettings } from './worktrees.ts';
import { agentName, providerId } from './provider-kinds.ts';
import { agentMode, session } from './sessions.ts';

export const team = component('Team', 'A group of sessions that work together under one lead.', {
  id: z.string(),
  name: z.string(),
  lead_agent_id: text('Session that leads the team.'),
  created_by: text('Creator of the team. Always "api" at present.'),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: nullableTime('Time of the deletion (Unix ms). Null if the team is not deleted.'),
});
export type Team = z.output<typeof team>;

export const member = component('Member', 'A session in a team.', {
  team_id: z.string(),
  agent_id: text('Session id of the member.'),
  title: nullableText('Role of the member in the team. Null if it has none.'),
  joined_at: timestamp,
  added_by: text('Id of the session that added the member, or "api".'),
  worktree_id: nullableText(
    'Worktree that was given when the member was added. Null if none was given.',
  ),
});
export type Member = z.output<typeof member>;

const teamWithMembers = z.looseObject({ team, members: z.array(member) });
export type TeamWithMembers = z.output<typeof teamWithMembers>;

export const teamParam = { team_id: text('Team id.') };
const memberParams = { ...teamParam, agent_id: text('Session id of the member.') };

export const memberTitle = nameOfLength(200).nullish().describe('Role of the member in the team.');
export const imagePaths = z.array(z.string().min(1)).max(8).nullish().meta({
  description:
    "Paths of images on the server's machine, relative to the working directory of the sender. The server stores copies.",
});

export const teamName = nameOfLength(200);

export const createTeam = endpoint('POST /v1/teams', {
  summary: 'Create a team of sessions',
  body: z.strictObject({
    name: teamName,
    lead_agent_id: text('Session that leads the team. It becomes a member.'),
    member_agent_ids: z.array(z.string()).max(1000).nullish().meta({
      description: 'Session ids of the other members.',
    }),
    join_existing: optionalFlag(
      'Whether the sessions join the team with this name if there is one, and its lead stays. Default: false.',
    ),
  }),
  response: teamWithMembers,
  errors: ['not_found', 'conflict', 'session_closed', 'storage_full'],
});

export const listTeams = endpoint('GET /v1/teams', {
  summary: 'List teams, including deleted ones, newest first',
  query: pageQuery,
  response: z.array(team),
});

export const getTeam = endpoint('GET /v1/teams/{team_id}', {
  summary: 'Get a team and its members',
  params: teamParam,
  response: teamWithMembers,
});

export const deleteTeam = endpoint('DELETE /v1/teams/{team_id}', {
  summary: 'Delete a team; its sessions continue and its messages remain readable',
  params: teamParam,
  status: 204,
  response: z.undefined(),
});

export const addMember = endpoint('POST /v1/teams/{team_id}/members', {
  summary: 'Add a session to a team',
  params: teamParam,
  body: z.strictObject({
    agent_id: text('Session that becomes a member.'),
    title: memberTitle,
    worktree_id: optionalText(
      'Worktree that team views show for the member. Default: the worktree of its session.',
    ),
    added_by: optionalText('Session on whose behalf the member is added. Default: "api".'),
  }),
  response: teamWithMembers,
  errors: ['team_deleted', 'already_member', 'session_closed'],
});

export const removeMember = endpoint('DELETE /v1/teams/{team_id}/members/{agent_id}', {
  summary: 'Remove a session from a team; its pending deliveries fail',
  params: memberParams,
  response: teamWithMembers,
  errors: ['team_deleted', 'conflict'],
});

export const setLead = endpoint('POST /v1/teams/{team_id}/lead', {
  summary: 'Change the lead of a team to another member',
  params: teamParam,
  body: z.strictObject({ lead_agent_id: text('Member that becomes the lead.') }),
  response: teamWithMembers,
  errors: ['team_deleted', 'session_closed'],
});

const spawnedMember = component(
  'SpawnedMember',
  'A session that was created as a member of a team.',
  {
    operation_id: text('Id that cadre generated for the creation.'),
    team,
    session,
    member,
    worktree: worktree.nullable().describe('Worktree of the member. Null if it has none.'),
    onboarding: z
      .looseObject({ message_id: z.string(), delivery_ids: z.array(z.string()) })
      .describe('First message to the member.'),
  },
);
export type SpawnedMember = z.output<typeof spawnedMember>;

const { branch_prefix, base_ref, run_init_script, copy_included } = worktreeSettings;
const worktreeRequest = z
  .strictObject({
    mode: z.enum(['none', 'create', 'reuse']).meta({
      description:
        'Working directory of the member. `none`: the directory of the source session. `create`: a new worktree. `reuse`: the worktree with this name, which is created if it does not exist.',
    }),
    name: worktreeName.nullish().meta({
      description:
        'Name of the worktree. Required for `reuse`. Default for `create`: a name derived from the operation.',
    }),
    branch_prefix,
    base_ref,
    run_init_script,
    copy_included,
  })
  .meta({ id: 'NewMemberWorktree', description: 'The worktree of a new member.' });

export const spawnMember = endpoint('POST /v1/teams/{team_id}/members/spawn', {
  summary: 'Create a session as a new member of a team; if a step fails, nothing remains',
  params: teamParam,
  body: z.strictObject({
    source_session_id: text(
      'Member that requests the new member. Absent settings are copied from its session.',
    ),
    provider: providerId.nullish(),
    agent: agentName
      .nullish()
      .describe('Name of an agent of the provider `acp`. If no provider is set, it selects `acp`.'),
    model: optionalName('Model, by the name that the agent uses.'),
    model_preset: optionalText('Name of a preset in `teams.model_presets`.'),
    permission_mode: optionalName(
      'Permission mode: which actions the agent may take and which need approval.',
    ),
    agent_mode: agentMode,
    metadata: z.unknown().optional().describe('Any value, which is stored with the session.'),
    title: memberTitle,
    prompt: z.string().regex(/\S/, 'is empty: enter a text or omit the field').nullish().meta({
      description: 'First message to the member.',
    }),
    image_paths: imagePaths,
    worktree: worktreeRequest.nullish(),
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: spawnedMember,
  errors: [
    'team_deleted',
    'session_closed',
    'session_failed',
    'conflict',
    'provider_unavailable',
    'unknown_model_preset',
    'unsupported_provider_images',
    'storage_full',
  ],
});

export const interruptTeam = endpoint('POST /v1/teams/{team_id}/interrupt-all', {
  summary: 'Interrupt the running turns of all members of a team',
  params: teamParam,
  body: z.strictObject({}),
  response: z.looseObject({
    interrupted_session_ids: z.array(z.string()).describe('Members whose turn is interrupted.'),
    skipped_session_ids: z.array(z.string()).describe('Members without a running turn.'),
  }),
  errors: ['team_deleted'],
});
