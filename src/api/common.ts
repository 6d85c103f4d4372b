import { z } from 'zod';
import { serverErrorCodes } from './errors.ts';

/** Integer Unix milliseconds. */
export const timestamp = z.int().nonnegative();

/** Integer Unix milliseconds in a request: at most the latest moment that a date can have. */
export const requestedTime = z.int().min(0).max(8.64e15);

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

/** The body of 401, which has no code (interface 2.2). */
export const unauthorizedBody = z
  .strictObject({ error: z.literal('missing or invalid bearer token') })
  .meta({
    id: 'Unauthorized',
    description: 'The body of 401.',
  });

/** A name or title that a person gives. One without a visible character could be neither read nor typed. */
export const givenName = (most: number) =>
  z.string().min(1).max(most).regex(/\S/, 'is blank: give a name with a visible character');

/** The query of every list. A list is ordered newest first. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(100).describe('The maximum number of records.'),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .describe('Where the page begins: the X-Next-Cursor of the page before.'),
};

/** Why something failed. */
export const failure = z.looseObject({ code: z.string(), message: z.string() }).meta({
  id: 'Failure',
  description: 'Why something failed.',
});

/** The query of routes of processes that restricts them to those of one session. */
export const ownerQuery = {
  session_id: z
    .string()
    .optional()
    .describe(
      'Only processes of this session; one with another owner, or with none, counts as not found.',
    ),
};
