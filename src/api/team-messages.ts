import { z } from 'zod';
import {
  component,
  failure,
  flag,
  nullableText,
  nullableTime,
  optionalFlag,
  optionalText,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { imagePaths, teamParam } from './teams.ts';
import { messageInputItem, storedImage, storedInputItem } from './input.ts';

export const priority = z.enum(['high', 'normal', 'low']);
export const policy = z
  .enum([
    'non_interrupting',
    'start_new_turn_only',
    'interrupt_after_tool_boundary',
    'immediate_interrupt',
  ])
  .describe(
    'Delivery policy. `non_interrupting` waits until the recipient is idle. `start_new_turn_only` fails if the recipient is not idle. `interrupt_after_tool_boundary` interrupts its turn as soon as no tool is running and no approval is pending. `immediate_interrupt` interrupts its turn immediately.',
  );

export const message = component('Message', 'A message from a member of a team to other members.', {
  id: z.string(),
  team_id: z.string(),
  scope: z.enum(['direct', 'broadcast']),
  sender_agent_id: text('Member that sent the message.'),
  recipient_agent_id: nullableText('Recipient of a direct message. Null for a broadcast.'),
  recipient_agent_ids: z.array(z.string()).describe('Members that the message was sent to.'),
  input: z
    .union([storedInputItem, z.array(storedInputItem)])
    .describe('Input as it was sent. Images are stored with their digest.'),
  image_paths: z.array(z.string()).describe('Paths of images as they were sent.'),
  images: z.array(storedImage).describe('Stored copies of the images in image_paths.'),
  priority,
  policy,
  correlation_id: nullableText('Id that the sender chose. Null without an id.'),
  reply_to_message_id: nullableText(
    'Message that this one replies to. Null without such a message.',
  ),
  onboarding: flag(
    'Whether this is the first message to a new member that was created for the team.',
  ),
  created_at: timestamp,
  cancelled_at: nullableTime('Time of the cancellation (Unix ms). Null if not cancelled.'),
});
export type Message = z.output<typeof message>;

export const deliveryStatus = z.enum([
  'pending',
  'deferred',
  'injecting',
  'injected',
  'failed',
  'cancelled',
]);

export const delivery = component('Delivery', 'The delivery of one message to one recipient.', {
  id: z.string(),
  message_id: z.string(),
  team_id: z.string(),
  recipient_agent_id: text('Member that receives the message.'),
  status: deliveryStatus.describe(
    'Status of the delivery. `pending`: the message waits for its recipient. `deferred`: the delivery was postponed; `error` contains the reason. `injecting`: the turn with the message is accepted. `injected`: the turn with the message has started.',
  ),
  attempts: z.int().describe('Number of turns that were started to deliver the message.'),
  injected_turn_id: nullableText('Turn that contains the message. Null without such a turn.'),
  consumed_at: nullableTime(
    'Time at which its turn completed (Unix ms). Null if it has not completed.',
  ),
  error: failure.nullable().meta({
    description: 'Reason why the delivery failed or was postponed. Null if there is none.',
  }),
  created_at: timestamp,
  updated_at: timestamp,
});
export type Delivery = z.output<typeof delivery>;

const messageWithDeliveries = z.looseObject({ message, deliveries: z.array(delivery) });

/** The body fields of both direct messages and broadcasts. */
export const messageFields = {
  sender_agent_id: text('Member that sends the message.'),
  input: z
    .union([messageInputItem, z.array(messageInputItem).min(1)])
    .describe('Input items. A single item is treated as an array of one.'),
  image_paths: imagePaths,
  priority: priority.nullish().describe('Priority. Default: `normal`.'),
  policy: policy.nullish().describe('Delivery policy. Default: `non_interrupting`.'),
  correlation_id: z.string().min(1).max(200).nullish().meta({
    description: 'Id that the sender chooses to relate messages to each other. Recipients see it.',
  }),
  reply_to_message_id: optionalText('Message of the team that this one replies to.'),
};

const sendErrors = ['team_deleted', 'unsupported_provider_images', 'storage_full'] as const;

export const sendMessage = endpoint('POST /v1/teams/{team_id}/messages', {
  summary: 'Send a message to a member; responds when the message is stored',
  params: teamParam,
  body: z.strictObject({ ...messageFields, recipient_agent_id: text('Member that receives it.') }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: sendErrors,
});

export const broadcast = endpoint('POST /v1/teams/{team_id}/broadcasts', {
  summary: 'Send a message to all members; responds when the message is stored',
  params: teamParam,
  body: z.strictObject({
    ...messageFields,
    include_sender: optionalFlag('Whether the sender receives the broadcast too. Default: false.'),
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: [...sendErrors, 'delivery_state'],
});

export const listMessages = endpoint('GET /v1/teams/{team_id}/messages', {
  summary: 'List the messages of a team, newest first',
  params: teamParam,
  query: pageQuery,
  response: z.array(message),
});

export const cancelMessage = endpoint('POST /v1/teams/{team_id}/messages/{message_id}/cancel', {
  summary: 'Cancel the deliveries of a message that have not started',
  params: { ...teamParam, message_id: z.string().describe('Message id.') },
  body: z.strictObject({}),
  response: message,
  errors: ['team_deleted', 'delivery_state'],
});

export const listDeliveries = endpoint('GET /v1/teams/{team_id}/deliveries', {
  summary: 'List the deliveries of a team, newest first',
  params: teamParam,
  query: {
    status: z
      .enum([...deliveryStatus.options, 'consumed'])
      .optional()
      .meta({
        description:
          'Return only deliveries with this status. `consumed`: only injected deliveries whose turn has completed.',
      }),
    message_id: z.string().optional().describe('Return only deliveries of this message.'),
    recipient_agent_id: z.string().optional().describe('Return only deliveries to this session.'),
    ...pageQuery,
  },
  response: z.array(delivery),
});

export const retryDelivery = endpoint('POST /v1/teams/{team_id}/deliveries/{delivery_id}/retry', {
  summary: 'Retry a delivery that failed or was deferred, or whose turn did not complete',
  params: { ...teamParam, delivery_id: z.string().describe('Delivery id.') },
  body: z.strictObject({}),
  response: delivery,
  errors: ['team_deleted', 'delivery_state'],
});
