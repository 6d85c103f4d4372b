import { z } from 'zod';
import { afterLimit } from './after-limit.ts';
import { timestamp } from './common.ts';

/** Why a session waits, where its agent has reported a usage limit. */
export const usageLimit = z
  .looseObject({
    message: z.string().describe('What the agent said of the limit, for people.'),
    since: timestamp,
    resets_at: timestamp.nullable().describe('When the limit resets; null: the agent did not say.'),
    resumes_at: timestamp
      .nullable()
      .describe('When it goes on by itself; null: not before a person resumes it.'),
    waits_because: z
      .enum(['chosen', 'unknown_reset', 'repeated'])
      .nullable()
      .describe(
        'Why it does not go on by itself. chosen: after_limit says so. unknown_reset: the agent did not say when the limit resets. repeated: each time that it went on, the limit was reported again before the agent did anything. null: it does.',
      ),
    turn_id: z
      .string()
      .nullable()
      .describe(
        'The turn that the limit has ended, and that goes on; null: it waits because another session of the account has reached the limit.',
      ),
  })
  .meta({
    id: 'UsageLimit',
    description: 'Why a session waits for a usage limit of its agent, and until when.',
  });
export type UsageLimit = z.output<typeof usageLimit>;

/** What a session does after a usage limit, where it says so itself. */
export const ownAfterLimit = afterLimit
  .nullable()
  .describe(
    'What it does when a usage limit of its agent has reset. resume: it goes on by itself. wait: it waits for a person. null: as sessions.after_limit of the configuration says.',
  );
