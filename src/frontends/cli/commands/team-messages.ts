import { endpoints } from '../../../api/index.ts';
import type { Delivery, Message } from '../../../api/team-messages.ts';
import { endpointCommand, type Reading, type Register } from '../endpoint-command.ts';
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
import { teamView } from './team-view.ts';

const text = {
  flags: '<text>',
  description: 'what to say; - reads it from stdin',
  read: async (said: string, { world }: Reading) => ({
    input: { type: 'text' as const, text: await readPrompt(said, world.stdin) },
  }),
};

const sayingOptions = [
  {
    ...memberAs('sender_agent_id', '--from <member>', 'who says it (default: the lead)'),
    absent: async ({ client, fields }: Reading) => {
      const params = { team_id: String(fields.team_id) };
      const { team } = await client.call(endpoints.getTeam, { params });
      return { sender_agent_id: team.lead_agent_id };
    },
  },
  { flags: '--priority <priority>', field: 'priority' },
  {
    flags: '--policy <policy>',
    description: 'whether it waits for the recipient',
    field: 'policy',
  },
  messageAs('reply_to_message_id', '--reply-to <message>', 'the message that this answers'),
  {
    flags: '--correlation-id <id>',
    description: 'a name for what belongs together',
    field: 'correlation_id',
  },
  imagesOption('an image to show the recipient'),
] as const;

/** The commands of `cadre teams` for messages and their deliveries. */
export const teamMessageCommands: readonly Register[] = [
  endpointCommand({
    name: 'message',
    description: 'say something to a member',
    endpoint: endpoints.sendMessage,
    operands: [team, memberAs('recipient_agent_id', ...memberArgument), text],
    options: sayingOptions,
    print: sentText,
  }),
  endpointCommand({
    name: 'broadcast',
    description: 'say something to all members',
    endpoint: endpoints.broadcast,
    operands: [team, text],
    options: [
      ...sayingOptions,
      { flags: '--include-sender', description: 'to the sender, too', field: 'include_sender' },
    ],
    print: sentText,
  }),
  teamView,
  endpointCommand({
    name: 'messages',
    description: 'list what was said in a team, newest first',
    endpoint: endpoints.listMessages,
    operands: [team],
    options: [limit],
    empty: 'nothing was said yet: cadre teams message says something',
    print: listOf<Message>(
      ['ID', 'FROM', 'TO', 'AGE', 'PRIORITY', 'ANSWERS', 'TEXT'],
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
    description: 'list deliveries, newest first',
    endpoint: endpoints.listDeliveries,
    operands: [team],
    options: [
      { flags: '-s, --status <status>', field: 'status' },
      memberAs('recipient_agent_id', '--to <member>', 'only to this member'),
      messageAs('message_id', '--message <message>', 'only of this message'),
      limit,
    ],
    empty: 'there are no deliveries: each message has one for each recipient',
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
    description: 'try a delivery again',
    endpoint: endpoints.retryDelivery,
    operands: [team, delivery],
    print: ({ id, status }) => `${id} is ${status}\n`,
  }),
  endpointCommand({
    name: 'cancel',
    description: 'take a message back from those who have not got it',
    endpoint: endpoints.cancelMessage,
    operands: [team, message],
    print: ({ id }) => `${id} is cancelled\n`,
  }),
];
