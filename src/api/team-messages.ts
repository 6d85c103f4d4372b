import { z } from 'zod';
import { failure, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { saidItem, storedImage, storedInputItem } from './sessions.ts';
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
    'non_interrupting waits until the recipient is idle; start_new_turn_only fails where it is not; the others ' +
      'interrupt its turn, where no tool runs and no approval is waited for, or at once.',
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
      .describe('As it was sent, images by their digest.'),
    image_paths: z.array(z.string()).describe('As they were given.'),
    images: z.array(storedImage).describe('The copies that were made of image_paths.'),
    priority,
    policy,
    correlation_id: z.string().nullable(),
    reply_to_message_id: z.string().nullable(),
    onboarding: z.boolean().describe('The first words to a member that was spawned.'),
    created_at: timestamp,
    cancelled_at: timestamp.nullable(),
  })
  .meta({ id: 'Message', description: 'What a member of a team says to others.' });
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
      'pending: it waits. deferred: it was put off, error says why. injecting: it is in a turn that was accepted. ' +
        'injected: that turn has started.',
    ),
    attempts: z.int().describe('How many turns it was put into.'),
    injected_turn_id: z.string().nullable(),
    consumed_at: timestamp.nullable().describe('When its turn completed.'),
    error: failure.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Delivery', description: 'One message on its way to one recipient.' });
export type Delivery = z.output<typeof delivery>;

const messageWithDeliveries = z.looseObject({ message, deliveries: z.array(delivery) });

/** Fields of messages. */
export const said = {
  sender_agent_id: z.string(),
  input: z
    .union([saidItem, z.array(saidItem).min(1)])
    .describe('One object, or an array of them: a single object stands for an array of one.'),
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
  summary: 'Say something to a member; answers once it is stored',
  params: teamParam,
  body: z.strictObject({ ...said, recipient_agent_id: z.string() }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: sendErrors,
});

export const broadcast = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/broadcasts',
  summary: 'Say something to all members; answers once it is stored',
  params: teamParam,
  body: z.strictObject({
    ...said,
    include_sender: z.boolean().nullish().describe('Default: false.'),
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: messageWithDeliveries,
  errors: sendErrors,
});

export const listMessages = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/messages',
  summary: 'List what was said in a team, newest first',
  params: teamParam,
  query: pageQuery,
  response: z.array(message),
  errors: ['not_found'],
});

export const cancelMessage = endpoint({
  method: 'POST',
  path: '/v1/teams/{team_id}/messages/{message_id}/cancel',
  summary: 'Take a message back from those who have not got it',
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
    status: deliveryStatus.optional().describe('Only deliveries with this status.'),
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
  summary: 'Try a delivery again that failed, was put off, or whose turn did not complete',
  params: { ...teamParam, delivery_id: z.string().describe('The delivery.') },
  body: z.strictObject({}),
  response: delivery,
  errors: ['not_found', 'team_deleted', 'delivery_state'],
});
