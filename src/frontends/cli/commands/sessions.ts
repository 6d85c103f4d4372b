import { endpoints } from '../../../api/index.ts';
import type { AgentCommand } from '../../../api/commands.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import { usageError } from '../../../api/errors.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { hasFailedTurn, lastTurnText } from '../../../client/last-turn.ts';
import { slashText } from '../../../client/slash.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import { clientCommand, command, commandGroup } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { TURN_FAILED } from '../layout.ts';
import { waitText } from '../limit-text.ts';
import { ago, details, labelOf, listOf, plain, shortId } from '../output.ts';
import { inOptions } from '../hints.ts';
import { limit, reason, session, turn, turnAs, valueOf } from '../parameters.ts';
import {
  originText,
  sessionAfterLimit,
  sessionEdit,
  sessionFork,
  sessionHandoff,
  sessionRewind,
} from './session-edit.ts';
import { sessionFileCommands } from './session-files.ts';
import { handBackText, sessionExport, sessionImport } from './session-transfer.ts';
import { sessionUntil, sessionWait, sessionWatch } from './session-conditions.ts';
import type { Command } from 'commander';
import { count, parseMetadata } from '../option-values.ts';
import { type OpenOptions, openBody, openOptions } from '../session/open-session.ts';
import { sandboxLine } from '../session/sandbox-options.ts';
import { clientAction, type CommandContext, jsonFor } from '../command-io.ts';
import type { AttachOptions } from '../session/attach.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { addToQueue, timeOptions, type TimeOptions } from '../queue-times.ts';
import { type FollowOptions, followOptions } from '../session/follow-options.ts';
import { followTurn } from '../session/follow-turn.ts';
import { promptParameters, readInput } from '../session/prompt.ts';
import { sendTurn } from '../session/send.ts';
import { type TurnSettingOptions, turnSettingOptions, turnSettings } from '../turn-settings.ts';
import type { InputItem } from '../../../api/input.ts';
import { conversationDocument, readConversation } from '../session/read-conversation.ts';
import { markSeen } from '../session/seen.ts';
import { isQuiet, recordOptions } from '../output-options.ts';
import type { Client } from '../../../client/client.ts';
import { labelledId } from '../../../core/lib/labelled-id.ts';

export const sessionCommands = commandGroup('sessions', 'Manage conversations with agents', [
  clientCommand({
    name: 'create',
    description: 'Create a session without sending a prompt',
    parameters: [
      ...openOptions,
      '--metadata <json>  JSON value to store with the session',
      '--after-limit <action>  At a usage limit of the agent: resume the session when the limit resets (resume), wait for a command of yours (wait), or let another agent continue (handoff:AGENT)',
    ],
    async run(context, options: OpenOptions & { metadata?: string; afterLimit?: string }) {
      const metadata =
        options.metadata === undefined ? {} : { metadata: parseMetadata(options.metadata) };
      const { afterLimit: after_limit } = options;
      const more = after_limit === undefined ? metadata : { ...metadata, after_limit };
      const body = { ...(await openBody(context, options)), ...more };
      const session = await context.client.call(endpoints.createSession, { body });
      context.show(session, () => `${session.id}\n`);
      const neverAsked =
        session.agent_asks === false && session.permission_mode === 'require_approval';
      if (neverAsked && !context.global.json)
        context.io.stderr.write(
          'cadre: this agent never requests approval: its actions are not held back\n',
        );
    },
  }),
  endpointCommand({
    name: 'list',
    description: 'List sessions, newest first',
    endpoint: endpoints.listSessions,
    parameters: [
      '-s, --status <status>  Show only sessions with this status',
      '--provider <provider>  Show only sessions of this provider',
      limit,
    ],
    empty: 'no sessions: start a session with cadre run "say hello"',
    print: listOf<Session>(
      ['ID', 'PROVIDER', 'STATUS', 'ACTIVE', 'TITLE', 'LAST MESSAGE', 'CWD'],
      (one, now) => [
        shortId(one.id),
        agentOf(one),
        statusOf(one),
        ago(one.last_activity_at, now),
        one.title ?? '-',
        lastTurnText(one) ?? one.last_words ?? '-',
        one.cwd,
      ],
    ),
  }),
  endpointCommand({
    name: 'get',
    description: 'Show the state of a session',
    endpoint: endpoints.getSession,
    parameters: [session],
    print: details,
  }),
  clientCommand({
    name: 'show',
    description: 'Show the conversation of a session',
    parameters: [
      ...recordOptions,
      sessionArgument,
      {
        line: '--turns <n>  Number of the newest turns to show (default: all turns)',
        parse: count,
      },
      '--turn <turn>  Show only the turn with this id',
      "--full  Include the agent's thoughts, and the input and output of tool calls",
      '--markdown  Print the conversation as a Markdown document',
    ],
    async run(
      context,
      reference: string,
      { markdown = false, full = false, turns: count, turn }: ShowOptions,
    ) {
      const { io, client, global, layout } = context;
      const session_id = await sessionId(client, reference);
      const { value: session, headers } = await client.ask(endpoints.getSession, {
        params: { session_id },
      });
      const read = await readConversation(client, session, turn ?? count);
      if (isQuiet(global)) return context.show(session, () => '');
      if (global.json) {
        io.stdout.write(`${jsonFor(io, conversationDocument(read), 2)}\n`);
        return;
      }
      const { conversation, conversationMarkdown } = await import('../../terminal/conversation.ts');
      const blocks = conversation(read.turns, read.approvals, read.notices, read.past);
      if (markdown) {
        io.stdout.write(conversationMarkdown(blocks));
        return;
      }
      const { conversationLines } = await import('../../terminal/conversation-lines.ts');
      const columns = Number.isFinite(layout.columns) ? layout.columns : COLUMNS;
      const mode = await chosenMode(client, session);
      const facts = [
        ...(mode === null ? [] : [`mode: ${plain(mode)}`]),
        ...(session.sandbox === undefined
          ? []
          : [`sandbox: ${plain(sandboxLine(session.sandbox))}`]),
        ...(session.usage_limit
          ? [`usage limit: ${waitText(session.usage_limit, io.clock.now())}`]
          : []),
        ...(session.forked_from === undefined
          ? []
          : [`forked from ${originText(session.forked_from)}`]),
        ...(session.continues === undefined ? [] : [`continues session ${session.continues}`]),
        ...(session.continued_by === undefined
          ? []
          : [`continued by session ${session.continued_by}`]),
      ];
      const heading =
        facts.length === 0 ? [] : [...facts.map((one) => layout.palette.faint(one)), ''];
      const lines = conversationLines(blocks, { columns, palette: layout.palette, folded: !full });
      const { writePaged } = await import('../session/pager.ts');
      await writePaged([...heading, ...lines].map((line) => `${line}\n`).join(''), io);
      await markSeen(context, session_id, Number(headers['x-seq'] ?? 0));
    },
  }),
  sessionExport,
  command({
    name: 'send',
    description: 'Send a prompt to a session and stream the answer',
    parameters: [
      sessionArgument,
      ...promptParameters,
      '--no-wait  Exit without waiting until the turn ends',
      '--queue  Queue the prompt, and send the prompt when the session is idle',
      '--expect <turn>  Send only if the most recent turn of the session has this id',
      ...turnSettingOptions,
      ...timeOptions,
      ...followOptions,
    ],
    action:
      (io) => async (reference: string, words: string[], options: SendOptions, self: Command) => {
        const input = await readInput(words, options, io);
        await clientAction(io, (context) => send(context, reference, input, options))(self);
      },
  }),
  clientCommand({
    name: 'attach',
    description:
      'Follow the conversation of a session and send prompts (Ctrl-C interrupts the turn, Ctrl-D exits)',
    parameters: [
      '[session]  Id of the session, the last 6 or more characters of the id, or the title (default: latest session of the current directory)',
      '-v, --verbose  Also show the thoughts, plans and tool output of the agent',
      '--permission-mode <mode>  Permission mode for turns that you send: which agent actions need your approval',
      '--agent-mode <mode>  Name of a mode that the agent itself defines, such as plan, for turns that you send',
    ],
    run: async (context, reference: string | undefined, options: AttachOptions) =>
      (await import('../session/attach.ts')).attach(context, reference, options),
  }),
  sessionWait,
  sessionUntil,
  sessionWatch,
  sessionHandoff,
  sessionFork,
  sessionRewind,
  sessionImport,
  endpointCommand({
    name: 'turns',
    description: 'List the turns of a session, newest first',
    endpoint: endpoints.listTurns,
    parameters: [session, limit],
    empty: 'no turns: start a turn with cadre sessions send',
    print: listOf<Turn>(['TURN', 'STATUS', 'AGE', 'TEXT'], (one, now) => [
      one.turn_id,
      one.status,
      ago(one.accepted_at, now),
      outcomeOf(one),
    ]),
  }),
  endpointCommand({
    name: 'items',
    description: 'Show the messages, thoughts and tool calls of a turn in full',
    endpoint: endpoints.listItems,
    parameters: [session, turn],
    print: (found) => found.map(itemText).join('\n'),
  }),
  endpointCommand({
    name: 'item',
    description: 'Show one message, thought or tool call of a turn in full',
    endpoint: endpoints.getItem,
    parameters: [
      session,
      valueOf(
        'item_id',
        '<item>  Id of the message, thought or tool call (list the ids with cadre sessions items --json)',
      ),
      turnAs(
        '--turn <turn>  Turn that contains the message, thought or tool call (default: the most recent turn)',
      ),
    ],
    print: itemText,
  }),
  endpointCommand({
    name: 'commands',
    description:
      'List the slash commands of the agent, such as /review, that a prompt can start with',
    endpoint: endpoints.listCommands,
    parameters: [session],
    empty: 'no slash commands: the agent has not sent a list of slash commands yet',
    print: listOf<AgentCommand>(['COMMAND', 'DESCRIPTION'], (one) => [
      slashText(one),
      plain(one.description),
    ]),
  }),
  ...sessionFileCommands,
  endpointCommand({
    name: 'rename',
    description: 'Change the title of a session',
    endpoint: endpoints.updateSession,
    parameters: [session, '<title>  New title of the session'],
    print: ({ id, title }) => `Renamed session ${id} to "${plain(title ?? '')}"\n`,
  }),
  sessionEdit,
  sessionAfterLimit,
  endpointCommand({
    name: 'interrupt',
    description: 'Interrupt the running turn of a session',
    endpoint: endpoints.interruptTurn,
    parameters: [session, turn],
    print: ({ turn_id }) => `Interrupting turn ${turn_id}\n`,
  }),
  endpointCommand({
    name: 'close',
    description: 'Close a session permanently',
    endpoint: endpoints.closeSession,
    parameters: [session, reason],
    confirm: (reference) => `close session "${reference}" permanently?`,
    print: ({ id, title }) => `Closed session ${labelOf(id, title)}\n`,
  }),
  endpointCommand({
    name: 'hand-back',
    description:
      "End the idle agent of a session, and print the command of the agent's own program",
    endpoint: endpoints.handBackSession,
    parameters: [session],
    print: handBackText,
  }),
  endpointCommand({
    name: 'resume',
    description: 'Resume a failed session, if the agent still stores the conversation',
    endpoint: endpoints.resumeSession,
    parameters: [session],
    print: ({ id, title, status }) => `Resumed session ${labelOf(id, title)}: ${status}\n`,
  }),
]);

function itemText({ kind, status, tool, text }: Item): string {
  return `[${kind}, ${status}] ${plain(tool?.title ?? '')}\n${plain(text)}\n`;
}

function statusOf(one: Session): string {
  if (one.usage_limit) return `${one.status}, usage limit`;
  if (one.continued_by !== undefined)
    return `${one.status}, ${one.status === 'closed' ? 'continued' : 'handed over'}`;
  return hasFailedTurn(one) ? TURN_FAILED : one.status;
}

/** The text or the error of a turn, short enough for a table. */
function outcomeOf({ text, error }: Turn): string {
  const outcome = (text ?? inOptions(error?.message ?? '')).replaceAll(/\s+/g, ' ');
  return shorten(outcome, 60);
}

interface SendOptions extends FollowOptions, TimeOptions, TurnSettingOptions {
  queue?: boolean;
  wait: boolean;
  expect?: string;
  image: string[];
}

async function send(
  context: CommandContext,
  reference: string,
  input: InputItem[],
  options: SendOptions,
): Promise<void> {
  if (options.queue || options.at !== undefined || options.every !== undefined) {
    if (options.expect !== undefined)
      throw usageError('--expect cannot be combined with --queue, --at or --every');
    return addToQueue(context, reference, input, options);
  }
  const extra = (['zone', 'name', 'reason', 'overlap'] as const).find(
    (one) => options[one] !== undefined,
  );
  if (extra) throw usageError(`--${extra} requires --queue, --at or --every`);
  const { after, mode, ...accepted } = await sendTurn(
    context,
    await sessionId(context.client, reference),
    {
      input,
      expected_turn_id: options.expect,
      ...turnSettings(options),
    },
  );
  if (options.wait) await followTurn(context, { ...accepted, after, mode }, options);
  else context.show(accepted, () => `${accepted.turn_id}\n`);
}

interface ShowOptions {
  markdown?: boolean;
  full?: boolean;
  turns?: number;
  turn?: string;
}

/** The width of lines where the output has none. */
const COLUMNS = 100;

/** Returns the mode that was chosen for the agent of a session, by id and name; null if none was chosen. */
async function chosenMode(
  client: Client,
  { provider, agent, agent_mode: mode }: Session,
): Promise<string | null> {
  if (mode === null) return null;
  const { agents = [] } =
    (await client.call(endpoints.listProviders, {})).find(({ id }) => id === provider) ?? {};
  const names = agents.find(({ name }) => name === agent)?.mode_names ?? {};
  // A mode may have been chosen by its name.
  const [id, name] = Object.entries(names).find((pair) => pair.includes(mode)) ?? [mode, mode];
  return labelledId(id, name);
}
