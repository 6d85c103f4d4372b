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
