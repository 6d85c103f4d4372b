import path from 'node:path';
import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import { providerId } from '../../api/sessions.ts';
import type { Delivery, Member, Message, TeamView } from '../../api/teams.ts';
import { AppError } from '../../errors.ts';
import { shorten } from '../../lib/shorten.ts';
import {
  deliveryId,
  idArgument,
  messageId,
  sessionArgument,
  sessionId,
  teamArgument,
  teamId,
} from '../find.ts';
import { ago, details, plain, shortId, table } from '../output.ts';
import { readPrompt } from '../prompt.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

const deliveryArgument = idArgument('delivery');
const messageArgument = idArgument('message');

/** `cadre teams …`. */
export function teamCommands(program: Command, world: World): void {
  const teams = program
    .command('teams')
    .description('sessions that work together, and what they say to each other');

  teams
    .command('list')
    .description('list teams, newest first')
    .option('--limit <n>', 'how many at most', Number, 100)
    .option('--all', 'deleted ones too')
    .action(
      clientAction(
        world,
        async ({ client, show }, { limit, all }: { limit: number; all?: boolean }) => {
          const given = await client.call(endpoints.listTeams, { query: { limit } });
          const found = given.filter(({ deleted_at }) => all || deleted_at === null);
          const now = world.clock.now();
          const rows = found.map((one) => [
            shortId(one.id),
            shortId(one.lead_agent_id),
            ago(one.created_at, now),
            one.deleted_at === null ? one.name : `${one.name} (deleted)`,
          ]);
          show(found, () => table(['ID', 'LEAD', 'AGE', 'NAME'], rows));
        },
      ),
    );

  teams
    .command('get')
    .description('show a team and its members')
    .argument(...teamArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { team_id: await teamId(client, end) };
        const found = await client.call(endpoints.getTeam, { params });
        show(found, () => `${details(found.team)}\n${memberTable(found.members, found.team)}`);
      }),
    );

  teams
    .command('create')
    .description('make a team of sessions')
    .argument('<name>', 'what people call it')
    .requiredOption('--lead <session>', 'who leads it')
    .option('--member <session...>', 'who else is in it')
    .action(
      clientAction(
        world,
        async ({ client, show }, name: string, options: { lead: string; member?: string[] }) => {
          const member_agent_ids = [];
          for (const end of options.member ?? [])
            member_agent_ids.push(await sessionId(client, end));
          const lead_agent_id = await sessionId(client, options.lead);
          const body = { name, lead_agent_id, member_agent_ids };
          const made = await client.call(endpoints.createTeam, { body });
          show(made, () => `${made.team.id}\n`);
        },
      ),
    );

  teams
    .command('delete')
    .description('delete a team; its sessions go on')
    .argument(...teamArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { team_id: await teamId(client, end) };
        await client.call(endpoints.deleteTeam, { params });
        show(params, () => `${params.team_id} is deleted\n`);
      }),
    );

  teams
    .command('add')
    .description('add a session to a team')
    .argument(...teamArgument)
    .argument(...sessionArgument)
    .option('--title <title>', 'what it is there for')
    .action(
      clientAction(
        world,
        async ({ client, show }, end: string, session: string, body: { title?: string }) => {
          const params = { team_id: await teamId(client, end) };
          const agent_id = await sessionId(client, session);
          const now = await client.call(endpoints.addMember, {
            params,
            body: { ...body, agent_id },
          });
          show(now, () => memberTable(now.members, now.team));
        },
      ),
    );

  teams
    .command('remove')
    .description('take a session out of a team')
    .argument(...teamArgument)
    .argument(...sessionArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string, session: string) => {
        const params = {
          team_id: await teamId(client, end),
          agent_id: await sessionId(client, session),
        };
        const now = await client.call(endpoints.removeMember, { params });
        show(now, () => memberTable(now.members, now.team));
      }),
    );

  teams
    .command('lead')
    .description('make a member the lead')
    .argument(...teamArgument)
    .argument(...sessionArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string, session: string) => {
        const params = { team_id: await teamId(client, end) };
        const lead_agent_id = await sessionId(client, session);
        const now = await client.call(endpoints.setLead, { params, body: { lead_agent_id } });
        show(now, () => memberTable(now.members, now.team));
      }),
    );

  teams
    .command('spawn')
    .description('open a session as a member of a team')
    .argument(...teamArgument)
    .argument('[prompt]', 'its first message; - reads it from stdin')
    .requiredOption('--source <session>', 'the member that wants it: what is not said is as there')
    .option('--title <title>', 'what it is there for')
    .addOption(new Option('--provider <provider>', 'whose agent').choices(providerId.options))
    .option('--model <model>', 'a model of the provider')
    .option('--preset <name>', 'one of teams.model_presets, instead of provider and model')
    .option('--permission-mode <mode>', 'what the agent may do')
    .option('--worktree <name>', 'let it work in a git worktree, made where there is none')
    .option('--image <file...>', 'an image to show the agent')
    .action(clientAction(world, spawn));

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
    .action(
      clientAction(world, async ({ client, show }, end: string, { limit }: { limit: number }) => {
        const params = { team_id: await teamId(client, end) };
        const query = { message_limit: limit };
        const view = await client.call(endpoints.getTeamView, { params, query });
        show(view, () => viewText(view, world.clock.now()));
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
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(
      clientAction(
        world,
        async (
          { client, show },
          end: string,
          query: { status?: Delivery['status']; limit: number },
        ) => {
          const params = { team_id: await teamId(client, end) };
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

  teams
    .command('interrupt-all')
    .description('ask for the turns of all members to end')
    .argument(...teamArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { team_id: await teamId(client, end) };
        const asked = await client.call(endpoints.interruptTeam, { params, body: {} });
        const { length } = asked.interrupted_session_ids;
        show(asked, () =>
          length === 0 ? 'no member is at a turn\n' : `${length} turns are asked to end\n`,
        );
      }),
    );
}

interface SayOptions {
  from?: string;
  priority?: Message['priority'];
  policy?: Message['policy'];
  image?: string[];
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
    .option('--image <file...>', 'an image to show the recipient');
}

/** What is said; the lead says it where nobody else is named. */
async function saying(
  client: CommandContext['client'],
  team_id: string,
  text: string,
  { from, priority, policy, image }: SayOptions,
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
  };
}

interface SpawnOptions {
  source: string;
  title?: string;
  provider?: 'codex' | 'claude' | 'acp';
  model?: string;
  preset?: string;
  permissionMode?: string;
  worktree?: string;
  image?: string[];
}

async function spawn(
  { client, show, world }: CommandContext,
  end: string,
  prompt: string | undefined,
  options: SpawnOptions,
): Promise<void> {
  const { source, title, provider, model, preset, permissionMode, worktree, image } = options;
  if (preset !== undefined && (provider !== undefined || model !== undefined))
    throw new AppError('usage', 'give --preset, or --provider and --model, not both');
  const params = { team_id: await teamId(client, end) };
  const spawned = await client.call(endpoints.spawnMember, {
    params,
    body: {
      source_session_id: await sessionId(client, source),
      title,
      provider,
      model,
      model_preset: preset,
      permission_mode: permissionMode,
      prompt: prompt === undefined ? undefined : await readPrompt(prompt, world.stdin),
      image_paths: image?.map((file) => path.resolve(file)),
      worktree: worktree === undefined ? undefined : { mode: 'reuse', name: worktree },
    },
  });
  show(spawned, () => `${spawned.session.id}\n`);
}

function memberTable(members: readonly Member[], team: { lead_agent_id: string }): string {
  const rows = members.map((one) => [
    one.agent_id,
    one.agent_id === team.lead_agent_id ? 'lead' : '-',
    one.title ?? '-',
  ]);
  return table(['SESSION', 'ROLE', 'TITLE'], rows);
}

function sentText({ message, deliveries }: { message: Message; deliveries: Delivery[] }): string {
  const rows = deliveries.map((one) => [
    shortId(one.id),
    shortId(one.recipient_agent_id),
    one.status,
    one.error?.message ?? '-',
  ]);
  const heading = `${message.id}\n`;
  return rows.length === 0 ? heading : heading + table(['DELIVERY', 'TO', 'STATUS', 'ERROR'], rows);
}

function viewText({ team, members, messages, deliveries_by_message_id }: TeamView, now: number) {
  const memberRows = members.map((one) => [
    shortId(one.agent_id),
    one.agent_id === team.lead_agent_id ? 'lead' : '-',
    one.state,
    one.context_window_remaining_percentage === null
      ? '-'
      : `${one.context_window_remaining_percentage}%`,
    String(one.pending_deliveries),
    one.worktree?.worktree_name ?? '-',
    one.title ?? '-',
  ]);
  const messageRows = messages.map((one) => [
    shortId(one.id),
    shortId(one.sender_agent_id),
    one.recipient_agent_id === null ? 'all' : shortId(one.recipient_agent_id),
    ago(one.created_at, now),
    statesOf(deliveries_by_message_id?.[one.id] ?? []),
    textOf(one),
  ]);
  return [
    `${plain(team.name)}${team.deleted_at === null ? '' : ' (deleted)'}\n\n`,
    table(['SESSION', 'ROLE', 'STATE', 'CONTEXT', 'WAITING', 'WORKTREE', 'TITLE'], memberRows),
    messageRows.length === 0 ? '' : '\n',
    messageRows.length === 0
      ? ''
      : table(['MESSAGE', 'FROM', 'TO', 'AGE', 'DELIVERIES', 'TEXT'], messageRows),
  ].join('');
}

/** How the deliveries of a message are: `2 consumed, 1 pending`. */
function statesOf(deliveries: readonly Delivery[]): string {
  const states = Map.groupBy(deliveries, (one) =>
    one.consumed_at === null ? one.status : 'consumed',
  );
  return [...states].map(([state, ones]) => `${ones.length} ${state}`).join(', ') || '-';
}

const TEXT_CHARACTERS = 60;

function textOf({ input }: Message): string {
  const items = Array.isArray(input) ? input : [input];
  const text = items.map((item) => ('text' in item ? String(item.text) : '[image]')).join(' ');
  return shorten(text, TEXT_CHARACTERS);
}
