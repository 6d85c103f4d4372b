import { z } from 'zod';

/** The action of a session when a usage limit of its agent has reset: resume automatically, or wait for a user. */
export const afterLimit = z.enum(['resume', 'wait']);
export type AfterLimit = z.output<typeof afterLimit>;
