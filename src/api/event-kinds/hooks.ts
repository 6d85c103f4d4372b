import { z } from 'zod';
import { timestamp } from '../common.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('runtime');
const seq = z.int().min(0);

const hook = z.string().describe('The name of the hook.');

/** Hooks: what went wrong with the delivery of events. No hook is told of these. */
export const hookKinds = {
  'hook.failing': kind({
    when: 'A hook has failed at the same event for five minutes, or it cannot work at all. It is tried again.',
    payload: {
      hook,
      event_seq: seq.nullable().describe('The event that it waits with; null: none.'),
      attempts: z.int().describe('How often it was tried.'),
      since: timestamp.describe('The first failure at this event.'),
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
    when: 'A hook of which `hook.failing` told was given its event after all.',
    payload: {
      hook,
      event_seq: seq.describe('That event.'),
      since: timestamp.describe('The first failure at that event.'),
    },
    example: { hook: 'phone', event_seq: 48213, since: 1795312000000 },
  }),
  'hook.skipped': kind({
    when: 'A person had a hook skip events. It is never given them.',
    payload: {
      hook,
      after_seq: seq.describe('The last event that was dealt with before.'),
      up_to_seq: seq.describe('The last event that is skipped.'),
      by: z.string().describe('The token of who asked for it.'),
    },
    example: { hook: 'phone', after_seq: 48200, up_to_seq: 48213, by: 'api' },
  }),
  'hook.gap': kind({
    when: 'Retention took events before a hook was given them. Some of them may have been for it.',
    payload: {
      hook,
      after_seq: seq.describe('The last event that was dealt with before.'),
      trimmed_seq: seq.describe('The highest event that is gone.'),
    },
    example: { hook: 'phone', after_seq: 48200, trimmed_seq: 51000 },
  }),
};
