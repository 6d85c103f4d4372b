import path from 'node:path';
import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { Delivery, Message } from '../../api/team-messages.ts';
import type { TeamView } from '../../api/team-view.ts';
import { streamEvents } from '../../client/stream.ts';
import { deliveryId, idArgument, messageId, sessionId, teamArgument, teamId } from '../find.ts';
import { ago, shortId, table } from '../output.ts';
import { readPrompt } from '../prompt.ts';
import { sentText, textOf, viewText } from '../team-text.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

const deliveryArgument = idArgument('delivery');
const messageArgument = idArgument('message');

/** What members of a team say, and what becomes of it: commands of `cadre teams`. */
export function teamMessageCommands(teams: Command, world: World): void {
  withSayingOptions(teams.command('message'))
    .description('say something to a member')
    .argument(...teamArgument)
    .argument('<recipient>', 'a session, by its id or the end of it')
    .argument('<text>', 'what to say; - reads it from stdin')
    .action(
      clientAction(
        world,
        async (
          { client, show },
          end: string,
          recipient: string,
          text: string,
          options: SayOptions,
        ) => {
          const params = { team_id: await teamId(client, end) };
          const sent = await client.call(endpoints.sendMessage, {
            params,
            body: {
              ...(await saying(client, params.team_id, text, options, world)),
              recipient_agent_id: await sessionId(client, recipient),
            },
          });
          show(sent, () => sentText(sent));
        },
      ),
    );

  withSayingOptions(teams.command('broadcast'))
    .description('say something to all members')
    .argument(...teamArgument)
    .argument('<text>', 'what to say; - reads it from stdin')
    .option('--include-sender', 'to the sender, too')
    .action(
      clientAction(
        world,
        async (
          { client, show },
          end: string,
          text: string,
          options: SayOptions & { includeSender?: boolean },
        ) => {
          const params = { team_id: await teamId(client, end) };
          const sent = await client.call(endpoints.broadcast, {
            params,
            body: {
              ...(await saying(client, params.team_id, text, options, world)),
              include_sender: options.includeSender,
            },
          });
          show(sent, () => sentText(sent));
        },
      ),
    );

  teams
    .command('view')
    .description('show who is in a team, what they do, and what was said last')
    .argument(...teamArgument)
    .option('--limit <n>', 'how many messages at most', Number, 20)
    .option('--watch', 'show it again whenever something has changed, until it is interrupted')
    .action(clientAction(world, view));

  teams
    .command('messages')
    .description('list what was said in a team, newest first')
    .argument(...teamArgument)
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(
      clientAction(world, async ({ client, show }, end: string, query: { limit: number }) => {
        const params = { team_id: await teamId(client, end) };
        const found = await client.call(endpoints.listMessages, { params, query });
        const now = world.clock.now();
        const rows = found.map((one) => [
          shortId(one.id),
          shortId(one.sender_agent_id),
          one.recipient_agent_id === null ? 'all' : shortId(one.recipient_agent_id),
          ago(one.created_at, now),
          one.priority,
          one.reply_to_message_id === null ? '-' : shortId(one.reply_to_message_id),
          one.cancelled_at === null ? textOf(one) : `(cancelled) ${textOf(one)}`,
        ]);
        const heading = ['ID', 'FROM', 'TO', 'AGE', 'PRIORITY', 'ANSWERS', 'TEXT'];
        show(found, () => table(heading, rows));
      }),
    );

  teams
    .command('deliveries')
    .description('list deliveries, newest first')
    .argument(...teamArgument)
    .addOption(
      new Option('--status <status>').choices([
        'pending',
        'deferred',
        'injecting',
        'injected',
        'failed',
        'cancelled',
      ]),
    )
    .option('--to <session>', 'only to this member')
    .option('--message <message>', 'only of this message')
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(
      clientAction(
        world,
        async (
          { client, show },
          end: string,
          options: { status?: Delivery['status']; to?: string; message?: string; limit: number },
        ) => {
          const params = { team_id: await teamId(client, end) };
          const { status, to, message, limit } = options;
          const query = {
            status,
            limit,
            recipient_agent_id: to === undefined ? undefined : await sessionId(client, to),
            message_id:
              message === undefined ? undefined : await messageId(client, params.team_id, message),
          };
          const found = await client.call(endpoints.listDeliveries, { params, query });
          const now = world.clock.now();
          const rows = found.map((one) => [
            shortId(one.id),
            shortId(one.message_id),
            shortId(one.recipient_agent_id),
            one.consumed_at === null ? one.status : 'consumed',
            ago(one.updated_at, now),
            one.error?.message ?? '-',
          ]);
          show(found, () => table(['ID', 'MESSAGE', 'TO', 'STATUS', 'AGE', 'ERROR'], rows));
        },
      ),
    );

  teams
    .command('retry')
    .description('try a delivery again')
    .argument(...teamArgument)
    .argument(...deliveryArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string, delivery: string) => {
        const team_id = await teamId(client, end);
        const params = { team_id, delivery_id: await deliveryId(client, team_id, delivery) };
        const now = await client.call(endpoints.retryDelivery, { params, body: {} });
        show(now, () => `${now.id} is ${now.status}\n`);
      }),
    );

  teams
    .command('cancel')
    .description('take a message back from those who have not got it')
    .argument(...teamArgument)
    .argument(...messageArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string, message: string) => {
        const team_id = await teamId(client, end);
        const params = { team_id, message_id: await messageId(client, team_id, message) };
        const now = await client.call(endpoints.cancelMessage, { params, body: {} });
        show(now, () => `${now.id} is cancelled\n`);
      }),
    );
}

interface SayOptions {
  from?: string;
  priority?: Message['priority'];
  policy?: Message['policy'];
  image?: string[];
  replyTo?: string;
  correlationId?: string;
}

function withSayingOptions(command: Command): Command {
  return command
    .option('--from <session>', 'who says it (default: the lead)')
    .addOption(new Option('--priority <priority>').choices(['high', 'normal', 'low']))
    .addOption(
      new Option('--policy <policy>', 'whether it waits for the recipient').choices([
        'non_interrupting',
        'start_new_turn_only',
        'interrupt_after_tool_boundary',
        'immediate_interrupt',
      ]),
    )
    .option('--reply-to <message>', 'the message that this answers')
    .option('--correlation-id <id>', 'a name for what belongs together')
    .option('--image <file...>', 'an image to show the recipient');
}

/** What is said; the lead says it where nobody else is named. */
async function saying(
  client: CommandContext['client'],
  team_id: string,
  text: string,
  { from, priority, policy, image, replyTo, correlationId }: SayOptions,
  world: World,
) {
  const sender =
    from === undefined
      ? (await client.call(endpoints.getTeam, { params: { team_id } })).team.lead_agent_id
      : await sessionId(client, from);
  return {
    sender_agent_id: sender,
    input: { type: 'text' as const, text: await readPrompt(text, world.stdin) },
    image_paths: image?.map((file) => path.resolve(file)),
    priority,
    policy,
    correlation_id: correlationId,
    reply_to_message_id:
      replyTo === undefined ? undefined : await messageId(client, team_id, replyTo),
  };
}

interface ViewOptions {
  limit: number;
  watch?: boolean;
}

async function view(context: CommandContext, end: string, options: ViewOptions): Promise<void> {
  const { world, client, show } = context;
  const params = { team_id: await teamId(client, end) };
  const query = { message_limit: options.limit };
  const look = () => client.call(endpoints.getTeamView, { params, query });
  if (options.watch) return watch(context, params.team_id, look);
  const found = await look();
  show(found, () => viewText(found, world.clock.now()));
}

/** Shows a view now and after each change: anew on a terminal, else one after the other; as JSON, one a line. */
async function watch(
  { world, client, global }: CommandContext,
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
      ? `${JSON.stringify(found)}\n`
      : `${viewText(found, world.clock.now())}${isScreen ? '' : '\n'}`;
    world.stdout.write(isScreen ? CLEAR + text : text);
  };
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
    // What was seen already needs no second look: many events are one change.
    if (seq <= latest || !(await concerns({ team_id, session_id }))) continue;
    await write();
  }
  if (signal.aborted) world.exit(Number(signal.reason));

  /** Of the team, or of a session that is in it: whether that works is shown, too. */
  async function concerns(of: { team_id: string | null; session_id: string | null }) {
    if (of.team_id !== null) return of.team_id === team;
    if (of.session_id === null) return false;
    const { members } = await client.call(endpoints.getTeam, { params: { team_id: team } });
    return members.some(({ agent_id }) => agent_id === of.session_id);
  }
}

/** Clears the terminal and begins at its top. */
const CLEAR = '\u001b[2J\u001b[H';
