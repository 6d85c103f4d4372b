import { z } from 'zod';
import { failure, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { messageInputItem, storedImage, storedInputItem } from './sessions.ts';
import { imagePaths, teamParam } from './teams.ts';

export const priority = z.enum(['high', 'normal', 'low']);
export const policy = z
  .enum([
    'non_interrupting',
    'start_new_turn_only',
    'interrupt_after_tool_boundary',
    'immediate_interrupt',
  ])
  .describe(
    'non_interrupting waits until the recipient is idle; start_new_turn_only fails if the recipient is not idle; ' +
      'interrupt_after_tool_boundary interrupts its turn as soon as no tool runs and no approval is pending; ' +
      'immediate_interrupt interrupts its turn at once.',
  );

export const message = z
  .looseObject({
    id: z.string(),
    team_id: z.string(),
    scope: z.enum(['direct', 'broadcast']),
    sender_agent_id: z.string(),
    recipient_agent_id: z.string().nullable().describe('null: a broadcast.'),
    recipient_agent_ids: z.array(z.string()),
    input: z
      .union([storedInputItem, z.array(storedInputItem)])
      .describe('The input as it was sent, images by their digest.'),
    image_paths: z.array(z.string()).describe('The paths as they were sent.'),
    images: z.array(storedImage).describe('The copies that were made of image_paths.'),
    priority,
    policy,
    correlation_id: z.string().nullable(),
    reply_to_message_id: z.string().nullable(),
    onboarding: z
      .boolean()
      .describe('Whether it is the first message to a member that was spawned.'),
    created_at: timestamp,
    cancelled_at: timestamp.nullable(),
  })
  .meta({ id: 'Message', description: 'A message of a member of a team to others.' });
export type Message = z.output<typeof message>;

export const deliveryStatus = z.enum([
  'pending',
  'deferred',
  'injecting',
  'injected',
  'failed',
  'cancelled',
]);

export const delivery = z
  .looseObject({
    id: z.string(),
    message_id: z.string(),
    team_id: z.string(),
    recipient_agent_id: z.string(),
    status: deliveryStatus.describe(
      'pending: it waits for its recipient. deferred: it was postponed, error says why. injecting: its turn is ' +
        'accepted. injected: its turn has started.',
    ),
    attempts: z.int().describe('The number of turns that were started to deliver it.'),
    injected_turn_id: z.string().nullable(),
    consumed_at: timestamp.nullable().describe('When its turn completed.'),
    error: failure.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Delivery', description: 'The delivery of one message to one recipient.' });
export type Delivery = z.output<typeof delivery>;

const messageWithDeliveries = z.looseObject({ message, deliveries: z.array(delivery) });

/** The body fields that a direct message and a broadcast share. */
export const messageFields = {
  sender_agent_id: z.string(),
  input: z
    .union([messageInputItem, z.array(messageInputItem).min(1)])
    .describe('An array of items; a single item is treated as an array of one.'),
  image_paths: imagePaths,
  priority: priority.nullish().describe('Default: normal.'),
  policy: policy.nullish().describe('Default: non_interrupting.'),
  correlation_id: z.string().min(1).max(200).nullish(),
  reply_to_message_id: z.string().nullish(),
};

const sendErrors = [
  'not_found',
  'team_deleted',
  'unsupported_provider_images',
  'storage_full',
] as const;

export const sendMessage = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/messages',
  summary: 'Send a message to a member; the response comes once it is stored',
  params: teamParam,
  body: z.strictObject({ ...messageFields, recipient_agent_id: z.string() }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: sendErrors,
});

export const broadcast = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/broadcasts',
  summary: 'Send a message to all members; the response comes once it is stored',
  params: teamParam,
  body: z.strictObject({
    ...messageFields,
    include_sender: z.boolean().nullish().describe('Default: false.'),
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: sendErrors,
});

export const listMessages = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/messages',
  summary: 'List the messages of a team, newest first',
  params: teamParam,
  query: pageQuery,
  response: z.array(message),
  errors: ['not_found'],
});

export const cancelMessage = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/messages/{message_id}/cancel',
  summary: 'Cancel the deliveries of a message that have not started',
  params: { ...teamParam, message_id: z.string().describe('The message.') },
  body: z.strictObject({}),
  response: message,
  errors: ['not_found', 'team_deleted', 'delivery_state'],
});

export const listDeliveries = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/deliveries',
  summary: 'List the deliveries of a team, newest first',
  params: teamParam,
  query: {
    status: z
      .enum([...deliveryStatus.options, 'consumed'])
      .optional()
      .describe(
        'Only deliveries with this status; consumed: only those injected ones whose turn has completed.',
      ),
    message_id: z.string().optional().describe('Only of this message.'),
    recipient_agent_id: z.string().optional().describe('Only to this session.'),
    ...pageQuery,
  },
  response: z.array(delivery),
  errors: ['not_found'],
});

export const retryDelivery = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/deliveries/{delivery_id}/retry',
  summary: 'Retry a delivery that failed or was deferred, or whose turn did not complete',
  params: { ...teamParam, delivery_id: z.string().describe('The delivery.') },
  body: z.strictObject({}),
  response: delivery,
  errors: ['not_found', 'team_deleted', 'delivery_state'],
});
