import { z } from 'zod';
import { errorCodes } from '../errors.ts';

/** Integer Unix milliseconds. */
export const timestamp = z.int().nonnegative();

/** The body of every refusal but 401, whose body is fixed by the interface and has no code. */
export const errorBody = z
  .looseObject({
    error: z.string().describe('What was wrong and what to do about it.'),
    code: z.enum(errorCodes).optional(),
  })
  .meta({ id: 'Error' });

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
export const failure = z
  .looseObject({ code: z.string(), message: z.string() })
  .meta({ id: 'Failure' });
