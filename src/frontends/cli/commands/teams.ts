import { endpoints } from '../../../api/index.ts';
import type { Member, Team } from '../../../api/teams.ts';
import { type Call, commandGroup, endpointCommand } from '../endpoint-command.ts';
import { memberArgument, sessionArgument, sessionId } from '../find.ts';
import { ago, details, listOf, shortId, table } from '../output.ts';
import { limit, memberAs, sessionAs, team } from '../parameters.ts';
import { teamMessageCommands } from './team-messages.ts';
import { teamSpawn } from './team-spawn.ts';

/** `cadre teams …`. */
export const teamCommands = commandGroup('teams', 'Let sessions send messages to each other', [
  endpointCommand({
    name: 'list',
    description: 'List teams, newest first',
    endpoint: endpoints.listTeams,
    options: [limit, { flags: '--all', description: 'Also list deleted teams' }],
    document: (teams, { options }) => shownOf(teams, options.all),
    isList: true,
    print: (teams, { options, ...at }) => teamTable(shownOf(teams, options.all), at),
    empty: 'no teams: create a team with cadre teams create NAME --lead SESSION',
  }),
  endpointCommand({
    name: 'get',
    hidden: true,
    description: 'Show a team and its members',
    endpoint: endpoints.getTeam,
    operands: [team],
    print: (found, call) => `${details(found.team, call)}\n${memberTable(found, call)}`,
  }),
  endpointCommand({
    name: 'create',
    description: 'Create a team of sessions',
    endpoint: endpoints.createTeam,
    operands: [{ flags: '<name>', description: 'Name of the team', field: 'name' }],
    options: [
      {
        ...sessionAs('lead_agent_id', '--lead <session>', 'Session that leads the team'),
        required: true,
      },
      {
        flags: '--member <session...>',
        description: 'Sessions that become members of the team, in addition to the lead',
        read: async (ends: string[], { client }) => ({
          member_agent_ids: await Promise.all(ends.map((end) => sessionId(client, end))),
        }),
      },
    ],
    print: (made) => `${made.team.id}\n`,
  }),
  endpointCommand({
    name: 'delete',
    description: 'Delete a team (the sessions of the team continue)',
    endpoint: endpoints.deleteTeam,
    operands: [team],
    document: (_nothing, { fields }) => fields,
    print: (_nothing, { fields }) => `Deleted team ${String(fields.team_id)}\n`,
  }),
  endpointCommand({
    name: 'add',
    description: 'Add a session to a team',
    endpoint: endpoints.addMember,
    operands: [team, sessionAs('agent_id', ...sessionArgument)],
    options: [
      {
        flags: '--title <title>',
        description: 'Title of the new member in the team',
        field: 'title',
      },
    ],
    print: memberTable,
  }),
  endpointCommand({
    name: 'remove',
    description: 'Remove a session from a team',
    endpoint: endpoints.removeMember,
    operands: [team, memberAs('agent_id', ...memberArgument)],
    print: memberTable,
  }),
  endpointCommand({
    name: 'lead',
    description: 'Appoint a member as the lead of a team',
    endpoint: endpoints.setLead,
    operands: [team, memberAs('lead_agent_id', ...memberArgument)],
    print: memberTable,
  }),
  teamSpawn,
  endpointCommand({
    name: 'interrupt-all',
    description: 'Interrupt the running turns of all members of a team',
    endpoint: endpoints.interruptTeam,
    operands: [team],
    print: ({ interrupted_session_ids: { length } }) =>
      length === 0
        ? 'No turns are running\n'
        : `Interrupting ${length} ${length === 1 ? 'turn' : 'turns'}\n`,
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
