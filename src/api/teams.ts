import { z } from 'zod';
import { givenName, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { gitReference, worktree, worktreeName } from './worktrees.ts';
import { agentName, providerId } from './provider-kinds.ts';
import { agentMode, session } from './sessions.ts';

export const team = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    lead_agent_id: z.string(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Team', description: 'Sessions that work together; one of them is the lead.' });
export type Team = z.output<typeof team>;

export const member = z
  .looseObject({
    team_id: z.string(),
    agent_id: z.string().describe('A session.'),
    title: z.string().nullable(),
    joined_at: timestamp,
    added_by: z.string().describe('A session, or "api".'),
    worktree_id: z.string().nullable(),
  })
  .meta({ id: 'Member', description: 'A session in a team.' });
export type Member = z.output<typeof member>;

const teamWithMembers = z.looseObject({ team, members: z.array(member) });
export type TeamWithMembers = z.output<typeof teamWithMembers>;

export const teamParam = { team_id: z.string().describe('The team.') };
const memberParams = { ...teamParam, agent_id: z.string().describe('The member: a session.') };

export const memberTitle = givenName(200).nullish().describe('The role of the member in the team.');
export const imagePaths = z
  .array(z.string().min(1))
  .max(8)
  .nullish()
  .describe(
    'Images on the machine of the server, relative to the directory of the sender; they are copied.',
  );

export const createTeam = endpoint({
  method: 'POST',
  path: '/v1/teams',
  summary: 'Create a team of sessions',
  body: z.strictObject({
    name: givenName(200),
    lead_agent_id: z.string().describe('The session that leads; it becomes a member.'),
    member_agent_ids: z.array(z.string()).max(1000).nullish().describe('Other sessions.'),
  }),
  response: teamWithMembers,
  errors: ['not_found', 'session_closed', 'storage_full'],
});

export const listTeams = endpoint({
  method: 'GET',
  path: '/v1/teams',
  summary: 'List teams, newest first; deleted ones too',
  query: pageQuery,
  response: z.array(team),
});

export const getTeam = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}',
  summary: 'Read a team, with its members',
  params: teamParam,
  response: teamWithMembers,
  errors: ['not_found'],
});

export const deleteTeam = endpoint({
  method: 'DELETE',
  path: '/v1/teams/{team_id}',
  summary: 'Delete a team; its sessions continue, and its messages stay readable',
  params: teamParam,
  status: 204,
  response: z.undefined(),
  errors: ['not_found'],
});

export const addMember = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/members',
  summary: 'Add a session to a team',
  params: teamParam,
  body: z.strictObject({
    agent_id: z.string(),
    title: memberTitle,
    worktree_id: z.string().nullish(),
    added_by: z
      .string()
      .nullish()
      .describe('The session on whose behalf it is added; default: "api".'),
  }),
  response: teamWithMembers,
  errors: ['not_found', 'team_deleted', 'already_member', 'session_closed'],
});

export const removeMember = endpoint({
  method: 'DELETE',
  path: '/v1/teams/{team_id}/members/{agent_id}',
  summary: 'Remove a session from a team; its pending deliveries fail',
  params: memberParams,
  response: teamWithMembers,
  errors: ['not_found', 'team_deleted', 'conflict'],
});

export const setLead = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/lead',
  summary: 'Make a member the lead of a team',
  params: teamParam,
  body: z.strictObject({ lead_agent_id: z.string() }),
  response: teamWithMembers,
  errors: ['not_found', 'team_deleted', 'session_closed'],
});

const spawnedMember = z
  .looseObject({
    operation_id: z.string(),
    team,
    session,
    member,
    worktree: worktree.nullable(),
    onboarding: z.looseObject({ message_id: z.string(), delivery_ids: z.array(z.string()) }),
  })
  .meta({ id: 'SpawnedMember', description: 'A session that was opened for a team.' });
export type SpawnedMember = z.output<typeof spawnedMember>;

const worktreeWish = z
  .strictObject({
    mode: z
      .enum(['none', 'create', 'reuse'])
      .describe(
        'none: the member works in the directory of the source session. create: in a new worktree. reuse: in the worktree of that name, which is created if there is none.',
      ),
    name: worktreeName
      .nullish()
      .describe('create: by default it is derived from the operation. reuse: required.'),
    branch_prefix: gitReference.nullish(),
    base_ref: gitReference.nullish(),
    run_init_script: z.boolean().nullish(),
    copy_included: z.boolean().nullish(),
  })
  .meta({ id: 'WorktreeWish', description: 'The worktree of a new member.' });

export const spawnMember = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/members/spawn',
  summary: 'Open a session as a new member of a team; if any step fails, nothing is left of it',
  params: teamParam,
  body: z.strictObject({
    source_session_id: z
      .string()
      .describe('The member that asks for it; settings that are absent are copied from it.'),
    provider: providerId.nullish(),
    agent: agentName
      .nullish()
      .describe(
        'An agent of the provider acp by its name; with no provider named, it also chooses acp.',
      ),
    model: z.string().min(1).nullish(),
    model_preset: z.string().nullish().describe('A name of teams.model_presets.'),
    permission_mode: z.string().min(1).nullish(),
    agent_mode: agentMode,
    metadata: z.unknown().optional(),
    title: memberTitle,
    prompt: z
      .string()
      .regex(/\S/, 'is empty: say something, or leave it out')
      .nullish()
      .describe('Its first message.'),
    image_paths: imagePaths,
    worktree: worktreeWish.nullish(),
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: spawnedMember,
  errors: [
    'not_found',
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

export const interruptTeam = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/interrupt-all',
  summary: 'Interrupt the turns of all members',
  params: teamParam,
  body: z.strictObject({}),
  response: z.looseObject({
    interrupted_session_ids: z.array(z.string()),
    skipped_session_ids: z.array(z.string()).describe('Members without an active turn.'),
  }),
  errors: ['not_found', 'team_deleted'],
});
