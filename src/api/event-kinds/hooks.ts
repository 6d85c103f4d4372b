import { z } from 'zod';
import { timestamp } from '../common.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('runtime');
const seq = z.int().min(0);

const hook = z.string().describe('Name of the hook.');

/** Problems with the delivery of events to hooks. These events are not delivered to hooks. */
export const hookKinds = {
  'hook.failing': kind({
    when: 'Emitted when a hook has failed to handle the same event for five minutes, or cannot work at all. The delivery is retried.',
    payload: {
      hook,
      event_seq: seq
        .nullable()
        .describe(
          'Sequence number of the event that was not delivered. Null if no event is undelivered.',
        ),
      attempts: z.int().describe('Number of attempts.'),
      since: timestamp.describe('Time of the first failure for this event (Unix ms).'),
      error: z.string(),
    },
    example: {
      hook: 'phone',
      event_seq: 48213,
      attempts: 9,
      since: 1795312000000,
      error: 'connect ECONNREFUSED 127.0.0.1:8080',
    },
  }),
  'hook.recovered': kind({
    when: 'Emitted when a hook that `hook.failing` reported has received its event.',
    payload: {
      hook,
      event_seq: seq.describe('Sequence number of that event.'),
      since: timestamp.describe('Time of the first failure for that event (Unix ms).'),
    },
    example: { hook: 'phone', event_seq: 48213, since: 1795312000000 },
  }),
  'hook.skipped': kind({
    when: 'Emitted when a user skips events of a hook. The skipped events are never delivered to the hook.',
    payload: {
      hook,
      after_seq: seq.describe('Sequence number of the last event handled before the skip.'),
      up_to_seq: seq.describe('Sequence number of the last skipped event.'),
      by: z.string().describe('Token of the user who requested the skip.'),
    },
    example: { hook: 'phone', after_seq: 48200, up_to_seq: 48213, by: 'api' },
  }),
  'hook.gap': kind({
    when: 'Emitted when retention deleted events before a hook received the events. Some of the deleted events may have matched the hook.',
    payload: {
      hook,
      after_seq: seq.describe('Sequence number of the last event handled before the gap.'),
      trimmed_seq: seq.describe('Highest sequence number that was deleted.'),
    },
    example: { hook: 'phone', after_seq: 48200, trimmed_seq: 51000 },
  }),
};
