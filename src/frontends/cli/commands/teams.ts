import { endpoints } from '../../../api/index.ts';
import type { Member, Team } from '../../../api/teams.ts';
import { clientCommand, commandGroup } from '../command.ts';
import { type Call, endpointCommand } from '../endpoint-command.ts';
import { memberArgument, sessionArgument, sessionId, teamArgument, teamId } from '../find.ts';
import { ago, details, listOf, shortId, table } from '../output.ts';
import {
  agentModeOption,
  agentOption,
  imagesOption,
  limit,
  memberAs,
  noIncludeOption,
  noInitOption,
  required,
  sessionAs,
  team,
  unsent,
  valueOf,
} from '../parameters.ts';
import { teamExport } from './session-transfer.ts';
import { deliveryCommands, messageCommands } from './team-messages.ts';
import type { TeamView } from '../../../api/team-view.ts';
import { streamEvents } from '../../../client/stream.ts';
import { count, parseMetadata } from '../option-values.ts';
import { recordOptions } from '../output-options.ts';
import { viewText } from '../team-text.ts';
import { loadWidths } from '../widths.ts';
import { type CommandContext, jsonFor } from '../command-io.ts';
import { usageError } from '../../../api/errors.ts';
import { readPrompt } from '../prompt.ts';
import { counted } from '../../../core/lib/counted.ts';

const teamSpawn = endpointCommand({
  name: 'spawn',
  description: 'Create a session, and add the session to a team',
  endpoint: endpoints.spawnMember,
  parameters: [
    team,
    {
      line: '[prompt]  First prompt of the new session (- reads the prompt from stdin)',
      read: async (text: string, { io }) => ({ prompt: await readPrompt(text, io.stdin) }),
    },
    required(
      sessionAs(
        'source_session_id',
        '--source <session>  Team member that the new session copies its settings from by default',
      ),
    ),
    '--title <title>  Title of the new member in the team',
    '--provider <provider>  Provider of the agent that the new member runs',
    agentOption,
    '--model <model>  Model of the agent',
    valueOf(
      'model_preset',
      '--preset <name>  Model preset from teams.model_presets in the configuration (instead of --provider, --agent and --model)',
    ),
    '--permission-mode <mode>  Permission mode: which agent actions need your approval',
    agentModeOption,
    unsent(
      '--worktree <name>  Name of the git worktree in which the new member works (cadre creates the worktree if it does not exist)',
    ),
    unsent(
      '--branch-prefix <prefix>  Prefix of the branch name of the worktree (only with --worktree)',
    ),
    unsent(
      '--base <ref>  Commit or branch that the branch of the worktree starts from (only with --worktree)',
    ),
    noInitOption,
    noIncludeOption,
    {
      line: '--metadata <json>  JSON value to store with the session',
      read: (json: string) => ({ metadata: parseMetadata(json) }),
    },
    imagesOption('prompt'),
  ],
  fields(options: SpawnOptions) {
    const { preset, provider, agent, model } = options;
    if (preset !== undefined && (provider ?? agent ?? model) !== undefined)
      throw usageError('--preset cannot be combined with --provider, --agent and --model');
    return { worktree: worktreeOf(options) };
  },
  print: ({ session }) => `${session.id}\n`,
});

export const teamCommands = commandGroup('teams', 'Let sessions send messages to each other', [
  endpointCommand({
    name: 'list',
    description: 'List teams, newest first',
    endpoint: endpoints.listTeams,
    parameters: [limit, unsent('--all  Also list deleted teams')],
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
    parameters: [team],
    print: (found, call) => `${details(found.team, call)}\n${memberTable(found, call)}`,
  }),
  endpointCommand({
    name: 'create',
    description: 'Create a team of sessions',
    endpoint: endpoints.createTeam,
    parameters: [
      '<name>  Name of the team',
      required(sessionAs('lead_agent_id', '--lead <session>  Session that leads the team')),
      {
        line: '--member <session...>  Sessions that become members of the team, in addition to the lead',
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
    parameters: [team],
    document: (_nothing, { fields }) => fields,
    print: (_nothing, { fields }) => `Deleted team ${String(fields.team_id)}\n`,
  }),
  endpointCommand({
    name: 'add',
    description: 'Add a session to a team',
    endpoint: endpoints.addMember,
    parameters: [
      team,
      sessionAs('agent_id', sessionArgument),
      '--title <title>  Title of the new member in the team',
    ],
    print: memberTable,
  }),
  endpointCommand({
    name: 'remove',
    description: 'Remove a session from a team',
    endpoint: endpoints.removeMember,
    parameters: [team, memberAs('agent_id', memberArgument)],
    print: memberTable,
  }),
  endpointCommand({
    name: 'lead',
    description: 'Appoint a member as the lead of a team',
    endpoint: endpoints.setLead,
    parameters: [team, memberAs('lead_agent_id', memberArgument)],
    print: memberTable,
  }),
  teamSpawn,
  endpointCommand({
    name: 'interrupt-all',
    description: 'Interrupt the running turns of all members of a team',
    endpoint: endpoints.interruptTeam,
    parameters: [team],
    print: ({ interrupted_session_ids: { length } }) =>
      length === 0 ? 'No turns are running\n' : `Interrupting ${counted(length, 'turn')}\n`,
  }),
  ...messageCommands,
  clientCommand({
    name: 'show',
    alias: 'view',
    description: 'Show the members of a team, the state of each member, and the latest messages',
    parameters: [
      ...recordOptions,
      teamArgument,
      { line: '-L, --limit <n>  Maximum number of messages to show', parse: count, default: 20 },
      '-w, --watch  Redraw the view after each change, until you press Ctrl-C',
    ],
    async run(context, end: string, options: ViewOptions) {
      const { io, client, show, layout } = context;
      const params = { team_id: await teamId(client, end) };
      const query = { message_limit: options.limit };
      const look = () => client.call(endpoints.getTeamView, { params, query });
      if (options.watch) return watch(context, params.team_id, look);
      const found = await look();
      show(
        found,
        () => viewText(found, { now: io.clock.now(), layout }),
        () => [found.team.id],
      );
    },
  }),
  teamExport,
  ...deliveryCommands,
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

interface ViewOptions {
  limit: number;
  watch?: boolean;
}

/** Prints the view now and after each change. A terminal is cleared before; with `--json` each view is a line. */
async function watch(
  { io, client, global, layout }: CommandContext,
  team: string,
  look: () => Promise<TeamView>,
): Promise<void> {
  const signal = io.interrupted();
  const isScreen = io.stdout.isTTY === true && !global.json;
  let latest = -1;
  const write = async () => {
    const found = await look();
    latest = found.latest_seq;
    const text = global.json
      ? `${jsonFor(io, found)}\n`
      : `${viewText(found, { now: io.clock.now(), layout })}${isScreen ? '' : '\n'}`;
    io.stdout.write(isScreen ? CLEAR + text : text);
  };
  await loadWidths();
  await write();
  const changes = streamEvents({
    client: await client.clientOf(team),
    clock: io.clock,
    after: latest,
    kinds: ['team.*', 'delivery.*', 'session.*', 'turn.*', 'approval.*'],
    signal,
    onConnection: () => undefined,
  });
  for await (const { seq, team_id, session_id } of changes) {
    // The view that was printed last includes this event already.
    if (seq <= latest || !(await concerns({ team_id, session_id }))) continue;
    await write();
  }
  if (signal.aborted) io.exit(Number(signal.reason));

  /** Whether an event is of the team or of a member, whose state the view shows, too. */
  async function concerns(of: { team_id: string | null; session_id: string | null }) {
    if (of.team_id !== null) return of.team_id === team;
    if (of.session_id === null) return false;
    const { members } = await client.call(endpoints.getTeam, { params: { team_id: team } });
    return members.some(({ agent_id }) => agent_id === of.session_id);
  }
}

/** Clears the terminal and moves the cursor to its top. */
const CLEAR = '\u001b[2J\u001b[H';

type SpawnOptions = {
  provider?: string;
  agent?: string;
  model?: string;
  preset?: string;
  worktree?: string;
  branchPrefix?: string;
  base?: string;
  init: boolean;
  include: boolean;
};

/** The worktree that the options ask for. Throws `usage` where they describe one and do not name it. */
function worktreeOf({ worktree: name, branchPrefix, base, init, include }: SpawnOptions) {
  if (name === undefined) {
    if (branchPrefix === undefined && base === undefined && init && include) return undefined;
    throw usageError('--branch-prefix, --base, --no-init and --no-include require --worktree');
  }
  return {
    mode: 'reuse' as const,
    name,
    branch_prefix: branchPrefix,
    base_ref: base,
    run_init_script: init ? undefined : false,
    copy_included: include ? undefined : false,
  };
}
