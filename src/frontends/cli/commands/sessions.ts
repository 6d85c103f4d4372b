import { endpoints } from '../../../api/index.ts';
import type { AgentCommand } from '../../../api/commands.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import { AppError } from '../../../api/errors.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { hasFailedTurn, lastTurnText } from '../../../client/last-turn.ts';
import { slashText } from '../../../client/slash.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import { commandGroup, endpointCommand, type Fields } from '../endpoint-command.ts';
import { TURN_FAILED } from '../layout.ts';
import { afterLimitText } from '../limit-text.ts';
import { ago, details, labelOf, listOf, plain, shortId } from '../output.ts';
import { limit, reason, session, turn, turnAs } from '../parameters.ts';
import { sessionAttach } from './session-attach.ts';
import { sessionCreate } from './session-create.ts';
import { sessionExport } from './session-export.ts';
import { sessionFileCommands } from './session-files.ts';
import { sessionSend } from './session-send.ts';
import { sessionShow } from './session-show.ts';
import { sessionWait } from './session-wait.ts';

type Setting = 'agent_mode' | 'model' | 'thinking_effort';

/** `cadre sessions edit`. */
const sessionEdit = endpointCommand({
  name: 'edit',
  description: 'Change the model and the modes of a session, from its next turn on',
  endpoint: endpoints.updateSession,
  operands: [session],
  options: [
    {
      flags: '--permission-mode <mode>',
      description: 'Permission mode of the agent ("" removes it)',
      async read(value, { client, fields }) {
        if (value === '') return { permission_mode: null };
        const { assertPermissionMode } = await import('../talk/assert-mode.ts');
        const params = { session_id: String(fields.session_id) };
        const mode = String(value);
        await assertPermissionMode(
          { client },
          await client.call(endpoints.getSession, { params }),
          mode,
        );
        return { permission_mode: mode };
      },
    },
    setting('--agent-mode <mode>', 'Mode of the agent that the agent defines', 'agent_mode'),
    setting('--model <model>', 'Model of the agent', 'model'),
    setting('--effort <effort>', 'Reasoning effort of the model', 'thinking_effort'),
  ],
  fields(options) {
    if (Object.keys(options).length === 0)
      throw new AppError('usage', 'there is nothing to change: pass an option such as --model');
    return {};
  },
  print: ({ id, title, permission_mode, agent_mode, model, thinking_effort }) => {
    const settings = [
      `permission mode ${plain(permission_mode ?? 'default')}`,
      ...(agent_mode === null ? [] : [`agent mode ${plain(agent_mode)}`]),
      `model ${plain(model ?? 'default')}`,
      ...(thinking_effort === null ? [] : [`effort ${plain(thinking_effort)}`]),
    ];
    return `Updated session ${labelOf(id, title)} from its next turn on: ${settings.join(', ')}\n`;
  },
});

/** `cadre sessions …`. */
export const sessionCommands = commandGroup('sessions', 'Manage conversations with agents', [
  sessionCreate,
  endpointCommand({
    name: 'list',
    description: 'List sessions, newest first',
    endpoint: endpoints.listSessions,
    options: [
      {
        flags: '-s, --status <status>',
        description: 'Show only sessions with this status',
        field: 'status',
      },
      {
        flags: '--provider <provider>',
        description: 'Show only sessions of this provider',
        field: 'provider',
      },
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
    operands: [session],
    print: details,
  }),
  sessionShow,
  sessionExport,
  sessionSend,
  sessionAttach,
  sessionWait,
  endpointCommand({
    name: 'turns',
    description: 'List the turns of a session, newest first',
    endpoint: endpoints.listTurns,
    operands: [session],
    options: [limit],
    empty: 'no turns: start a turn with cadre sessions send',
    print: listOf<Turn>(['TURN', 'STATUS', 'AGE', 'TEXT'], (one, now) => [
      one.turn_id,
      one.status,
      ago(one.accepted_at, now),
      oneLine(one),
    ]),
  }),
  endpointCommand({
    name: 'items',
    description: 'Show the messages, thoughts and tool calls of a turn in full',
    endpoint: endpoints.listItems,
    operands: [session, turn],
    print: (found) => found.map(itemText).join('\n'),
  }),
  endpointCommand({
    name: 'item',
    description: 'Show one message, thought or tool call of a turn in full',
    endpoint: endpoints.getItem,
    operands: [
      session,
      {
        flags: '<item>',
        description:
          'Id of the message, thought or tool call (list the ids with cadre sessions items --json)',
        field: 'item_id',
      },
    ],
    options: [
      turnAs(
        '--turn <turn>',
        'Turn that contains the message, thought or tool call (default: the most recent turn)',
      ),
    ],
    print: itemText,
  }),
  endpointCommand({
    name: 'commands',
    description:
      'List the slash commands of the agent, such as /review, that a prompt can start with',
    endpoint: endpoints.listCommands,
    operands: [session],
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
    operands: [
      session,
      { flags: '<title>', description: 'New title of the session', field: 'title' },
    ],
    print: ({ id, title }) => `Renamed session ${id} to "${plain(title ?? '')}"\n`,
  }),
  sessionEdit,
  endpointCommand({
    name: 'after-limit',
    description:
      "Choose whether a session resumes by itself, or waits for you, when the provider's usage limit resets",
    endpoint: endpoints.updateSession,
    operands: [
      session,
      {
        flags: '<what>',
        description:
          "When the provider's usage limit resets, resume the session automatically, or wait for a command of yours",
        field: 'after_limit',
      },
    ],
    print: (one, { now }) =>
      `Updated session ${labelOf(one.id, one.title)}: ${afterLimitText(one, now)}\n`,
  }),
  endpointCommand({
    name: 'interrupt',
    description: 'Interrupt the running turn of a session',
    endpoint: endpoints.interruptTurn,
    operands: [session, turn],
    print: ({ turn_id }) => `Interrupting turn ${turn_id}\n`,
  }),
  endpointCommand({
    name: 'close',
    description: 'Close a session permanently',
    endpoint: endpoints.closeSession,
    operands: [session],
    options: [reason],
    confirm: (said) => `close session "${said}" permanently?`,
    print: ({ id, title }) => `Closed session ${labelOf(id, title)}\n`,
  }),
  endpointCommand({
    name: 'resume',
    description: 'Resume a failed session, if the agent still stores the conversation',
    endpoint: endpoints.resumeSession,
    operands: [session],
    print: ({ id, title, status }) => `Resumed session ${labelOf(id, title)}: ${status}\n`,
  }),
]);

function itemText({ kind, status, tool, text }: Item): string {
  return `[${kind}, ${status}] ${plain(tool?.title ?? '')}\n${plain(text)}\n`;
}

function statusOf(one: Session): string {
  if (one.usage_limit) return `${one.status}, usage limit`;
  return hasFailedTurn(one) ? TURN_FAILED : one.status;
}

/** The text or the error of a turn, short enough for a table. */
function oneLine({ text, error }: Turn): string {
  const said = (text ?? error?.message ?? '').replaceAll(/\s+/g, ' ');
  return shorten(said, 60);
}

function setting(flags: string, description: string, field: Setting) {
  return {
    flags,
    description: `${description} ("" removes it)`,
    read: (value: unknown): Partial<Fields<typeof endpoints.updateSession>> => ({
      [field]: value === '' ? null : value,
    }),
  };
}
