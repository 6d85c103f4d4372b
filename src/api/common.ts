import { z } from 'zod';
import { serverErrorCodes } from '../errors.ts';

/** Integer Unix milliseconds. */
export const timestamp = z.int().nonnegative();

/** The body of every refusal but 401. */
export const errorBody = z
  .looseObject({
    error: z.string().describe('What was wrong and what to do about it.'),
    code: z.enum(serverErrorCodes),
  })
  .meta({
    id: 'Error',
    description: 'The body of every refusal but 401.',
  });

/** The body of 401, which the interface fixes: it has no code. */
export const unauthorizedBody = z
  .strictObject({ error: z.literal('missing or invalid bearer token') })
  .meta({
    id: 'Unauthorized',
    description: 'The body of 401.',
  });

/** What every list takes: the newest first, `limit` at a time. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(100).describe('How many at most.'),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .describe('Where to go on: the X-Next-Cursor of the page before.'),
};

/** Why something failed. */
export const failure = z.looseObject({ code: z.string(), message: z.string() }).meta({
  id: 'Failure',
  description: 'Why something failed.',
});

/** Routes of processes: whose they are asked for. */
export const ownerQuery = {
  session_id: z
    .string()
    .optional()
    .describe("Only as this session may see it: another owner's process is not found."),
};
