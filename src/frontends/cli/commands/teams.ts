import { endpoints } from '../../../api/index.ts';
import type { Member, Team } from '../../../api/teams.ts';
import { type Call, commandGroup, endpointCommand } from '../endpoint-command.ts';
import { memberArgument, sessionArgument, sessionId } from '../find.ts';
import { ago, details, listOf, shortId, table } from '../output.ts';
import { limit, memberAs, sessionAs, team } from '../parameters.ts';
import { teamMessageCommands } from './team-messages.ts';
import { teamSpawn } from './team-spawn.ts';

/** `cadre teams …`. */
export const teamCommands = commandGroup('teams', 'sessions that work together', [
  endpointCommand({
    name: 'list',
    description: 'list teams, newest first',
    endpoint: endpoints.listTeams,
    options: [limit, { flags: '--all', description: 'deleted ones too' }],
    document: (teams, { options }) => shownOf(teams, options.all),
    print: (teams, { options, ...at }) => teamTable(shownOf(teams, options.all), at),
    empty: 'no teams yet: make one with cadre teams create NAME --lead SESSION',
  }),
  endpointCommand({
    name: 'get',
    hidden: true,
    description: 'show a team and its members',
    endpoint: endpoints.getTeam,
    operands: [team],
    print: (found, call) => `${details(found.team, call)}\n${memberTable(found, call)}`,
  }),
  endpointCommand({
    name: 'create',
    description: 'make a team of sessions',
    endpoint: endpoints.createTeam,
    operands: [{ flags: '<name>', description: 'what people call it', field: 'name' }],
    options: [
      { ...sessionAs('lead_agent_id', '--lead <session>', 'who leads it'), required: true },
      {
        flags: '--member <session...>',
        description: 'who else is in it',
        read: async (ends: string[], { client }) => ({
          member_agent_ids: await Promise.all(ends.map((end) => sessionId(client, end))),
        }),
      },
    ],
    print: (made) => `${made.team.id}\n`,
  }),
  endpointCommand({
    name: 'delete',
    description: 'delete a team; its sessions go on',
    endpoint: endpoints.deleteTeam,
    operands: [team],
    document: (_nothing, { fields }) => fields,
    print: (_nothing, { fields }) => `${String(fields.team_id)} is deleted\n`,
  }),
  endpointCommand({
    name: 'add',
    description: 'add a session to a team',
    endpoint: endpoints.addMember,
    operands: [team, sessionAs('agent_id', ...sessionArgument)],
    options: [{ flags: '--title <title>', description: 'what it is there for', field: 'title' }],
    print: memberTable,
  }),
  endpointCommand({
    name: 'remove',
    description: 'take a session out of a team',
    endpoint: endpoints.removeMember,
    operands: [team, memberAs('agent_id', ...memberArgument)],
    print: memberTable,
  }),
  endpointCommand({
    name: 'lead',
    description: 'make a member the lead',
    endpoint: endpoints.setLead,
    operands: [team, memberAs('lead_agent_id', ...memberArgument)],
    print: memberTable,
  }),
  teamSpawn,
  endpointCommand({
    name: 'interrupt-all',
    description: 'ask for the turns of all members to end',
    endpoint: endpoints.interruptTeam,
    operands: [team],
    print: ({ interrupted_session_ids: { length } }) =>
      length === 0 ? 'no member is at a turn\n' : `${length} turns are asked to end\n`,
  }),
  ...teamMessageCommands,
]);

function shownOf(teams: readonly Team[], all: unknown): readonly Team[] {
  return all === true ? teams : teams.filter(({ deleted_at }) => deleted_at === null);
}

const teamTable = listOf<Team>(['ID', 'LEAD', 'AGE', 'NAME'], (one, now) => [
  shortId(one.id),
  shortId(one.lead_agent_id),
  ago(one.created_at, now),
  one.deleted_at === null ? one.name : `${one.name} (deleted)`,
]);

function memberTable(
  { team, members }: { team: Team; members: readonly Member[] },
  { layout }: Call,
): string {
  const rows = members.map((one) => [
    one.agent_id,
    one.agent_id === team.lead_agent_id ? 'lead' : '-',
    one.title ?? '-',
  ]);
  return table(['SESSION', 'ROLE', 'TITLE'], rows, layout);
}
