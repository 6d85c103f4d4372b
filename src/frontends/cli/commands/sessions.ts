import { endpoints } from '../../../api/index.ts';
import type { AgentCommand } from '../../../api/commands.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { slashText } from '../../../client/slash.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { afterLimitText } from '../limit-text.ts';
import { ago, details, listOf, plain, shortId } from '../output.ts';
import { limit, reason, session, turn, turnAs } from '../parameters.ts';
import { sessionAttach } from './session-attach.ts';
import { sessionCreate } from './session-create.ts';
import { sessionFileCommands } from './session-files.ts';
import { sessionSend } from './session-send.ts';
import { sessionShow } from './session-show.ts';
import { sessionWait } from './session-wait.ts';

/** `cadre sessions …`. */
export const sessionCommands = commandGroup('sessions', 'sessions of agents and their turns', [
  sessionCreate,
  endpointCommand({
    name: 'list',
    description: 'list sessions, newest first',
    endpoint: endpoints.listSessions,
    options: [
      { flags: '-s, --status <status>', field: 'status' },
      { flags: '--provider <provider>', field: 'provider' },
      limit,
    ],
    empty: 'no sessions: cadre run "say hello" opens one',
    print: listOf<Session>(
      ['ID', 'PROVIDER', 'STATUS', 'ACTIVE', 'TITLE', 'LAST WORDS', 'CWD'],
      (one, now) => [
        shortId(one.id),
        agentOf(one),
        one.usage_limit ? `${one.status}, usage limit` : one.status,
        ago(one.last_activity_at, now),
        one.title ?? '-',
        one.last_words ?? '-',
        one.cwd,
      ],
    ),
  }),
  endpointCommand({
    name: 'get',
    description: 'show a session',
    endpoint: endpoints.getSession,
    operands: [session],
    print: details,
  }),
  sessionShow,
  sessionSend,
  sessionAttach,
  sessionWait,
  endpointCommand({
    name: 'turns',
    description: 'list the turns of a session, newest first',
    endpoint: endpoints.listTurns,
    operands: [session],
    options: [limit],
    empty: 'no turns yet: send one with cadre sessions send',
    print: listOf<Turn>(['TURN', 'STATUS', 'AGE', 'SAID'], (one, now) => [
      one.turn_id,
      one.status,
      ago(one.accepted_at, now),
      oneLine(one),
    ]),
  }),
  endpointCommand({
    name: 'items',
    description: 'show what a turn said and did, whole',
    endpoint: endpoints.listItems,
    operands: [session, turn],
    print: (found) => found.map(itemText).join('\n'),
  }),
  endpointCommand({
    name: 'item',
    description: 'show one thing that a turn said or did, whole',
    endpoint: endpoints.getItem,
    operands: [
      session,
      { flags: '<item>', description: 'its id; see cadre sessions items --json', field: 'item_id' },
    ],
    options: [turnAs('--turn <turn>', 'the turn it is of (default: the most recent)')],
    print: itemText,
  }),
  endpointCommand({
    name: 'commands',
    description: 'list the slash commands of its agent; a prompt that begins with one runs it',
    endpoint: endpoints.listCommands,
    operands: [session],
    empty: 'the agent has named no slash commands so far',
    print: listOf<AgentCommand>(['COMMAND', 'DESCRIPTION'], (one) => [
      slashText(one),
      plain(one.description),
    ]),
  }),
  ...sessionFileCommands,
  endpointCommand({
    name: 'rename',
    description: 'give a session another title',
    endpoint: endpoints.updateSession,
    operands: [session, { flags: '<title>', description: 'for people', field: 'title' }],
    print: ({ id, title }) => `${id} is now "${plain(title ?? '')}"\n`,
  }),
  endpointCommand({
    name: 'after-limit',
    description: 'choose what a session does when a usage limit of its agent has reset',
    endpoint: endpoints.updateSession,
    operands: [
      session,
      {
        flags: '<what>',
        description: 'resume by itself, or wait for a person',
        field: 'after_limit',
      },
    ],
    print: (one, { now }) => `${one.id}: ${afterLimitText(one, now)}\n`,
  }),
  endpointCommand({
    name: 'interrupt',
    description: 'ask for the running turn to end',
    endpoint: endpoints.interruptTurn,
    operands: [session, turn],
    print: ({ turn_id }) => `${turn_id} is asked to end\n`,
  }),
  endpointCommand({
    name: 'close',
    description: 'close a session for good',
    endpoint: endpoints.closeSession,
    operands: [session],
    options: [reason],
    print: ({ id }) => `${id} is closed\n`,
  }),
  endpointCommand({
    name: 'resume',
    description: 'bring a failed session back, if its provider still has it',
    endpoint: endpoints.resumeSession,
    operands: [session],
    print: ({ id, status }) => `${id} is ${status}\n`,
  }),
]);

function itemText({ kind, status, tool, text }: Item): string {
  return `[${kind}, ${status}] ${plain(tool?.title ?? '')}\n${plain(text)}\n`;
}

/** The text or the error of a turn, short enough for a table. */
function oneLine({ text, error }: Turn): string {
  const said = (text ?? error?.message ?? '').replaceAll(/\s+/g, ' ');
  return shorten(said, 60);
}
