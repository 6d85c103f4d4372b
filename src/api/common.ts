import { z } from 'zod';
import { serverErrorCodes } from './errors.ts';

/** Integer Unix milliseconds. */
export const timestamp = z.int().nonnegative();

/** Integer Unix milliseconds in a request, at most the latest time that a JavaScript date can represent. */
export const requestedTime = z.int().min(0).max(8.64e15);

/** A record in responses, by its name in openapi.yaml. Clients accept fields of newer servers, so it is loose. */
export const component = <Fields extends z.core.$ZodLooseShape>(
  id: string,
  description: string,
  fields: Fields,
) => z.looseObject(fields).meta({ id, description });

export const text = (description: string) => z.string().describe(description);

export const flag = (description: string) => z.boolean().describe(description);

/** A text that may be null in a response. */
export const nullableText = (description: string) => z.string().nullable().describe(description);

/** A text that a request may leave out. */
export const optionalText = (description: string) => z.string().nullish().describe(description);

/** A text that a request may leave out, and that must not be empty. */
export const optionalName = (description: string) =>
  z.string().min(1).nullish().describe(description);

/** A flag that a request may leave out. */
export const optionalFlag = (description: string) => z.boolean().nullish().describe(description);

export const integer = (description: string) => z.int().describe(description);

/** An integer that may be null in a response. */
export const nullableInteger = (description: string) => z.int().nullable().describe(description);

/** A {@link timestamp} that may be null in a response. */
export const nullableTime = (description: string) => timestamp.nullable().describe(description);

/**
 * An object with any fields. Unlike `z.record`, it keeps a field named `__proto__`, so that a later check can refuse it.
 */
export const anyObject = z
  .unknown()
  .refine((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: 'has to be an object',
  })
  .meta({
    type: 'object',
    propertyNames: { type: 'string' },
    additionalProperties: {},
  }) as z.ZodType<Record<string, unknown>>;

export const errorBody = component('Error', 'Body of every error response except 401.', {
  error: z.string().describe('Error message: what failed and how to correct it.'),
  code: z.enum(serverErrorCodes),
});

/** The body of 401, which has no code. */
export const unauthorizedBody = z
  .strictObject({ error: z.literal('missing or invalid bearer token') })
  .meta({ id: 'Unauthorized', description: 'Body of a 401 response.' });

const isBlank = 'is blank: enter a name with a visible character';

/** White space, and characters that show nothing: controls, joiners, selectors, fillers and the empty Braille pattern. */
const UNSEEN = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/**
 * A name or title that a user sets. It needs a visible character so that a user can read and type it. The description of
 * the interface has only `\S`, because few generators know the classes of Unicode.
 */
export const nameOfLength = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/\S/, { error: isBlank, abort: true })
    .refine((name) => !UNSEEN.test(name), isBlank);

/** The query of every list. Lists are ordered newest first. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(100).describe('Maximum number of records.'),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .meta({
      description:
        'Cursor of the page: X-Next-Cursor of the previous page. Default: the first page.',
    }),
};

export const failure = component('Failure', 'Reason for a failure.', {
  code: z.string(),
  message: z.string(),
});

/** The query of process routes that restricts them to the processes of one session. */
export const ownerQuery = {
  session_id: z.string().optional().meta({
    description:
      'Session that owns the process. Processes of other sessions, or of no session, are treated as not found.',
  }),
};
