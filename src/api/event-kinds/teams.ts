import { z } from 'zod';
import { failure } from '../common.ts';
import { delivery, message } from '../team-messages.ts';
import { member, team } from '../teams.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('team');

/** A message as events carry it once it was cancelled. */
const messageInEvents = message.omit({ input: true, images: true }).meta({
  id: 'MessageInEvents',
  description: 'A message that was cancelled, without `input` and `images`.',
});

const operation_id = z.string().describe('The spawn, as its request was answered.');

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

/** Teams and what is said in them. */
export const teamKinds = {
  'team.created': kind({
    when: 'A team was made. Its members come as events of their own.',
    payload: { team },
    example: { team: made },
  }),
  'team.deleted': kind({
    when: 'A team was deleted. Its sessions go on.',
    payload: { team },
    example: { team: { ...made, updated_at: 1795312019000, deleted_at: 1795312019000 } },
  }),
  'team.member_joined': kind({
    when: 'A session became a member of a team.',
    payload: {
      member,
      operation_id: operation_id
        .nullable()
        .describe('The spawn that opened its session; null: the session was there before.'),
    },
    example: { member: joined, operation_id: null },
  }),
  'team.member_left': kind({
    when: 'A member was taken out of a team.',
    payload: { member },
    example: { member: joined },
  }),
  'team.spawn_failed': kind({
    when: 'A member that was to be spawned was not: nothing is left of it.',
    payload: { operation_id, error: failure },
    example: {
      operation_id: 'op_019aa8d56f43784a8b3d4c2b1a0f9e82',
      error: { code: 'provider_unavailable', message: 'the agent could not be started' },
    },
  }),
  'team.lead_changed': kind({
    when: 'Another member leads a team.',
    payload: { team },
    example: { team: { ...made, lead_agent_id: joined.agent_id, updated_at: 1795312013000 } },
  }),
  'team.message_created': kind({
    when: 'A member said something to others. Its deliveries come as events of their own.',
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
    when: 'A message was taken back from those who had not got it.',
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

/** One message on its way to one recipient. */
export const deliveryKinds = {
  'delivery.pending': kind({
    when: 'A delivery waits: it is new, or is tried again.',
    payload,
    example: { delivery: waiting },
  }),
  'delivery.deferred': kind({
    when: 'A delivery was put off; its `error` says why. It is tried again, by the server or by a request.',
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
    when: 'A delivery is in a turn of its recipient that was accepted.',
    payload,
    example: { delivery: { ...injected, status: 'injecting' } },
  }),
  'delivery.injected': kind({
    when: 'The turn that a delivery is in has started. It comes again, with an `error`, where that turn did not complete.',
    payload,
    example: { delivery: injected },
  }),
  'delivery.consumed': kind({
    when: 'The turn that a delivery is in has completed.',
    payload,
    example: { delivery: { ...injected, consumed_at: 1795312014000 } },
  }),
  'delivery.failed': kind({
    when: 'A delivery will not reach its recipient; its `error` says why.',
    payload,
    example: {
      delivery: {
        ...waiting,
        status: 'failed',
        error: { code: 'session_closed', message: 'its recipient was closed' },
      },
    },
  }),
  'delivery.cancelled': kind({
    when: 'A delivery was taken back with its message.',
    payload,
    example: { delivery: { ...waiting, status: 'cancelled' } },
  }),
};
