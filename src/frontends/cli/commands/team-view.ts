import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import type { TeamView } from '../../../api/team-view.ts';
import { streamEvents } from '../../../client/stream.ts';
import { count } from '../count.ts';
import { teamArgument, teamId } from '../find.ts';
import { asRecord } from '../output-options.ts';
import { viewText } from '../team-text.ts';
import { loadWidths } from '../widths.ts';
import { clientAction, type CommandContext, type World, jsonFor } from '../world.ts';

/** `cadre teams show`. */
export function teamView(teams: Command, world: World): void {
  asRecord(teams.command('show'))
    .alias('view')
    .description('Show the members of a team, the state of each member, and the latest messages')
    .argument(...teamArgument)
    .option('-L, --limit <n>', 'Maximum number of messages to show', count, 20)
    .option('-w, --watch', 'Redraw the view after each change, until you press Ctrl-C')
    .action(clientAction(world, view));
}

interface ViewOptions {
  limit: number;
  watch?: boolean;
}

async function view(context: CommandContext, end: string, options: ViewOptions): Promise<void> {
  const { world, client, show, layout } = context;
  const params = { team_id: await teamId(client, end) };
  const query = { message_limit: options.limit };
  const look = () => client.call(endpoints.getTeamView, { params, query });
  if (options.watch) return watch(context, params.team_id, look);
  const found = await look();
  show(
    found,
    () => viewText(found, { now: world.clock.now(), layout }),
    () => [found.team.id],
  );
}

/** Prints the view now and after each change. A terminal is cleared before; with `--json` each view is a line. */
async function watch(
  { world, client, global, layout }: CommandContext,
  team: string,
  look: () => Promise<TeamView>,
): Promise<void> {
  const signal = world.interrupted();
  const isScreen = world.stdout.isTTY === true && !global.json;
  let latest = -1;
  const write = async () => {
    const found = await look();
    latest = found.latest_seq;
    const text = global.json
      ? `${jsonFor(world, found)}\n`
      : `${viewText(found, { now: world.clock.now(), layout })}${isScreen ? '' : '\n'}`;
    world.stdout.write(isScreen ? CLEAR + text : text);
  };
  await loadWidths();
  await write();
  const changes = streamEvents({
    client,
    clock: world.clock,
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
  if (signal.aborted) world.exit(Number(signal.reason));

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
