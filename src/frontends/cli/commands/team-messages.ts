import { endpoints } from '../../../api/index.ts';
import type { Delivery, Message } from '../../../api/team-messages.ts';
import type { Register } from '../command.ts';
import { endpointCommand, type Reading } from '../endpoint-command.ts';
import { memberArgument } from '../find.ts';
import { ago, listOf, shortId } from '../output.ts';
import {
  delivery,
  imagesOption,
  limit,
  memberAs,
  message,
  messageAs,
  team,
} from '../parameters.ts';
import { readPrompt } from '../prompt.ts';
import { sentText, textOf } from '../team-text.ts';

const text = {
  line: '<text>  Text of the message (- reads the text from stdin)',
  read: async (argument: string, { io }: Reading) => ({
    input: { type: 'text' as const, text: await readPrompt(argument, io.stdin) },
  }),
};

const messageOptions = [
  {
    ...memberAs(
      'sender_agent_id',
      '--from <member>  Member that sends the message (default: the lead of the team)',
    ),
    absent: async ({ client, fields }: Reading) => {
      const params = { team_id: String(fields.team_id) };
      const { team } = await client.call(endpoints.getTeam, { params });
      return { sender_agent_id: team.lead_agent_id };
    },
  },
  '--priority <priority>  Priority of the message',
  "--policy <policy>  When the message is delivered: after the recipient's running turn, or during it",
  messageAs(
    'reply_to_message_id',
    '--reply-to <message>  Id of the earlier message that this message answers',
  ),
  '--correlation-id <id>  Id of your choice that marks related messages',
  imagesOption('message'),
];

/** The commands of `cadre teams` that send messages. */
export const messageCommands: readonly Register[] = [
  endpointCommand({
    name: 'message',
    description: 'Send a message to a member of a team',
    endpoint: endpoints.sendMessage,
    parameters: [team, memberAs('recipient_agent_id', memberArgument), text, ...messageOptions],
    print: sentText,
  }),
  endpointCommand({
    name: 'broadcast',
    description: 'Send a message to all members of a team',
    endpoint: endpoints.broadcast,
    parameters: [
      team,
      text,
      ...messageOptions,
      '--include-sender  Also deliver the message to the member that sends the message',
    ],
    print: sentText,
  }),
];

/** The commands of `cadre teams` that show messages and their deliveries. */
export const deliveryCommands: readonly Register[] = [
  endpointCommand({
    name: 'messages',
    description: 'List the messages of a team, newest first',
    endpoint: endpoints.listMessages,
    parameters: [team, limit],
    empty: 'no messages: send a message with cadre teams message',
    print: listOf<Message>(
      ['ID', 'FROM', 'TO', 'AGE', 'PRIORITY', 'REPLY TO', 'TEXT'],
      (one, now) => [
        shortId(one.id),
        shortId(one.sender_agent_id),
        one.recipient_agent_id === null ? 'all' : shortId(one.recipient_agent_id),
        ago(one.created_at, now),
        one.priority,
        one.reply_to_message_id === null ? '-' : shortId(one.reply_to_message_id),
        one.cancelled_at === null ? textOf(one) : `(cancelled) ${textOf(one)}`,
      ],
    ),
  }),
  endpointCommand({
    name: 'deliveries',
    description: 'List the deliveries of team messages to members, newest first',
    endpoint: endpoints.listDeliveries,
    parameters: [
      team,
      '-s, --status <status>  Show only message deliveries with this status',
      memberAs('recipient_agent_id', '--to <member>  Show only message deliveries to this member'),
      messageAs('message_id', '--message <message>  Show only the deliveries of this team message'),
      limit,
    ],
    empty: 'no deliveries: each message creates one delivery for each recipient',
    print: listOf<Delivery>(
      ['ID', 'MESSAGE', 'TO', 'STATUS', 'AGE', 'CHANGED', 'ERROR'],
      (one, now) => [
        shortId(one.id),
        shortId(one.message_id),
        shortId(one.recipient_agent_id),
        one.consumed_at === null ? one.status : 'consumed',
        ago(one.created_at, now),
        ago(one.updated_at, now),
        one.error?.message ?? '-',
      ],
    ),
  }),
  endpointCommand({
    name: 'retry',
    description: 'Retry the delivery of a team message to a member',
    endpoint: endpoints.retryDelivery,
    parameters: [team, delivery],
    print: ({ id, status }) => `Delivery ${id} is ${status}\n`,
  }),
  endpointCommand({
    name: 'cancel',
    description: 'Cancel a team message for all recipients that have not received the message yet',
    endpoint: endpoints.cancelMessage,
    parameters: [team, message],
    print: ({ id }) => `Cancelled message ${id}\n`,
  }),
];
