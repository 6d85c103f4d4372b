import { failure, text } from '../common.ts';
import { delivery, message } from '../team-messages.ts';
import { member, team } from '../teams.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('team');

/** A message as events contain it after it was cancelled. */
const messageInEvents = message.omit({ input: true, images: true }).meta({
  id: 'MessageInEvents',
  description: 'A cancelled message, without `input` and `images`.',
});

const operation_id = text('Id of the spawn operation, as in the response to its request.');

const made = {
  id: 'team_019aa8d53c107b7d9c0a7f5e2d1c0b88',
  name: 'tests',
  lead_agent_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  created_by: 'api',
  created_at: 1795312010000,
  updated_at: 1795312010000,
  deleted_at: null,
};
const joined = {
  team_id: made.id,
  agent_id: 'sess_019aa8d54d217a6c8b1f6e4d3c2b1a90',
  title: 'tester',
  joined_at: 1795312011000,
  added_by: made.lead_agent_id,
  worktree_id: null,
};
const sent = {
  id: 'msg_019aa8d55e32795b9a2e5d3c2b1a0f91',
  team_id: made.id,
  scope: 'direct' as const,
  sender_agent_id: made.lead_agent_id,
  recipient_agent_id: joined.agent_id,
  recipient_agent_ids: [joined.agent_id],
  image_paths: [],
  priority: 'normal' as const,
  policy: 'non_interrupting' as const,
  correlation_id: null,
  reply_to_message_id: null,
  onboarding: false,
  created_at: 1795312012000,
  cancelled_at: null,
};

/** Teams and their messages. */
export const teamKinds = {
  'team.created': kind({
    when: 'Emitted when a team is created. Separate events report the members of the team.',
    payload: { team },
    example: { team: made },
  }),
  'team.deleted': kind({
    when: 'Emitted when a team is deleted. The sessions of the team continue.',
    payload: { team },
    example: { team: { ...made, updated_at: 1795312019000, deleted_at: 1795312019000 } },
  }),
  'team.member_joined': kind({
    when: 'Emitted when a session becomes a member of a team.',
    payload: {
      member,
      operation_id: operation_id.nullable().meta({
        description:
          'Id of the spawn operation that created the session. Null if the session existed before.',
      }),
    },
    example: { member: joined, operation_id: null },
  }),
  'team.member_left': kind({
    when: 'Emitted when a member is removed from a team.',
    payload: { member },
    example: { member: joined },
  }),
  'team.spawn_failed': kind({
    when: 'Emitted when the creation of a new member for a team fails. No session and no worktree of the member remain.',
    payload: { operation_id, error: failure },
    example: {
      operation_id: 'op_019aa8d56f43784a8b3d4c2b1a0f9e82',
      error: { code: 'provider_unavailable', message: 'the agent could not be started' },
    },
  }),
  'team.lead_changed': kind({
    when: 'Emitted when the lead of a team changes to another member.',
    payload: { team },
    example: { team: { ...made, lead_agent_id: joined.agent_id, updated_at: 1795312013000 } },
  }),
  'team.message_created': kind({
    when: 'Emitted when a team member sends a message. Separate events report the deliveries of the message.',
    payload: { message },
    large: [
      'message.recipient_agent_ids',
      'message.input',
      'message.image_paths',
      'message.images',
    ],
    example: { message: { ...sent, input: [{ type: 'text', text: 'run the tests' }], images: [] } },
  }),
  'team.message_cancelled': kind({
    when: 'Emitted when a team message is cancelled for the recipients that have not received the message.',
    payload: { message: messageInEvents },
    large: ['message.recipient_agent_ids', 'message.image_paths'],
    example: { message: { ...sent, cancelled_at: 1795312012500 } },
  }),
};

const waiting = {
  id: 'dlv_019aa8d5705477399c4c3b1a0f9e8d73',
  message_id: sent.id,
  team_id: made.id,
  recipient_agent_id: joined.agent_id,
  status: 'pending' as const,
  attempts: 0,
  injected_turn_id: null,
  consumed_at: null,
  error: null,
  created_at: 1795312012000,
  updated_at: 1795312012000,
};
const injected = {
  ...waiting,
  status: 'injected' as const,
  attempts: 1,
  injected_turn_id: 'turn_019aa8d5816576288d5b2a0f9e8d7c64',
  updated_at: 1795312012100,
};
const payload = { delivery };

/** The delivery of a message to one recipient. */
export const deliveryKinds = {
  'delivery.pending': kind({
    when: 'Emitted when the delivery of a team message starts to wait, because the delivery is new or is retried.',
    payload,
    example: { delivery: waiting },
  }),
  'delivery.deferred': kind({
    when: 'Emitted when the delivery of a team message is postponed. The field `error` contains the reason. The server or a user retries the delivery.',
    payload,
    example: {
      delivery: {
        ...waiting,
        status: 'deferred',
        attempts: 1,
        error: { code: 'provider_unavailable', message: 'the agent could not be started' },
      },
    },
  }),
  'delivery.injecting': kind({
    when: 'Emitted when a turn of the recipient that contains the team message is accepted.',
    payload,
    example: { delivery: { ...injected, status: 'injecting' } },
  }),
  'delivery.injected': kind({
    when: "Emitted when the recipient's turn with a team message has started. The event is emitted again, with an `error`, if the turn does not complete.",
    payload,
    example: { delivery: injected },
  }),
  'delivery.consumed': kind({
    when: "Emitted when the recipient's turn with a team message has completed.",
    payload,
    example: { delivery: { ...injected, consumed_at: 1795312014000 } },
  }),
  'delivery.failed': kind({
    when: 'Emitted when the delivery of a team message has failed and is not retried. The field `error` contains the reason.',
    payload,
    example: {
      delivery: {
        ...waiting,
        status: 'failed',
        error: { code: 'recipient_closed', message: `session ${joined.agent_id} is closed` },
      },
    },
  }),
  'delivery.cancelled': kind({
    when: 'Emitted when the delivery of a team message is cancelled together with the message.',
    payload,
    example: { delivery: { ...waiting, status: 'cancelled' } },
  }),
};
