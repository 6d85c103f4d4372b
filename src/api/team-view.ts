import { z } from 'zod';
import { component, integer, optionalFlag, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { delivery, message } from './team-messages.ts';
import { member, team, teamParam } from './teams.ts';
import { worktree } from './worktrees.ts';

const memberView = member
  .extend({
    state: z.enum(['idle', 'working', 'waiting_for_approval', 'closed', 'failed']),
    last_message: component('LastMessage', 'Summary of a message in the row of a member.', {
      message_id: z.string(),
      direction: z.enum(['sent', 'received']),
      sender_agent_id: z.string(),
      text: text('Start of the text of the message.'),
      created_at: timestamp,
    })
      .nullable()
      .describe(
        'Last message that the member sent or received in the team. Null before the first message.',
      ),
    session_title: z.string().nullish().meta({
      description: 'Title of the session of the member. Null if the session has no title.',
    }),
    worktree: worktree
      .nullable()
      .describe('Worktree that the member works in, if the server created it. Null otherwise.'),
    context_window_remaining_percentage: z.int().nullable(),
    pending_deliveries: z.int(),
    takes_tools: optionalFlag(
      'Whether the agent has requested the tools of cadre, which it needs to send messages to the team. Null if this is not known since the start of the server.',
    ),
  })
  .meta({ id: 'MemberView', description: 'A member of a team and its current activity.' });

export const teamView = component('TeamView', 'A team, its members and its latest messages.', {
  team,
  members: z.array(memberView).describe('Members, in the order in which they joined.'),
  messages: z.array(message).describe('Messages, newest first.'),
  deliveries_by_message_id: z.record(z.string(), z.array(delivery)).nullable(),
  latest_seq: integer(
    'Sequence number (seq) of the last event that the view includes. Stream the events after it to miss nothing.',
  ),
});
export type TeamView = z.output<typeof teamView>;
export type MemberView = z.output<typeof memberView>;

export const getTeamView = endpoint('GET /v1/teams/{team_id}/view', {
  summary: 'Get a team, its members and its latest messages',
  params: teamParam,
  query: {
    include_delivery_map: z.boolean().default(true).meta({
      description: 'Whether the view contains the deliveries of its messages.',
    }),
    message_limit: z.int().min(0).max(500).default(50).describe('Maximum number of messages.'),
  },
  response: teamView,
});

export const commsDiagnostics = component(
  'CommsDiagnostics',
  'Numbers of teams, messages and deliveries.',
  {
    teams: integer('Number of teams, including deleted ones.'),
    messages: z.int(),
    deliveries: z.record(z.string(), z.int()).describe('Number of deliveries by status.'),
    spawns_under_way: z.int(),
  },
);
export type CommsDiagnostics = z.output<typeof commsDiagnostics>;

export const getCommsDiagnostics = endpoint('GET /v1/diagnostics/comms', {
  summary: 'Get the number of teams and messages, and of deliveries by status',
  response: commsDiagnostics,
});
