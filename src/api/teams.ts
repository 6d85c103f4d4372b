import { z } from 'zod';
import { failure, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { reference, worktree, worktreeName } from './worktrees.ts';
import { providerId } from './provider-kinds.ts';
import { saidItem, session, storedImage, storedInputItem } from './sessions.ts';

export const priority = z.enum(['high', 'normal', 'low']);
export const policy = z
  .enum([
    'non_interrupting',
    'start_new_turn_only',
    'interrupt_after_tool_boundary',
    'immediate_interrupt',
  ])
  .describe(
    'non_interrupting waits until the recipient is idle; start_new_turn_only fails where it is not; the others ' +
      'interrupt its turn, where no tool runs and no approval is waited for, or at once.',
  );

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
  .meta({ id: 'Team', description: 'Sessions that work together, one of which leads.' });
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

export const message = z
  .looseObject({
    id: z.string(),
    team_id: z.string(),
    scope: z.enum(['direct', 'broadcast']),
    sender_agent_id: z.string(),
    recipient_agent_id: z.string().nullable().describe('null: a broadcast.'),
    recipient_agent_ids: z.array(z.string()),
    input: z
      .union([storedInputItem, z.array(storedInputItem)])
      .describe('As it was sent, images by their digest.'),
    image_paths: z.array(z.string()).describe('As they were given.'),
    images: z.array(storedImage).describe('The copies that were made of image_paths.'),
    priority,
    policy,
    correlation_id: z.string().nullable(),
    reply_to_message_id: z.string().nullable(),
    onboarding: z.boolean().describe('The first words to a member that was spawned.'),
    created_at: timestamp,
    cancelled_at: timestamp.nullable(),
  })
  .meta({ id: 'Message', description: 'What a member of a team says to others.' });
export type Message = z.output<typeof message>;

export const deliveryStatus = z.enum([
  'pending',
  'deferred',
  'injecting',
  'injected',
  'failed',
  'cancelled',
]);

export const delivery = z
  .looseObject({
    id: z.string(),
    message_id: z.string(),
    team_id: z.string(),
    recipient_agent_id: z.string(),
    status: deliveryStatus.describe(
      'pending: it waits. deferred: it was put off, error says why. injecting: it is in a turn that was accepted. ' +
        'injected: that turn has started.',
    ),
    attempts: z.int().describe('How many turns it was put into.'),
    injected_turn_id: z.string().nullable(),
    consumed_at: timestamp.nullable().describe('When its turn completed.'),
    error: failure.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Delivery', description: 'One message on its way to one recipient.' });
export type Delivery = z.output<typeof delivery>;

const teamWithMembers = z.looseObject({ team, members: z.array(member) });
export type TeamWithMembers = z.output<typeof teamWithMembers>;

const messageWithDeliveries = z.looseObject({ message, deliveries: z.array(delivery) });

const memberRow = member
  .extend({
    state: z.enum(['idle', 'working', 'waiting_for_approval', 'closed', 'failed']),
    last_message: z
      .looseObject({
        message_id: z.string(),
        direction: z.enum(['sent', 'received']),
        sender_agent_id: z.string(),
        text: z.string().describe('Its beginning.'),
        created_at: timestamp,
      })
      .meta({ id: 'LastMessage', description: 'A message, as the row of a member shows it.' })
      .nullable()
      .describe('What the member last said or was told in the team.'),
    worktree: worktree.nullable().describe('Where it works, as far as the server made that.'),
    context_window_remaining_percentage: z.int().nullable(),
    pending_deliveries: z.int(),
  })
  .meta({ id: 'MemberRow', description: 'A member of a team, and what it does just now.' });

export const teamView = z
  .looseObject({
    team,
    members: z.array(memberRow).describe('In the order in which they joined.'),
    messages: z.array(message).describe('Newest first.'),
    deliveries_by_message_id: z.record(z.string(), z.array(delivery)).nullable(),
    latest_seq: z.int().describe('Follow events after it to miss nothing.'),
  })
  .meta({ id: 'TeamView', description: 'A team, its members and what they said last.' });
export type TeamView = z.output<typeof teamView>;
export type MemberRow = z.output<typeof memberRow>;

export const teamParam = { team_id: z.string().describe('The team.') };
const memberParams = { ...teamParam, agent_id: z.string().describe('The member: a session.') };

export const memberTitle = z.string().min(1).max(200).nullish().describe('What it is there for.');
export const imagePaths = z
  .array(z.string().min(1))
  .max(8)
  .nullish()
  .describe(
    'Images on the machine of the server, relative to the directory of the sender; they are copied.',
  );

/** Fields of messages. */
export const said = {
  sender_agent_id: z.string(),
  input: z
    .union([saidItem, z.array(saidItem).min(1)])
    .describe('One object, or an array of them: a single object stands for an array of one.'),
  image_paths: imagePaths,
  priority: priority.nullish().describe('Default: normal.'),
  policy: policy.nullish().describe('Default: non_interrupting.'),
  correlation_id: z.string().min(1).max(200).nullish(),
  reply_to_message_id: z.string().nullish(),
};

export const createTeam = endpoint({
  method: 'POST',
  path: '/v1/teams',
  summary: 'Make a team of sessions',
  body: z.strictObject({
    name: z.string().min(1).max(200),
    lead_agent_id: z.string().describe('A session; it is a member.'),
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
  summary: 'Delete a team; its sessions go on, and what was said stays readable',
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
    added_by: z.string().nullish().describe('The session that wants it.'),
  }),
  response: teamWithMembers,
  errors: ['not_found', 'team_deleted', 'already_member', 'session_closed'],
});

export const removeMember = endpoint({
  method: 'DELETE',
  path: '/v1/teams/{team_id}/members/{agent_id}',
  summary: 'Take a session out of a team; what waits for it there fails',
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

const spawned = z
  .looseObject({
    operation_id: z.string(),
    team,
    session,
    member,
    worktree: worktree.nullable(),
    onboarding: z.looseObject({ message_id: z.string(), delivery_ids: z.array(z.string()) }),
  })
  .meta({ id: 'SpawnedMember', description: 'A session that was opened for a team.' });
export type SpawnedMember = z.output<typeof spawned>;

const worktreeWish = z
  .strictObject({
    mode: z
      .enum(['none', 'create', 'reuse'])
      .describe(
        'none: it works where the source session does. create: in a new one. reuse: in the one of that name, which is made where there is none.',
      ),
    name: worktreeName.nullish().describe('create: default after the operation. reuse: needed.'),
    branch_prefix: reference.nullish(),
    base_ref: reference.nullish(),
    run_init_script: z.boolean().nullish(),
  })
  .meta({ id: 'WorktreeWish', description: 'Where a new member is to work.' });

export const spawnMember = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/members/spawn',
  summary: 'Open a session for a team: all of it, or nothing',
  params: teamParam,
  body: z.strictObject({
    source_session_id: z
      .string()
      .describe('The member that wants it; what is not said is as there.'),
    provider: providerId.nullish(),
    model: z.string().min(1).nullish(),
    model_preset: z.string().nullish().describe('A name of teams.model_presets.'),
    permission_mode: z.string().min(1).nullish(),
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
  response: spawned,
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

const sendErrors = [
  'not_found',
  'team_deleted',
  'unsupported_provider_images',
  'storage_full',
] as const;

export const sendMessage = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/messages',
  summary: 'Say something to a member; answers once it is stored',
  params: teamParam,
  body: z.strictObject({ ...said, recipient_agent_id: z.string() }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: sendErrors,
});

export const broadcast = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/broadcasts',
  summary: 'Say something to all members; answers once it is stored',
  params: teamParam,
  body: z.strictObject({
    ...said,
    include_sender: z.boolean().nullish().describe('Default: false.'),
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: sendErrors,
});

export const listMessages = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/messages',
  summary: 'List what was said in a team, newest first',
  params: teamParam,
  query: pageQuery,
  response: z.array(message),
  errors: ['not_found'],
});

export const cancelMessage = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/messages/{message_id}/cancel',
  summary: 'Take a message back from those who have not got it',
  params: { ...teamParam, message_id: z.string().describe('The message.') },
  body: z.strictObject({}),
  response: message,
  errors: ['not_found', 'team_deleted', 'delivery_state'],
});

export const listDeliveries = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/deliveries',
  summary: 'List the deliveries of a team, newest first',
  params: teamParam,
  query: {
    status: deliveryStatus.optional().describe('Only deliveries with this status.'),
    message_id: z.string().optional().describe('Only of this message.'),
    recipient_agent_id: z.string().optional().describe('Only to this session.'),
    ...pageQuery,
  },
  response: z.array(delivery),
  errors: ['not_found'],
});

export const retryDelivery = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/deliveries/{delivery_id}/retry',
  summary: 'Try a delivery again that failed, was put off, or whose turn did not complete',
  params: { ...teamParam, delivery_id: z.string().describe('The delivery.') },
  body: z.strictObject({}),
  response: delivery,
  errors: ['not_found', 'team_deleted', 'delivery_state'],
});

export const interruptTeam = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/interrupt-all',
  summary: 'Ask for the turns of all members to end',
  params: teamParam,
  body: z.strictObject({}),
  response: z.looseObject({
    interrupted_session_ids: z.array(z.string()),
    skipped_session_ids: z.array(z.string()).describe('They are at no turn.'),
  }),
  errors: ['not_found', 'team_deleted'],
});

export const getTeamView = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/view',
  summary: 'A team, its members and what they said last',
  params: teamParam,
  query: {
    include_delivery_map: z.boolean().default(true).describe('Whether to tell of deliveries.'),
    message_limit: z.int().min(0).max(500).default(50).describe('How many messages at most.'),
  },
  response: teamView,
  errors: ['not_found'],
});

export const commsDiagnostics = z
  .looseObject({
    teams: z.int().describe('Deleted ones too.'),
    messages: z.int(),
    deliveries: z.record(z.string(), z.int()).describe('By status.'),
    spawns_under_way: z.int(),
  })
  .meta({ id: 'CommsDiagnostics', description: 'Teams, and what is on its way in them.' });
export type CommsDiagnostics = z.output<typeof commsDiagnostics>;

export const getCommsDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/comms',
  summary: 'How many teams and messages there are, and deliveries by status',
  response: commsDiagnostics,
});
