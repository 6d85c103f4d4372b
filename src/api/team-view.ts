import { z } from 'zod';
import { timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { delivery, message } from './team-messages.ts';
import { member, team, teamParam } from './teams.ts';
import { worktree } from './worktrees.ts';

const memberRow = member
  .extend({
    state: z.enum(['idle', 'working', 'waiting_for_approval', 'closed', 'failed']),
    last_message: z
      .looseObject({
        message_id: z.string(),
        direction: z.enum(['sent', 'received']),
        sender_agent_id: z.string(),
        text: z.string().describe('The beginning of its text.'),
        created_at: timestamp,
      })
      .meta({ id: 'LastMessage', description: 'A message in short, in the row of a member.' })
      .nullable()
      .describe('The last message that the member sent or received in the team.'),
    worktree: worktree
      .nullable()
      .describe('The worktree that it works in, if the server created it.'),
    context_window_remaining_percentage: z.int().nullable(),
    pending_deliveries: z.int(),
    takes_tools: z
      .boolean()
      .nullish()
      .describe(
        'Whether the agent has asked for the tools of cadre, with which it messages the team. Null if that is not known since the start of the server.',
      ),
  })
  .meta({ id: 'MemberRow', description: 'A member of a team, and its present activity.' });

export const teamView = z
  .looseObject({
    team,
    members: z.array(memberRow).describe('In the order in which they joined.'),
    messages: z.array(message).describe('Newest first.'),
    deliveries_by_message_id: z.record(z.string(), z.array(delivery)).nullable(),
    latest_seq: z
      .int()
      .describe(
        'The seq as of which the view is complete: stream the events after it to miss nothing.',
      ),
  })
  .meta({ id: 'TeamView', description: 'A team, its members and its last messages.' });
export type TeamView = z.output<typeof teamView>;
export type MemberRow = z.output<typeof memberRow>;

export const getTeamView = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/view',
  summary: 'A team, its members and its last messages',
  params: teamParam,
  query: {
    include_delivery_map: z
      .boolean()
      .default(true)
      .describe('Whether the view contains the deliveries of its messages.'),
    message_limit: z.int().min(0).max(500).default(50).describe('The maximum number of messages.'),
  },
  response: teamView,
  errors: ['not_found'],
});

export const commsDiagnostics = z
  .looseObject({
    teams: z.int().describe('The number of teams, including deleted ones.'),
    messages: z.int(),
    deliveries: z.record(z.string(), z.int()).describe('The number of deliveries, by status.'),
    spawns_under_way: z.int(),
  })
  .meta({
    id: 'CommsDiagnostics',
    description: 'How many teams, messages and deliveries there are.',
  });
export type CommsDiagnostics = z.output<typeof commsDiagnostics>;

export const getCommsDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/comms',
  summary: 'How many teams and messages there are, and deliveries by status',
  response: commsDiagnostics,
});
