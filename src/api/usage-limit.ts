import { z } from 'zod';
import { afterLimit } from './after-limit.ts';
import { component, nullableText, nullableTime, text, timestamp } from './common.ts';

/** The reason why a session waits for a usage limit that its agent has reported. */
export const usageLimit = component('UsageLimit', 'A usage limit that a session waits for.', {
  message: text('Message of the agent about the limit.'),
  since: timestamp,
  resets_at: nullableTime(
    'Time at which the limit resets (Unix ms). Null if the agent did not report it.',
  ),
  resumes_at: nullableTime(
    'Time at which the session resumes automatically (Unix ms). Null if a user must resume it.',
  ),
  waits_because: z
    .enum(['chosen', 'unknown_reset', 'repeated', 'handoff', 'consent'])
    .nullable()
    .meta({
      description:
        'Reason why the session does not resume automatically. `chosen`: after_limit is `wait`. `unknown_reset`: the agent did not report when the limit resets. `repeated`: after each resume, the agent reported the limit again before it did anything. `handoff`: the session is being handed over to the agent `hands_over_to`. `consent`: nobody has allowed that agent to continue sessions of the repository. Null if the session resumes automatically.',
    }),
  hands_over_to: z.string().optional().meta({
    description:
      'Agent that continues the session, as a provider or the name of an agent of the provider `acp`. Absent unless `waits_because` is `handoff` or `consent`.',
  }),
  handoff_failure: z.string().optional().meta({
    description: 'Reason why the server could not hand the session over. Absent if it did not try.',
  }),
  turn_id: nullableText(
    'Turn that the limit ended and that the session continues later. Null if the session waits because another session of the same account has reached the limit.',
  ),
});
export type UsageLimit = z.output<typeof usageLimit>;

/** The session's own setting of what to do after a usage limit. */
export const ownAfterLimit = afterLimit.nullable().meta({
  description:
    'Action at a usage limit of the agent. `resume`: the session resumes automatically when the limit has reset. `wait`: a user must resume it. `handoff:AGENT`, such as `handoff:codex`: that provider, or that agent of the provider `acp`, continues the session at once. Null if `sessions.after_limit` of the configuration applies.',
});

/** The reasons for which a session waits for a user. */
export type ReasonForUser = Exclude<UsageLimit['waits_because'], 'handoff' | 'consent' | null>;
