import { z } from 'zod';

/** What a session does when a usage limit of its agent has reset: it resumes by itself, or waits for a person. */
export const afterLimit = z.enum(['resume', 'wait']);
export type AfterLimit = z.output<typeof afterLimit>;
